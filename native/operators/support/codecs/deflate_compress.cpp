#include <algorithm>
#include <bit>
#include <utility>

#include "operators/support/codecs/byte_copy.hpp"
#include "operators/support/codecs/deflate_format.hpp"
#include "operators/support/codecs/deflate_symbols.hpp"

namespace dpubench::deflate {
namespace {

constexpr std::size_t kBlockTokens = 16384;  // this many literals and matches share a code before the statistics may change
constexpr unsigned kCodeLengthLimit = 7;     // three bits store such a length
constexpr std::size_t kMaxStored = 65535;    // bytes of a stored block
constexpr int kMaxHashBits = 15;

/// The symbol of each match length, minus kFirstLength.
constexpr std::array<std::uint8_t, kMaxMatch + 1> kLengthSymbol = [] {
  std::array<std::uint8_t, kMaxMatch + 1> symbols{};
  for (std::size_t symbol = 0; symbol < kLengthBase.size(); ++symbol) {
    for (std::size_t length = kLengthBase[symbol]; length <= kMaxMatch; ++length)
      symbols[length] = static_cast<std::uint8_t>(symbol);
  }
  return symbols;
}();

/// Return the symbol of a distance. From symbol 2 on, an octave has two codes; the bit after the leading one selects one.
unsigned distance_symbol(std::uint32_t distance) noexcept {
  const std::uint32_t value = distance - 1;
  if (value < 2) return value;
  const auto top = static_cast<unsigned>(std::bit_width(value)) - 1;
  return 2 * top + (value >> (top - 1) & 1);
}

class BitWriter {
 public:
  explicit BitWriter(std::byte* to) : start_(to), to_(to) {}
  /// Write bits. @param count  at most 48, and `bits` is below 2^count; eight bytes behind the last one written may be
  /// overwritten
  void put(std::uint64_t bits, unsigned count) noexcept {
    held_ |= bits << held_count_;
    held_count_ += count;
    store_le64(to_, held_);
    to_ += held_count_ / 8;
    held_ >>= held_count_ & ~7U;
    held_count_ &= 7;
  }
  void align() noexcept {
    if (held_count_ != 0) put(0, 8 - held_count_);
  }
  /// Reserve whole bytes, after align(). @returns where to copy them
  std::byte* take(std::size_t bytes) noexcept { return std::exchange(to_, to_ + bytes); }
  [[nodiscard]] unsigned bits_to_boundary(unsigned after) const noexcept { return (8 - (held_count_ + after) % 8) % 8; }
  [[nodiscard]] std::size_t written() const noexcept { return static_cast<std::size_t>(to_ - start_); }

 private:
  std::byte* start_;
  std::byte* to_;
  std::uint64_t held_ = 0;
  unsigned held_count_ = 0;  // below 8 between calls
};

/// A prefix code ready to write.
template <std::size_t Symbols>
struct Code {
  std::array<std::uint8_t, Symbols> lengths;
  std::array<std::uint16_t, Symbols> codes;
  void put(BitWriter& writer, std::size_t symbol) const noexcept { writer.put(codes[symbol], lengths[symbol]); }
};
using LiteralCode = Code<kLiteralSymbols>;
using DistanceCode = Code<kDistanceSymbols>;

struct FixedCodes {
  LiteralCode literals;
  DistanceCode distances;
};
const FixedCodes& fixed_codes() {
  static const FixedCodes kCodes = [] {
    FixedCodes fixed;
    std::array<std::uint16_t, kFixedLiteralLengths.size()> codes{};
    canonical_codes(kFixedLiteralLengths, codes);
    std::copy_n(kFixedLiteralLengths.begin(), kLiteralSymbols, fixed.literals.lengths.begin());
    std::copy_n(codes.begin(), kLiteralSymbols, fixed.literals.codes.begin());
    fixed.distances.lengths.fill(kFixedDistanceBits);
    canonical_codes(fixed.distances.lengths, fixed.distances.codes);
    return fixed;
  }();
  return kCodes;
}

/// A literal (distance 0, its value in `length`) or a match.
struct Token {
  std::uint16_t length;
  std::uint16_t distance;  // 32768 fits
};

/// A symbol of the code length alphabet with its extra bits.
struct LengthToken {
  std::uint8_t symbol;
  std::uint8_t extra;
};
constexpr unsigned extra_bits(std::uint8_t symbol) {
  return symbol == kRepeatPrevious ? 2 : symbol == kRepeatZero ? 3 : symbol == kRepeatZeroLong ? 7 : 0;
}

/// The header of a dynamic block (RFC 1951 section 3.2.7).
struct Header {
  std::size_t literals = 0;      // lengths of the literal code in the header
  std::size_t distances = 0;     // lengths of the distance code
  std::size_t code_lengths = 0;  // lengths of the code length code
  std::array<LengthToken, kLiteralSymbols + kDistanceSymbols> tokens;
  std::size_t token_count = 0;
  Code<19> code;
  std::uint64_t bits = 0;
};

}  // namespace

struct Compressor::State {
  std::array<std::uint32_t, 1U << kMaxHashBits> newest;  // position + 1 of the newest string with this hash; 0: none yet
  std::array<std::uint32_t, kWindow> older;              // the same for the string before it, by position modulo window
  std::array<Token, kBlockTokens> tokens;
  std::size_t token_count = 0;
  std::array<std::uint32_t, kLiteralSymbols> literal_counts;
  std::array<std::uint32_t, kDistanceSymbols> distance_counts;
  LiteralCode literals;
  DistanceCode distances;
  Header header;
  HuffmanCode huffman;
  int hash_shift = 0;

  void start_block() noexcept {
    token_count = 0;
    literal_counts.fill(0);
    literal_counts[kEndOfBlock] = 1;
    distance_counts.fill(0);
  }
  void literal(std::byte value) noexcept {
    tokens[token_count++] = {std::to_integer<std::uint16_t>(value), 0};
    ++literal_counts[std::to_integer<std::size_t>(value)];
  }
  void match(std::uint32_t length, std::uint32_t distance) noexcept {
    tokens[token_count++] = {static_cast<std::uint16_t>(length), static_cast<std::uint16_t>(distance)};
    ++literal_counts[kFirstLength + kLengthSymbol[length]];
    ++distance_counts[distance_symbol(distance)];
  }

  /// Find the longest match at `at` that is longer than `longest`, and file `at` under its hash. @returns its length, or 0
  std::uint32_t search(std::span<const std::byte> in, std::size_t at, std::uint32_t longest, const Effort& effort,
                       std::uint32_t& distance) noexcept {
    if (in.size() - at < 4) return 0;  // a hash reads four bytes
    const std::byte* const here = in.data() + at;
    std::uint32_t next = insert(here, at);
    const std::byte* const end = here + std::min<std::size_t>(kMaxMatch, in.size() - at);
    const auto reach = static_cast<std::uint32_t>(end - here);
    if (longest >= reach) return 0;
    std::uint32_t found = 0;
    for (std::uint32_t left = effort.chain; next != 0 && left != 0; --left) {
      const std::size_t candidate = next - 1;
      if (candidate >= at || at - candidate > kWindow) break;  // newer positions have overwritten `older`
      const std::byte* const there = in.data() + candidate;
      if (there[longest] == here[longest] && load_le16(there) == load_le16(here)) {
        const auto length = static_cast<std::uint32_t>(common_length(here, there, end));
        // A match of three bytes from far away costs more than three literals.
        if (length > longest && (length > kMinMatch || at - candidate <= 4096)) {
          longest = found = length;
          distance = static_cast<std::uint32_t>(at - candidate);
          if (length >= effort.enough || length == reach) break;
        }
      }
      const std::uint32_t before = older[candidate % kWindow];
      if (before >= next) break;
      next = before;
    }
    return found;
  }

  /// File `at` under its hash. @returns the newest position + 1 that had the same hash
  std::uint32_t insert(const std::byte* here, std::size_t at) noexcept {
    std::uint32_t& slot = newest[((load_le32(here) & 0xFFFFFF) * 2654435761U) >> hash_shift];
    const std::uint32_t before = slot;
    older[at % kWindow] = before;
    slot = static_cast<std::uint32_t>(at + 1);
    return before;
  }

  void build_header() noexcept;
  void put_header(BitWriter& writer) const noexcept;
  void put_dynamic_start(BitWriter& writer, bool last) const noexcept;
  void put_tokens(BitWriter& writer, const LiteralCode& literal_code, const DistanceCode& distance_code) const noexcept;
  [[nodiscard]] std::uint64_t body_bits(const LiteralCode& literal_code, const DistanceCode& distance_code) const noexcept;
  void put_block(BitWriter& writer, std::span<const std::byte> plain, bool last) noexcept;
};

/// Run-length code both sets of lengths as one sequence, and build the code for it.
void Compressor::State::build_header() noexcept {
  Header& h = header;
  h.literals = kLiteralSymbols;
  while (h.literals > kFirstLength && literals.lengths[h.literals - 1] == 0) --h.literals;
  h.distances = kDistanceSymbols;
  // At least one distance length is sent. If it is 0, there are no distances.
  while (h.distances > 1 && distances.lengths[h.distances - 1] == 0) --h.distances;
  std::array<std::uint8_t, kLiteralSymbols + kDistanceSymbols> all;
  std::copy_n(literals.lengths.begin(), h.literals, all.begin());
  std::copy_n(distances.lengths.begin(), h.distances, all.begin() + static_cast<std::ptrdiff_t>(h.literals));
  const std::size_t total = h.literals + h.distances;

  std::array<std::uint32_t, 19> counts{};
  h.token_count = 0;
  h.bits = 5 + 5 + 4;
  const auto add = [&](std::uint8_t symbol, std::size_t extra) {
    h.tokens[h.token_count++] = {symbol, static_cast<std::uint8_t>(extra)};
    ++counts[symbol];
  };
  for (std::size_t i = 0; i < total;) {
    const std::uint8_t length = all[i];
    std::size_t run = 1;
    while (i + run < total && all[i + run] == length) ++run;
    i += run;
    if (length != 0) {
      add(length, 0);
      --run;
      for (; run >= 3; run -= std::min<std::size_t>(run, 6)) add(kRepeatPrevious, std::min<std::size_t>(run, 6) - 3);
    } else {
      for (; run >= 11; run -= std::min<std::size_t>(run, 138)) add(kRepeatZeroLong, std::min<std::size_t>(run, 138) - 11);
      if (run >= 3) {
        add(kRepeatZero, run - 3);
        run = 0;
      }
    }
    for (; run != 0; --run) add(length, 0);
  }
  // At least two symbols occur, because 257 and more equal lengths are no complete code.
  huffman.lengths(counts, kCodeLengthLimit, h.code.lengths);
  canonical_codes(h.code.lengths, h.code.codes);
  h.code_lengths = kCodeLengthOrder.size();
  while (h.code_lengths > 4 && h.code.lengths[kCodeLengthOrder[h.code_lengths - 1]] == 0) --h.code_lengths;
  h.bits += 3 * h.code_lengths;
  for (std::size_t symbol = 0; symbol < counts.size(); ++symbol) {
    h.bits += std::uint64_t{counts[symbol]} * (h.code.lengths[symbol] + extra_bits(static_cast<std::uint8_t>(symbol)));
  }
}

void Compressor::State::put_header(BitWriter& writer) const noexcept {
  writer.put(header.literals - kFirstLength, 5);
  writer.put(header.distances - 1, 5);
  writer.put(header.code_lengths - 4, 4);
  for (std::size_t i = 0; i < header.code_lengths; ++i) writer.put(header.code.lengths[kCodeLengthOrder[i]], 3);
  for (std::size_t i = 0; i < header.token_count; ++i) {
    header.code.put(writer, header.tokens[i].symbol);
    writer.put(header.tokens[i].extra, extra_bits(header.tokens[i].symbol));
  }
}

void Compressor::State::put_dynamic_start(BitWriter& writer, bool last) const noexcept {
  writer.put((last ? 1 : 0) | 2 << 1, 3);
  put_header(writer);
}

std::uint64_t Compressor::State::body_bits(const LiteralCode& literal_code, const DistanceCode& distance_code) const noexcept {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < kLiteralSymbols; ++i) {
    const unsigned extra = i < kFirstLength ? 0 : kLengthExtra[i - kFirstLength];
    bits += std::uint64_t{literal_counts[i]} * (literal_code.lengths[i] + extra);
  }
  for (std::size_t i = 0; i < kDistanceSymbols; ++i) {
    bits += std::uint64_t{distance_counts[i]} * (distance_code.lengths[i] + kDistanceExtra[i]);
  }
  return bits;
}

void Compressor::State::put_tokens(BitWriter& writer, const LiteralCode& literal_code,
                                   const DistanceCode& distance_code) const noexcept {
  for (std::size_t i = 0; i < token_count; ++i) {
    const Token token = tokens[i];
    if (token.distance == 0) {
      literal_code.put(writer, token.length);
      continue;
    }
    const unsigned length = kLengthSymbol[token.length];
    const unsigned distance = distance_symbol(token.distance);
    // Code and extra bits of length and distance together have at most 15 + 5 + 15 + 13 = 48 bits.
    std::uint64_t bits = literal_code.codes[kFirstLength + length];
    unsigned count = literal_code.lengths[kFirstLength + length];
    bits |= static_cast<std::uint64_t>(token.length - kLengthBase[length]) << count;
    count += kLengthExtra[length];
    bits |= static_cast<std::uint64_t>(distance_code.codes[distance]) << count;
    count += distance_code.lengths[distance];
    bits |= static_cast<std::uint64_t>(token.distance - kDistanceBase[distance]) << count;
    count += kDistanceExtra[distance];
    writer.put(bits, count);
  }
  literal_code.put(writer, kEndOfBlock);
}

/// Write the tokens as the cheapest of the three kinds of block.
void Compressor::State::put_block(BitWriter& writer, std::span<const std::byte> plain, bool last) noexcept {
  huffman.lengths(literal_counts, HuffmanCode::kMaxLimit, literals.lengths);
  huffman.lengths(distance_counts, HuffmanCode::kMaxLimit, distances.lengths);
  canonical_codes(literals.lengths, literals.codes);
  canonical_codes(distances.lengths, distances.codes);
  build_header();
  const std::uint64_t dynamic_bits = header.bits + body_bits(literals, distances);
  const std::uint64_t fixed_bits = body_bits(fixed_codes().literals, fixed_codes().distances);
  const std::size_t stored_blocks = std::max<std::size_t>(1, (plain.size() + kMaxStored - 1) / kMaxStored);
  const std::uint64_t stored_bits = plain.size() * 8 + writer.bits_to_boundary(3) + 32 + (stored_blocks - 1) * 40;
  if (stored_bits <= std::min(dynamic_bits, fixed_bits)) {
    for (std::size_t block = 0; block < stored_blocks; ++block) {
      const std::size_t size = std::min(plain.size(), kMaxStored);
      writer.put(last && block + 1 == stored_blocks ? 1 : 0, 3);
      writer.align();
      writer.put(size | (~size & 0xFFFF) << 16, 32);
      if (size != 0) std::memcpy(writer.take(size), plain.data(), size);
      plain = plain.subspan(size);
    }
  } else if (fixed_bits <= dynamic_bits) {
    writer.put((last ? 1 : 0) | 1 << 1, 3);
    put_tokens(writer, fixed_codes().literals, fixed_codes().distances);
  } else {
    put_dynamic_start(writer, last);
    put_tokens(writer, literals, distances);
  }
}

Compressor::Compressor() : state_(std::make_unique<State>()) {}
Compressor::~Compressor() = default;
Compressor::Compressor(Compressor&&) noexcept = default;
Compressor& Compressor::operator=(Compressor&&) noexcept = default;

std::size_t Compressor::compress(std::span<const std::byte> in, std::span<std::byte> out, const Effort& effort) noexcept {
  if (out.size() < bound(in.size())) return 0;
  State& s = *state_;
  const int hash_bits = std::clamp(static_cast<int>(std::bit_width(in.size())), 6, kMaxHashBits);
  s.hash_shift = 32 - hash_bits;
  std::fill_n(s.newest.begin(), std::size_t{1} << hash_bits, 0);
  BitWriter writer(out.data());
  s.start_block();
  std::size_t block_start = 0;
  std::size_t at = 0;
  while (at < in.size()) {
    std::uint32_t distance = 0;
    std::uint32_t length = s.search(in, at, kMinMatch - 1, effort, distance);
    if (length == 0) {
      s.literal(in[at++]);
    } else {
      std::size_t filed = at + 1;  // positions below this are in the hash chains
      while (effort.lazy && length < effort.enough && s.token_count + 1 < kBlockTokens) {
        std::uint32_t next_distance = 0;
        const std::uint32_t next_length = s.search(in, at + 1, length, effort, next_distance);
        filed = at + 2;
        if (next_length == 0) break;
        s.literal(in[at++]);
        length = next_length;
        distance = next_distance;
      }
      s.match(length, distance);
      at += length;
      const std::size_t last_filed = std::min(at, in.size() - 3);
      for (; filed < last_filed; ++filed) s.insert(in.data() + filed, filed);
    }
    if (s.token_count == kBlockTokens && at < in.size()) {
      s.put_block(writer, in.subspan(block_start, at - block_start), false);
      s.start_block();
      block_start = at;
    }
  }
  s.put_block(writer, in.subspan(block_start), true);
  writer.align();
  return writer.written();
}

std::size_t Compressor::huffman_block(std::span<const std::byte> in, std::span<std::byte> out) noexcept {
  if (out.size() < huffman_bound(in.size()) || in.empty()) return 0;
  State& s = *state_;
  s.start_block();
  for (const std::byte value : in) ++s.literal_counts[std::to_integer<std::size_t>(value)];
  s.huffman.lengths(s.literal_counts, HuffmanCode::kMaxLimit, s.literals.lengths);
  canonical_codes(s.literals.lengths, s.literals.codes);
  s.distances.lengths.fill(0);
  s.build_header();
  BitWriter writer(out.data());
  s.put_dynamic_start(writer, true);
  // Three codes have at most 45 bits.
  std::size_t at = 0;
  for (; at + 3 <= in.size(); at += 3) {
    std::uint64_t bits = 0;
    unsigned count = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      const auto value = std::to_integer<std::size_t>(in[at + k]);
      bits |= static_cast<std::uint64_t>(s.literals.codes[value]) << count;
      count += s.literals.lengths[value];
    }
    writer.put(bits, count);
  }
  for (; at < in.size(); ++at) s.literals.put(writer, std::to_integer<std::size_t>(in[at]));
  s.literals.put(writer, kEndOfBlock);
  writer.align();
  return writer.written();
}

}  // namespace dpubench::deflate
