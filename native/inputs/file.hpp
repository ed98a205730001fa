// Reads a whole file, with error messages that a person can act on.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dpubench::inputs {

/// Return the content of a file. @param kind names the input in messages ("capture", "prefix list")
/// @throws Error when it is missing, a directory, unreadable or larger than memory
std::vector<std::byte> read_file(const std::filesystem::path& path, std::string_view kind);

/// Return the same bytes as text.
inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Return a piece of a file for a message: in quotes, cut to 60 characters, with '?' for anything but printable ASCII.
std::string excerpt(std::string_view text);

/// Return how to unpack `bytes` if they are in a known compression format, or an empty text.
std::string unpack_hint(std::span<const std::byte> bytes, std::string_view name);

}  // namespace dpubench::inputs
