// The content of the files that are transferred: pseudo-random bytes, which both ends can make.
#pragma once

#include <cstdint>
#include <vector>

#include "inputs/random.hpp"
#include "link/channel.hpp"
#include "link/socket.hpp"

namespace dpubench::link {

/// A file in memory, with the content of a seed. It has no name, and is gone when its descriptor is closed.
class ContentFile {
 public:
  /// @throws Error this machine has less than twice as much memory available
  ContentFile(std::uint64_t seed, std::uint64_t bytes);
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  Descriptor fd_;
};

/// Compares files that come in parts with the content of a seed: the first file whole, later ones in their first and last blocks,
/// so that comparing takes little of the time that counts.
class ContentCheck {
 public:
  static constexpr std::size_t kBlock = 4096;

  ContentCheck(std::uint64_t seed, std::uint64_t bytes) : random_(seed), bytes_(bytes) {}
  /// Take the next part, which holds at most left() bytes. @throws Error the content is wrong
  void take(Bytes part);
  /// Return how many bytes of the present file are still to come.
  [[nodiscard]] std::uint64_t left() const { return bytes_ - at_; }
  /// Return how many files were taken whole.
  [[nodiscard]] std::uint64_t files() const { return files_; }

 private:
  void compare_all(Bytes part);
  void compare(Bytes part, std::uint64_t begin, Bytes right) const;
  void make_next_piece();

  inputs::Random random_;
  std::uint64_t bytes_;
  std::uint64_t at_ = 0;  ///< place of the next part in its file
  std::uint64_t files_ = 0;
  std::vector<std::byte> piece_;  ///< the content before made_, which is compared now
  std::uint64_t made_ = 0;        ///< how much of the content was made
  std::vector<std::byte> first_;  ///< first and last block of the content
  std::vector<std::byte> last_;
};

}  // namespace dpubench::link
