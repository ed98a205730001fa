// Reading a whole file, with a message that a person can act on.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dpubench::inputs {

/// The content of a file. @param kind names the input in messages ("capture", "prefix list")
/// @throws Error when it is missing, a directory, unreadable or larger than memory
std::vector<std::byte> read_file(const std::filesystem::path& path, std::string_view kind);

/// The same bytes as text.
inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A piece of a file for a message: in quotes, cut to 60 characters, anything but printable ASCII as '?'.
std::string excerpt(std::string_view text);

/// How to unpack `bytes` when they are a known compression format, else empty.
std::string unpack_hint(std::span<const std::byte> bytes, std::string_view name);

}  // namespace dpubench::inputs
