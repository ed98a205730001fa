#include <algorithm>

#include "operators/support/codecs/byte_copy.hpp"
#include "operators/support/codecs/deflate_format.hpp"
#include "operators/support/codecs/deflate_symbols.hpp"

namespace dpubench::deflate {
namespace {

constexpr unsigned kMaxBits = HuffmanCode::kMaxLimit;

/// The meaning of a symbol, packed into one load: bits 0-3 length of its code, 4-7 extra bits, 8-9 kind, 16-31 literal or base.
using Entry = std::uint32_t;
enum Kind : unsigned { kInvalid = 0, kLiteral = 1, kCopy = 2, kEnd = 3 };
constexpr Entry make_entry(Kind kind, unsigned value, unsigned extra) {
  return value << 16 | static_cast<unsigned>(kind) << 8 | extra << 4;
}
constexpr unsigned code_bits(Entry e) {
  return e & 0xF;
}
constexpr unsigned extra_bits(Entry e) {
  return e >> 4 & 0xF;
}
constexpr Kind kind(Entry e) {
  return static_cast<Kind>(e >> 8 & 3);
}
constexpr unsigned value(Entry e) {
  return e >> 16;
}

constexpr std::array<Entry, 288> kLiteralEntries = [] {
  std::array<Entry, 288> entries{};  // the two symbols beyond the lengths stay invalid
  for (unsigned i = 0; i < kEndOfBlock; ++i) entries[i] = make_entry(kLiteral, i, 0);
  entries[kEndOfBlock] = make_entry(kEnd, 0, 0);
  for (std::size_t i = 0; i < kLengthBase.size(); ++i) {
    entries[kFirstLength + i] = make_entry(kCopy, kLengthBase[i], kLengthExtra[i]);
  }
  return entries;
}();
constexpr std::array<Entry, 32> kDistanceEntries = [] {
  std::array<Entry, 32> entries{};
  for (std::size_t i = 0; i < kDistanceBase.size(); ++i) entries[i] = make_entry(kCopy, kDistanceBase[i], kDistanceExtra[i]);
  return entries;
}();
constexpr std::array<Entry, 19> kCodeLengthEntries = [] {
  std::array<Entry, 19> entries{};
  for (unsigned i = 0; i < entries.size(); ++i) entries[i] = make_entry(kLiteral, i, 0);
  return entries;
}();

/// A reader of a stream's bits, least significant first (RFC 1951 section 3.1.1).
class BitReader {
 public:
  explicit BitReader(std::span<const std::byte> in) : at_(in.data()), end_(in.data() + in.size()) {}

  /// Read until at least 56 bits are held, or all that are left.
  void refill() noexcept {
    if (end_ - at_ >= 8) {
      // The bits above count_ already equal the next bits of the stream, so the same bytes may be or-ed in again.
      bits_ |= load_le64(at_) << count_;
      at_ += (63 - count_) / 8;
      count_ |= 56;
      return;
    }
    for (; count_ < 56 && at_ != end_; count_ += 8) bits_ |= std::to_integer<std::uint64_t>(*at_++) << count_;
  }
  [[nodiscard]] std::uint64_t bits() const noexcept { return bits_; }
  [[nodiscard]] unsigned count() const noexcept { return count_; }
  /// Drop bits. @returns false when the stream has fewer bits left
  [[nodiscard]] bool drop(unsigned count) noexcept {
    if (count > count_) return false;
    bits_ >>= count;
    count_ -= count;
    return true;
  }
  /// Return the next `count` (at most 16) bits of a refilled stream, or nothing if fewer are left.
  [[nodiscard]] std::optional<unsigned> take(unsigned count) noexcept {
    const auto bits = static_cast<unsigned>(bits_ & ((1U << count) - 1));
    if (!drop(count)) return std::nullopt;
    return bits;
  }
  /// Skip the rest of the current byte, and give back the whole bytes that were read ahead. @returns the rest of the stream
  std::span<const std::byte> rest() noexcept { return {at_ - count_ / 8, end_}; }
  void resume(const std::byte* at) noexcept {
    at_ = at;
    bits_ = 0;
    count_ = 0;
  }

 private:
  const std::byte* at_;
  const std::byte* end_;
  std::uint64_t bits_ = 0;
  unsigned count_ = 0;
};

unsigned reversed15(unsigned bits) noexcept {
  unsigned reversed = 0;
  for (unsigned i = 0; i < kMaxBits; ++i, bits >>= 1) reversed = reversed << 1 | (bits & 1);
  return reversed;
}

/// A canonical code for decoding. Codes of up to FastBits are looked up; longer and rarer ones are found by their length.
template <unsigned FastBits, std::size_t Symbols>
class DecodeTable {
 public:
  /// Build the table. @param may_be_incomplete  an empty code, or a single code of one bit, is legal (RFC 1951 section 3.2.7: one
  /// distance)
  /// @returns false when the lengths are no prefix code
  bool build(std::span<const std::uint8_t> lengths, std::span<const Entry> entries, bool may_be_incomplete) noexcept {
    std::array<std::uint16_t, kMaxBits + 1> count{};
    for (const std::uint8_t length : lengths) ++count[length];
    const std::size_t used = lengths.size() - count[0];
    count[0] = 0;
    unsigned code = 0;
    std::array<std::uint16_t, kMaxBits + 1> offset{};
    for (unsigned bits = 1; bits <= kMaxBits; ++bits) {
      code = (code + count[bits - 1]) << 1;
      offset[bits] = static_cast<std::uint16_t>(offset[bits - 1] + count[bits - 1]);
      first_[bits] = code;
      offset_[bits] = offset[bits];
      if (code + count[bits] > 1U << bits) return false;  // more codes than there is room for
      limit_[bits] = (code + count[bits]) << (kMaxBits - bits);
    }
    const bool complete = limit_[kMaxBits] == 1U << kMaxBits;
    if (!complete && !(may_be_incomplete && (used == 0 || (used == 1 && count[1] == 1)))) return false;
    for (std::size_t symbol = 0; symbol < lengths.size(); ++symbol) {
      if (lengths[symbol] != 0) ordered_[offset[lengths[symbol]]++] = entries[symbol] | lengths[symbol];
    }
    fill(used, complete);
    return true;
  }

  /// Return the entry of the code at the lower end of `bits`, or kInvalid if no code begins like this.
  [[nodiscard]] Entry find(std::uint64_t bits) const noexcept {
    const Entry entry = fast_[bits & (kFastSize - 1)];
    if (entry != 0) [[likely]]
      return entry;
    return find_long(static_cast<unsigned>(bits & ((1U << kMaxBits) - 1)));
  }

 private:
  static constexpr std::size_t kFastSize = std::size_t{1} << FastBits;

  /// Fill the table of short codes. Canonical codes of one length are consecutive numbers. The table is indexed by reversed
  /// codes, so counting up adds from the top bit down.
  void fill(std::size_t used, bool complete) noexcept {
    if (!complete) fast_.fill(0);
    std::size_t next = 0;
    unsigned code = 0;  // reversed
    for (unsigned bits = 1; bits <= FastBits && next < used; ++bits) {
      const std::size_t end = offset_[bits + 1];
      for (; next < end; ++next) {
        for (std::size_t i = code; i < kFastSize; i += std::size_t{1} << bits) fast_[i] = ordered_[next];
        // Add one to the reversed number: clear the leading ones, set the first zero.
        unsigned bit = 1U << (bits - 1);
        while ((code & bit) != 0) bit >>= 1;
        code = bit == 0 ? 0 : (code & (bit - 1)) | bit;
        if (bit == 0) return;  // this was the last code
      }
    }
    if (complete) {
      // Longer codes fill the rest. Their first bits lead to find_long.
      for (;;) {
        fast_[code] = 0;
        unsigned bit = 1U << (FastBits - 1);
        while ((code & bit) != 0) bit >>= 1;
        if (bit == 0) return;
        code = (code & (bit - 1)) | bit;
      }
    }
  }

  [[nodiscard]] Entry find_long(unsigned bits) const noexcept {
    const unsigned code = reversed15(bits);
    for (unsigned length = 1; length <= kMaxBits; ++length) {
      if (code < limit_[length]) return ordered_[offset_[length] + (code >> (kMaxBits - length)) - first_[length]];
    }
    return 0;
  }

  std::array<Entry, kFastSize> fast_;
  std::array<Entry, Symbols> ordered_;  // sorted by code
  std::array<unsigned, kMaxBits + 1> first_;
  std::array<unsigned, kMaxBits + 1> limit_;  // first number beyond the codes of this length, as 15 bits
  std::array<std::uint16_t, kMaxBits + 2> offset_;
};

using LiteralTable = DecodeTable<10, 288>;
using DistanceTable = DecodeTable<8, 32>;
using CodeLengthTable = DecodeTable<7, 19>;

struct FixedTables {
  LiteralTable literals;
  DistanceTable distances;
};
const FixedTables& fixed_tables() {
  static const FixedTables tables = [] {
    FixedTables t;
    std::array<std::uint8_t, 32> distances;
    distances.fill(kFixedDistanceBits);
    t.literals.build(kFixedLiteralLengths, kLiteralEntries, false);
    t.distances.build(distances, kDistanceEntries, false);
    return t;
  }();
  return tables;
}

/// The output and the place where it grows.
struct Out {
  std::byte* begin;
  std::byte* at;
  const std::byte* end;
  [[nodiscard]] std::size_t room() const noexcept { return static_cast<std::size_t>(end - at); }
  [[nodiscard]] std::size_t written() const noexcept { return static_cast<std::size_t>(at - begin); }
};

bool stored_block(BitReader& reader, Out& out) noexcept {
  std::span<const std::byte> rest = reader.rest();
  if (rest.size() < 4) return false;
  const std::size_t size = load_le16(rest.data());
  if ((size ^ load_le16(rest.data() + 2)) != 0xFFFF || rest.size() - 4 < size || out.room() < size) return false;
  if (size != 0) std::memcpy(out.at, rest.data() + 4, size);
  out.at += size;
  reader.resume(rest.data() + 4 + size);
  return true;
}

bool coded_block(BitReader& reader, const LiteralTable& literals, const DistanceTable& distances, Out& out) noexcept {
  for (;;) {
    reader.refill();
    Entry entry = literals.find(reader.bits());
    // A refill brings enough bits for three literals of at most 15 bits.
    for (int i = 0; i < 2 && kind(entry) == kLiteral; ++i) {
      if (out.at == out.end || !reader.drop(code_bits(entry))) return false;
      *out.at++ = static_cast<std::byte>(value(entry));
      entry = literals.find(reader.bits());
    }
    if (kind(entry) == kLiteral) {
      if (out.at == out.end || !reader.drop(code_bits(entry))) return false;
      *out.at++ = static_cast<std::byte>(value(entry));
      continue;
    }
    if (kind(entry) == kEnd) return reader.drop(code_bits(entry));
    if (kind(entry) == kInvalid) return false;
    if (!reader.drop(code_bits(entry))) return false;
    reader.refill();
    const std::size_t length = value(entry) + (reader.bits() & ((1U << extra_bits(entry)) - 1));
    if (!reader.drop(extra_bits(entry))) return false;
    const Entry far = distances.find(reader.bits());
    if (kind(far) == kInvalid || !reader.drop(code_bits(far))) return false;
    const std::size_t distance = value(far) + (reader.bits() & ((1U << extra_bits(far)) - 1));
    if (!reader.drop(extra_bits(far))) return false;
    if (distance > out.written() || length > out.room()) return false;
    copy_match(out.at, out.end, distance, length);
    out.at += length;
  }
}

}  // namespace

struct Decompressor::State {
  LiteralTable literals;
  DistanceTable distances;
  CodeLengthTable code_lengths;

  /// Read the header of a dynamic block (RFC 1951 section 3.2.7). @returns false when it is malformed
  bool read_header(BitReader& reader) noexcept {
    reader.refill();
    const auto literal_count = reader.take(5);
    const auto distance_count = reader.take(5);
    const auto code_length_count = reader.take(4);
    if (!literal_count || !distance_count || !code_length_count) return false;
    const std::size_t hlit = *literal_count + kFirstLength;
    const std::size_t hdist = *distance_count + 1;
    if (hlit > kLiteralSymbols || hdist > kDistanceSymbols) return false;
    std::array<std::uint8_t, kCodeLengthOrder.size()> small{};
    for (std::size_t i = 0; i < *code_length_count + 4; ++i) {
      reader.refill();
      const auto length = reader.take(3);
      if (!length) return false;
      small[kCodeLengthOrder[i]] = static_cast<std::uint8_t>(*length);
    }
    if (!code_lengths.build(small, kCodeLengthEntries, false)) return false;

    std::array<std::uint8_t, kLiteralSymbols + kDistanceSymbols> lengths;
    for (std::size_t i = 0; i < hlit + hdist;) {
      reader.refill();
      const Entry entry = code_lengths.find(reader.bits());
      if (!reader.drop(code_bits(entry))) return false;
      const unsigned symbol = value(entry);
      if (symbol < kRepeatPrevious) {
        lengths[i++] = static_cast<std::uint8_t>(symbol);
        continue;
      }
      if (symbol == kRepeatPrevious && i == 0) return false;
      const std::uint8_t repeated = symbol == kRepeatPrevious ? lengths[i - 1] : std::uint8_t{0};
      const auto more = reader.take(symbol == kRepeatPrevious ? 2 : symbol == kRepeatZero ? 3 : 7);
      if (!more) return false;
      const std::size_t run = *more + (symbol == kRepeatZeroLong ? 11 : 3);
      if (run > hlit + hdist - i) return false;
      std::fill_n(lengths.begin() + static_cast<std::ptrdiff_t>(i), run, repeated);
      i += run;
    }
    if (lengths[kEndOfBlock] == 0) return false;  // the block could not end
    return literals.build({lengths.data(), hlit}, kLiteralEntries, true) &&
           distances.build({lengths.data() + hlit, hdist}, kDistanceEntries, true);
  }
};

Decompressor::Decompressor() : state_(std::make_unique<State>()) {}
Decompressor::~Decompressor() = default;
Decompressor::Decompressor(Decompressor&&) noexcept = default;
Decompressor& Decompressor::operator=(Decompressor&&) noexcept = default;

std::optional<std::size_t> Decompressor::decompress(std::span<const std::byte> in, std::span<std::byte> room) noexcept {
  BitReader reader(in);
  Out out{room.data(), room.data(), room.data() + room.size()};
  for (bool last = false; !last;) {
    reader.refill();
    const auto start = reader.take(3);
    if (!start) return std::nullopt;
    last = (*start & 1) != 0;
    bool ok = false;
    switch (*start >> 1) {
      case 0:
        ok = stored_block(reader, out);
        break;
      case 1:
        ok = coded_block(reader, fixed_tables().literals, fixed_tables().distances, out);
        break;
      case 2:
        ok = state_->read_header(reader) && coded_block(reader, state_->literals, state_->distances, out);
        break;
      default:
        break;  // 3 is reserved
    }
    if (!ok) return std::nullopt;
  }
  return out.written();
}

}  // namespace dpubench::deflate
