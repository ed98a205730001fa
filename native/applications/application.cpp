#include "applications/application.hpp"

#include <algorithm>

#include "inputs/file.hpp"

namespace dpubench::applications {

const std::vector<std::filesystem::path>& Task::files(std::string_view kind) const {
  const auto found = inputs.find(kind);
  if (found == inputs.end() || found->second.empty())
    throw Error("inputs/" + std::string(kind) + ": the application reads this input, but the job names no file: name one");
  return found->second;
}

const std::filesystem::path& Task::file(std::string_view kind) const {
  const auto& all = files(kind);
  if (all.size() > 1)
    throw Error("inputs/" + std::string(kind) + ": " + std::to_string(all.size()) +
                " files are given, but the application reads one: give each file its own job");
  return all.front();
}

std::vector<std::byte> read_input(const std::filesystem::path& path, std::string_view kind, std::uint64_t limit_bytes) {
  std::vector<std::byte> bytes = inputs::read_file(path, kind);
  if (limit_bytes != 0 && bytes.size() > limit_bytes) bytes.resize(limit_bytes);
  return bytes;
}

void append(std::vector<std::byte>& to, std::string_view text) {
  append(to, std::as_bytes(std::span(text)));
}

void append(std::vector<std::byte>& to, std::span<const std::byte> bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

}  // namespace dpubench::applications
