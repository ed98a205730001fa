#include "datapath/frame/trailer.hpp"

#include <bit>
#include <cstring>

#include "datapath/frame/crc32c.hpp"
#include "datapath/frame/trailer_write.hpp"

namespace dpubench::datapath {
namespace {

static_assert(std::endian::native == std::endian::little, "fields of the trailer are little-endian and copied as they are");

constexpr std::uint32_t kChecksumBytes = 4;
constexpr unsigned kNumberBits = 48;
constexpr unsigned kCompactNumberBits = 40;

constexpr std::uint64_t low_bits(std::uint64_t value, unsigned bits) {
  return value & ((std::uint64_t{1} << bits) - 1);
}

bool checksum_right(const std::byte* trailer, std::uint32_t covered) {
  std::uint32_t crc;
  std::memcpy(&crc, trailer + covered, kChecksumBytes);
  return crc == crc32c({trailer, covered});
}

}  // namespace

void write_trailer(std::span<std::byte> frame, const Trailer& trailer) noexcept {
  write_trailer_at(frame.data() + frame.size(), frame.size() >= kLeastFullFrame, trailer);
}

std::optional<Trailer> read_trailer(std::span<const std::byte> frame) noexcept {
  const auto bytes = trailer_bytes(static_cast<std::uint32_t>(frame.size()));
  if (frame.size() < bytes) return std::nullopt;
  const std::byte* const at = frame.data() + frame.size() - bytes;
  if (!checksum_right(at, bytes - kChecksumBytes)) return std::nullopt;
  Trailer t;
  std::uint64_t sequence = 0;
  if (bytes == kTrailerBytes) {
    std::memcpy(&sequence, at, 8);
    std::memcpy(&t.due_ns, at + 8, 8);
    std::memcpy(&t.frame, at + 16, 4);
    t.trial = static_cast<std::uint16_t>(sequence >> kNumberBits);
    t.number = low_bits(sequence, kNumberBits);
  } else {
    std::memcpy(&sequence, at, 6);
    std::memcpy(&t.due_ns, at + 6, 5);
    std::memcpy(&t.frame, at + 11, 3);
    t.trial = static_cast<std::uint16_t>(sequence >> kCompactNumberBits);
    t.number = low_bits(sequence, kCompactNumberBits);
  }
  return t;
}

}  // namespace dpubench::datapath
