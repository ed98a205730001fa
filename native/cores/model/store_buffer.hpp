// Stores that are not written yet, and loads of their bytes.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "cores/model/calendar.hpp"

namespace dpubench::cores {

/// The store queue of one context as loads see it: its bytes, and the cycles in which they are in it.
class StoreBuffer {
 public:
  /// @param stores  most stores at once, each of at most 64 bytes
  explicit StoreBuffer(std::size_t stores) : pieces_(std::bit_ceil(stores * kMostPieces)) {}

  struct Answer {
    bool forwarded = false;  ///< all bytes come from stores
    bool touched = false;    ///< some bytes come from stores
    Cycle data = 0;          ///< cycle in which those bytes are ready
    Cycle wait = 0;          ///< a store covers only a part: cycle until which it is written
  };

  /// Add a store. @param data  cycle in which its data is ready @param written  cycle in which it leaves, never before older ones
  void add(std::uint64_t address, std::uint32_t bytes, Cycle data, Cycle written) {
    each_piece(address, bytes, [&](std::uint64_t word, std::uint8_t mask) {
      std::uint64_t& head = heads_[word % heads_.size()];
      ++count_;
      pieces_[count_ & (pieces_.size() - 1)] = {word, data, written, head, mask};
      head = count_;
    });
  }

  /// Return the stores' answer to a load of `bytes` at `address` in cycle `at`. @param now  no later call asks for earlier cycles
  [[nodiscard]] Answer look_up(std::uint64_t address, std::uint32_t bytes, Cycle at, Cycle now) const {
    Answer answer;
    bool all = true;
    each_piece(address, bytes, [&](std::uint64_t word, std::uint8_t mask) {
      const Piece* const piece = youngest(word, mask, now);
      if (piece == nullptr || piece->written <= at) {
        all = false;
      } else if ((piece->mask & mask) == mask) {
        answer.touched = true;
        answer.data = std::max(answer.data, piece->data);
      } else {
        all = false;
        answer.wait = std::max(answer.wait, piece->written);
      }
    });
    answer.forwarded = all;
    return answer;
  }

 private:
  static constexpr std::uint64_t kWordBytes = 8;
  static constexpr std::size_t kMostPieces = 9;

  struct Piece {
    std::uint64_t word = 0;
    Cycle data = 0;
    Cycle written = 0;
    std::uint64_t before = 0;  ///< number of the previous piece under the same head
    std::uint8_t mask = 0;     ///< bytes of the word
  };

  template <class F>
  static void each_piece(std::uint64_t address, std::uint32_t bytes, F visit) {
    const std::uint64_t end = address + bytes;
    for (std::uint64_t word = address / kWordBytes; word * kWordBytes < end; ++word) {
      const std::uint64_t from = std::max(address, word * kWordBytes) % kWordBytes;
      const std::uint64_t to = std::min(end, (word + 1) * kWordBytes) - word * kWordBytes;
      visit(word, static_cast<std::uint8_t>(((1U << to) - 1) & ~((1U << from) - 1)));
    }
  }

  [[nodiscard]] const Piece* youngest(std::uint64_t word, std::uint8_t mask, Cycle now) const {
    for (std::uint64_t n = heads_[word % heads_.size()]; n != 0 && count_ - n < pieces_.size();) {
      const Piece& piece = pieces_[n & (pieces_.size() - 1)];
      if (piece.written <= now) return nullptr;  // all older pieces are written too
      if (piece.word == word && (piece.mask & mask) != 0) return &piece;
      n = piece.before;
    }
    return nullptr;
  }

  std::array<std::uint64_t, 256> heads_{};
  std::vector<Piece> pieces_;
  std::uint64_t count_ = 0;
};

}  // namespace dpubench::cores
