// Reads a file of a trace from its beginning to its end. Such a file is a row of zstd frames (format.h).
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace dpubench::cores {

class CompressedFile {
 public:
  /// @throws Error when the file cannot be opened
  explicit CompressedFile(const std::filesystem::path& path);
  CompressedFile(CompressedFile&&) noexcept;
  CompressedFile& operator=(CompressedFile&&) noexcept;
  ~CompressedFile();

  /// Fill `out`. Fewer bytes than it holds mean the end of the file. All bytes were compared with their checksum.
  /// @returns the number of bytes @throws Error when the file cannot be read, is not such a row of frames, is damaged or cut off
  std::size_t read(std::span<std::byte> out);
  /// Fill `out` completely. @throws Error as read(), and when the file ends within `what`
  void read_exactly(std::span<std::byte> out, const std::string& what);
  /// Throw an Error that begins with the file's path.
  [[noreturn]] void refuse(const std::string& why) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dpubench::cores
