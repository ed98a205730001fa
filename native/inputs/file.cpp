#include "inputs/file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>

#include "base/error.hpp"

namespace dpubench::inputs {

std::vector<std::byte> read_file(const std::filesystem::path& path, std::string_view kind) {
  const std::string where = std::string(kind) + " " + path.string() + ": ";
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) throw Error(where + "is a directory; name a file");
  const auto close = [](std::FILE* f) { std::fclose(f); };
  const std::unique_ptr<std::FILE, decltype(close)> file(std::fopen(path.c_str(), "rb"), close);
  if (!file) throw Error(where + std::strerror(errno) + "; check the path and its permissions");
  // The size is only a hint: pipes and files under /proc have none.
  const std::uintmax_t hint = std::filesystem::file_size(path, ignored);
  std::vector<std::byte> bytes;
  try {
    std::size_t filled = 0;
    bytes.resize(ignored ? 65536 : static_cast<std::size_t>(hint) + 1);
    for (;;) {
      const std::size_t got = std::fread(bytes.data() + filled, 1, bytes.size() - filled, file.get());
      filled += got;
      if (filled < bytes.size()) break;
      bytes.resize(bytes.size() * 2);
    }
    if (std::ferror(file.get()) != 0) throw Error(where + "cannot be read: " + std::strerror(errno));
    bytes.resize(filled);
  } catch (const std::bad_alloc&) {
    throw Error(where + "does not fit into memory; give a smaller file");
  } catch (const std::length_error&) {
    throw Error(where + "does not fit into memory; give a smaller file");
  }
  return bytes;
}

std::string excerpt(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  std::string out(text.substr(0, kLongest));
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return '"' + out + (text.size() > kLongest ? "...\"" : "\"");
}

std::string unpack_hint(std::span<const std::byte> bytes, std::string_view name) {
  struct Format {
    std::string_view magic;
    std::string_view format;
    std::string_view command;
  };
  static constexpr Format kFormats[] = {{"\x1f\x8b", "gzip", "gunzip -k "},
                                        {"\x28\xb5\x2f\xfd", "zstd", "unzstd -k "},
                                        {"\xfd\x37zXZ", "xz", "unxz -k "},
                                        {"BZh", "bzip2", "bunzip2 -k "}};
  for (const Format& f : kFormats) {
    if (as_text(bytes).starts_with(f.magic)) {
      return "is compressed (" + std::string(f.format) + "); unpack it first: " + std::string(f.command) + std::string(name);
    }
  }
  return {};
}

}  // namespace dpubench::inputs
