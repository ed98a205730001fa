// A file of a trace, which is a row of zstd frames (format.h), read from its beginning to its end.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace dpubench::cores {

class CompressedFile {
 public:
  /// @throws Error when it cannot be opened
  explicit CompressedFile(const std::filesystem::path& path);
  CompressedFile(CompressedFile&&) noexcept;
  CompressedFile& operator=(CompressedFile&&) noexcept;
  ~CompressedFile();

  /// Fills `out` as far as the file goes; fewer bytes than it holds are its end. What it gives was compared with its checksum.
  /// @throws Error when it cannot be read, is not compressed in such frames, damaged or cut off
  std::size_t read(std::span<std::byte> out);
  /// Fills `out`. @throws Error as read(), and when the file ends within it: `what` was read
  void read_exactly(std::span<std::byte> out, const std::string& what);
  /// Throws an Error that begins with the file's path.
  [[noreturn]] void refuse(const std::string& why) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dpubench::cores
