// The work that engines of the operator regex get.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "operators/operator.hpp"
#include "operators/regex/rules.hpp"

namespace dpubench::regex {

class RegexWork final : public Work {
 public:
  std::string rules_name;  ///< name of the list that the rules come from, for messages
  std::vector<Rule> rules;
  std::string rules_hash;  ///< hash_of(rules)
  bool stream = false;     ///< items are flows of segments, else payloads
  /// Return the result of `build`, kept under `key`, as inputs::Store::cached does; empty if there is no cache (known answers).
  std::function<std::vector<std::byte>(std::string_view key, const std::function<std::vector<std::byte>()>& build)> cached;
  bool all_decided = false;         ///< known answers: an engine must decide every pair
  std::uint64_t payload_bytes = 0;  ///< payload bytes of all items, without the room between segments
  std::uint64_t item_bytes = 0;     ///< bytes of all items

  /// One bit per item and rule. check() sets it if one of the engines left the pair undecided. So a pair counts once however
  /// often it is judged, and the reference's comparison with itself adds nothing to the comparisons with others. Empty if no pair
  /// is undecided.
  mutable std::vector<bool> undecided;
};

/// Return the bytes of a bitmap with one bit per rule. Bit i % 8 of byte i / 8 stands for rule i.
constexpr std::size_t bitmap_bytes(std::size_t rules) {
  return (rules + 7) / 8;
}
inline bool bit(std::span<const std::byte> bitmap, std::size_t i) {
  return (std::to_integer<unsigned>(bitmap[i / 8]) >> i % 8 & 1U) != 0;
}
inline void set_bit(std::byte* bitmap, std::size_t i) {
  bitmap[i / 8] |= static_cast<std::byte>(1U << i % 8);
}

/// A segment of a unit. In mode stream, `aux` of an item holds the number of segments, then offset and length of each in `in`
/// (32-bit, native order).
struct Segment {
  std::uint32_t offset;
  std::uint32_t length;
};
class Segments {
 public:
  explicit Segments(const std::byte* aux) : at_(aux + sizeof count_) { std::memcpy(&count_, aux, sizeof count_); }
  [[nodiscard]] std::uint32_t size() const { return count_; }
  Segment operator[](std::uint32_t i) const {
    Segment segment;
    std::memcpy(&segment, at_ + i * sizeof segment, sizeof segment);
    return segment;
  }
  static std::vector<std::byte> encode(std::span<const Segment> segments) {
    const auto count = static_cast<std::uint32_t>(segments.size());
    std::vector<std::byte> aux(sizeof count + segments.size_bytes());
    std::memcpy(aux.data(), &count, sizeof count);
    if (count > 0) std::memcpy(aux.data() + sizeof count, segments.data(), segments.size_bytes());
    return aux;
  }

 private:
  std::uint32_t count_ = 0;
  const std::byte* at_;
};

/// A check whether bytes, fed piece by piece, are UTF-8 (RFC 3629 section 4). Neither library defines the meaning of a UTF-8 rule
/// on other bytes, so such pairs are undecided in every engine.
class Utf8Check {
 public:
  void feed(const std::byte* data, std::size_t length) {
    for (std::size_t i = 0; i < length && valid_; ++i) step(std::to_integer<unsigned>(data[i]));
  }
  /// Return the verdict at the end of the text.
  [[nodiscard]] bool valid() const { return valid_ && wanted_ == 0; }

 private:
  void step(unsigned b) {
    if (wanted_ > 0) {
      valid_ = b >= low_ && b <= high_;
      low_ = 0x80;
      high_ = 0xBF;
      --wanted_;
    } else if (b >= 0x80) {
      valid_ = b >= 0xC2 && b <= 0xF4;
      wanted_ = b < 0xE0 ? 1 : b < 0xF0 ? 2 : 3;
      // Limits of the first continuation byte: no overlong forms, no surrogates, nothing above U+10FFFF.
      low_ = b == 0xE0 ? 0xA0 : b == 0xF0 ? 0x90 : 0x80;
      high_ = b == 0xED ? 0x9F : b == 0xF4 ? 0x8F : 0xBF;
    }
  }
  bool valid_ = true;
  unsigned wanted_ = 0;
  unsigned low_ = 0x80;
  unsigned high_ = 0xBF;
};

/// Return "3 of 240 rules not compiled" for PathInfo, or an empty string if all were. @throws Error when none was, with the first
/// reason
inline std::string compiled_summary(const RegexWork& work, std::size_t rejected, const std::string& engine,
                                    const std::string& first_reason) {
  if (rejected == 0) return {};
  const std::string of = " of " + std::to_string(work.rules.size()) + " rules";
  if (rejected == work.rules.size()) {
    throw Error(work.rules_name + ": " + engine + " compiles none" + of + ": " + first_reason +
                ": give other rules with --input rules=FILE");
  }
  return "; " + std::to_string(rejected) + of + " not compiled and undecided (" + first_reason + ")";
}

}  // namespace dpubench::regex
