// Shared resources that are booked ahead of time. Requests do not arrive in the order of their times.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace dpubench::cores {

using Cycle = std::uint64_t;

/// The cycle that the chip has reached. Nobody asks a resource for an earlier time.
struct Now {
  Cycle cycle = 0;
};

/// A number of places that are each taken for a stretch of time: miss registers (one per line on its way), a bank (one place).
class Places {
 public:
  Places(std::size_t places, const Now& now) : places_(places), now_(&now) {}

  /// Return the first cycle from `at` on in which a place is free.
  [[nodiscard]] Cycle first_free(Cycle at) {
    std::erase_if(taken_, [this](const Stretch& s) { return s.end <= now_->cycle; });
    return taken_.size() < places_ ? at : free_from(at);
  }
  /// Return the first cycle from `at` on from which a place is free for `cycles`.
  [[nodiscard]] Cycle first_gap(Cycle at, Cycle cycles) {
    at = first_free(at);
    for (;;) {
      at = free_from(at);
      // A stretch that begins within the gap takes a place that is free at its beginning, unless that is the last free place.
      Cycle again = 0;
      for (const Stretch& s : taken_) {
        if (s.begin > at && s.begin < at + cycles && free_from(s.begin) != s.begin) again = std::max(again, s.begin + 1);
      }
      if (again == 0) return at;
      at = again;
    }
  }
  void take(Cycle begin, Cycle end) { taken_.push_back({begin, end}); }

 private:
  struct Stretch {
    Cycle begin;
    Cycle end;
  };
  [[nodiscard]] Cycle free_from(Cycle at) const {
    for (;;) {
      std::size_t busy = 0;
      Cycle first_end = ~Cycle{0};
      for (const Stretch& s : taken_) {
        if (s.begin > at || s.end <= at) continue;
        ++busy;
        first_end = std::min(first_end, s.end);
      }
      if (busy < places_) return at;
      at = first_end;
    }
  }

  std::size_t places_;
  const Now* now_;
  std::vector<Stretch> taken_;
};

/// A limit on the bytes per cycle that pass a point: the bus to memory, the port of a cache. Bytes are booked in buckets of
/// several cycles, so that a booking for a later time does not delay a request for an earlier time.
class Pipe {
 public:
  /// @param bytes_per_cycle  0: no limit
  Pipe(double bytes_per_cycle, const Now& now)
      : per_cycle_(static_cast<std::uint64_t>(std::llround(bytes_per_cycle * kScale))), now_(&now) {
    if (per_cycle_ != 0) ring_.resize(kBuckets);
  }

  /// Book `bytes` from cycle `at` on. @returns the extra cycles compared with an idle pipe
  Cycle take(Cycle at, std::uint64_t bytes) {
    if (per_cycle_ == 0) return 0;
    const std::uint64_t units = bytes * kScale;
    const std::uint64_t capacity = per_cycle_ * kBucketCycles;
    const Cycle idle_end = at + (units + per_cycle_ - 1) / per_cycle_;
    std::uint64_t number = at / kBucketCycles;
    for (std::uint64_t left = units;; ++number) {
      // The ring ends here. Nothing is booked farther ahead.
      if (number >= now_->cycle / kBucketCycles + kBuckets)
        return number * kBucketCycles - std::min(number * kBucketCycles, idle_end);
      Bucket& bucket = ring_[number % kBuckets];
      if (bucket.number != number) bucket = {number, 0};
      const std::uint64_t part = std::min(left, capacity - bucket.used);
      bucket.used += part;
      left -= part;
      if (left != 0) continue;
      const Cycle end = number * kBucketCycles + (bucket.used + per_cycle_ - 1) / per_cycle_;
      return end > idle_end ? end - idle_end : 0;
    }
  }

 private:
  static constexpr std::uint64_t kScale = 1U << 16;
  static constexpr std::uint64_t kBucketCycles = 16;
  static constexpr std::uint64_t kBuckets = 1U << 14;
  struct Bucket {
    std::uint64_t number = ~std::uint64_t{0};
    std::uint64_t used = 0;
  };
  std::uint64_t per_cycle_;
  const Now* now_;
  std::vector<Bucket> ring_;
};

}  // namespace dpubench::cores
