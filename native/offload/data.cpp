#include "offload/data.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

namespace dpubench::offload {
namespace {

constexpr std::size_t kChunk = 16384;
constexpr std::byte kMark{0x5C};
using Chunk = std::array<std::byte, kChunk>;

/// The finalizer of SplitMix64 (Steele, Lea, Flood, 2014).
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

/// Call `use(place, bytes)` for each chunk of `bytes`.
template <class Use>
void by_chunks(std::uint64_t bytes, const Use& use) {
  for (std::uint64_t place = 0; place < bytes; place += kChunk) {
    use(place, static_cast<std::size_t>(std::min<std::uint64_t>(kChunk, bytes - place)));
  }
}

std::uint64_t total_of(const std::vector<Delivery>& deliveries) {
  std::uint64_t total = 0;
  for (const Delivery& delivery : deliveries) total += delivery.bytes;
  return total;
}

std::string in_words(std::uint64_t place, std::byte expected, std::byte found) {
  std::array<char, 128> text{};
  (void)std::snprintf(text.data(), text.size(), "byte %llu of the output is 0x%02x, not 0x%02x",
                      static_cast<unsigned long long>(place), std::to_integer<unsigned>(found),
                      std::to_integer<unsigned>(expected));
  return text.data();
}

void compare(const std::byte* expected, const std::byte* found, std::size_t bytes, std::uint64_t place, Checked& checked) {
  if (std::memcmp(expected, found, bytes) == 0) {
    checked.right += bytes;
    return;
  }
  for (std::size_t i = 0; i < bytes; ++i) {
    if (expected[i] == found[i]) {
      ++checked.right;
    } else if (checked.wrong++ == 0) {
      checked.first = in_words(place + i, expected[i], found[i]);
    }
  }
}

}  // namespace

void Data::write(std::size_t host, std::uint64_t place, std::byte* into, std::size_t bytes) const {
  const std::uint64_t stream = mix(seed_ + mix(host + 1));
  // Add the epoch to each of eight bytes at once, without carries from one to the next.
  const std::uint64_t added = (epoch_ & 0xFFU) * 0x0101010101010101U;
  constexpr std::uint64_t kLow = 0x7F7F7F7F7F7F7F7FU;
  std::size_t done = 0;
  while (done < bytes) {
    const std::uint64_t at = place + done;
    const std::uint64_t raw = mix(stream + at / 8 * 0x9E3779B97F4A7C15U);
    const std::uint64_t word = ((raw & kLow) + (added & kLow)) ^ ((raw ^ added) & ~kLow);
    const std::size_t skip = at % 8;
    const std::size_t part = std::min<std::size_t>(8 - skip, bytes - done);
    std::memcpy(into + done, reinterpret_cast<const std::byte*>(&word) + skip, part);
    done += part;
  }
}

void Data::write(const Delivery& delivery, std::uint64_t place, std::byte* into, std::size_t bytes) const {
  if (!delivery.sum) return write(delivery.source, delivery.input + place, into, bytes);
  std::fill_n(into, bytes, std::byte{0});
  Chunk one;
  for (std::size_t h = 0; h < hosts_; ++h) {
    by_chunks(bytes, [&](std::uint64_t at, std::size_t part) {
      write(h, delivery.input + place + at, one.data(), part);
      for (std::size_t i = 0; i < part; ++i) {
        into[at + i] = static_cast<std::byte>(std::to_integer<unsigned>(into[at + i]) + std::to_integer<unsigned>(one[i]));
      }
    });
  }
}

void poison(const Data& data, const std::vector<Delivery>& deliveries, std::byte* output, std::uint64_t used) {
  Chunk chunk;
  for (const Delivery& delivery : deliveries) {
    by_chunks(delivery.bytes, [&](std::uint64_t place, std::size_t bytes) {
      data.write(delivery, place, chunk.data(), bytes);
      std::transform(chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(bytes), output + delivery.output + place,
                     [](std::byte b) { return ~b; });
    });
  }
  std::fill(output + total_of(deliveries), output + used + Layout::kGuard, kMark);
}

Checked check(const Data& data, const std::vector<Delivery>& deliveries, const std::byte* output, std::uint64_t used) {
  Checked checked;
  Chunk chunk;
  for (const Delivery& delivery : deliveries) {
    by_chunks(delivery.bytes, [&](std::uint64_t place, std::size_t bytes) {
      data.write(delivery, place, chunk.data(), bytes);
      compare(chunk.data(), output + delivery.output + place, bytes, delivery.output + place, checked);
    });
  }
  const std::uint64_t right = checked.right;
  chunk.fill(kMark);
  const std::uint64_t begin = total_of(deliveries);
  by_chunks(used + Layout::kGuard - begin, [&](std::uint64_t place, std::size_t bytes) {
    compare(chunk.data(), output + begin + place, bytes, begin + place, checked);
  });
  checked.right = right;  // marks are no data
  return checked;
}

void add_bytes(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  auto* const sum = reinterpret_cast<unsigned char*>(to);
  const auto* const other = reinterpret_cast<const unsigned char*>(from);
  for (std::size_t i = 0; i < bytes; ++i) sum[i] = static_cast<unsigned char>(sum[i] + other[i]);
}

}  // namespace dpubench::offload
