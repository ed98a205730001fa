#include "base/layout.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <string>

namespace dpubench {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLayouts = "layouts";

/// Return the number that is a folder's name, or 0.
unsigned number_in(const std::string& name) {
  const bool is_number = !name.empty() && name.size() < 4 && name[0] != '0' &&
                         std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
  return is_number ? static_cast<unsigned>(std::stoul(name)) : 0;
}

}  // namespace

Layout layout_of(const fs::path& library) {
  Layout layout;
  layout.folder = library.parent_path();
  fs::path first = layout.folder;
  if (layout.folder.parent_path().filename() == kLayouts) {
    layout.number = number_in(layout.folder.filename().string());
    if (layout.number != 0) first = layout.folder.parent_path().parent_path();
  }
  std::error_code error;
  while (fs::exists(first / kLayouts / std::to_string(layout.count) / library.filename(), error)) ++layout.count;
  return layout;
}

Layout layout() {
  Dl_info found{};
  if (dladdr(reinterpret_cast<const void*>(&layout_of), &found) == 0 || found.dli_fname == nullptr) return {};
  std::error_code error;
  const fs::path library = fs::canonical(found.dli_fname, error);
  return layout_of(error ? fs::path(found.dli_fname) : library);
}

}  // namespace dpubench
