#include "datapath/client/segmentation.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "base/error.hpp"

namespace dpubench::datapath {
namespace {

/// The number of segments of a kind in a message: `least`, or one more in a part of the messages.
struct Count {
  std::uint32_t least = 0;
  double part = 0;  ///< share of the messages that have one more
  [[nodiscard]] std::uint32_t most() const { return least + (part > 0 ? 1 : 0); }
};

Count count_of(double share, std::uint32_t segments) {
  // Shares are decimal fractions. A result that misses a whole number only by rounding is meant to be that number.
  constexpr double kRounding = 1e-9;
  const double exact = share * segments;
  const double whole = std::floor(exact + kRounding);
  return {static_cast<std::uint32_t>(whole), exact - whole < kRounding ? 0 : exact - whole};
}

/// Return 0, then the numbers 1 ... n - 1 in random order.
std::vector<std::uint32_t> shuffled_behind_first(std::uint32_t n, inputs::Random& random) {
  std::vector<std::uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0U);
  for (std::size_t i = order.size() - 1; i > 1; --i) std::swap(order[i], order[1 + random.below(i)]);
  if (order.size() > 2 && std::is_sorted(order.begin(), order.end())) std::swap(order[1], order[2]);
  return order;
}

/// Return a random choice of `k` of 0 ... n - 1.
std::vector<bool> choose(std::uint32_t k, std::uint32_t n, inputs::Random& random) {
  std::vector<bool> chosen(n);
  for (std::uint32_t left = n; left > 0; --left) {
    const bool take = random.below(left) < k;
    chosen[left - 1] = take;
    k -= take ? 1 : 0;
  }
  return chosen;
}

}  // namespace

std::vector<SegmentKind> segment_kinds(const TrafficSpec& spec) {
  const Count again = count_of(spec.retransmit_share, spec.segments);
  const Count overlapping = count_of(spec.overlap_share, spec.segments);
  const auto refuse = [&spec](const char* field, std::uint32_t most, const char* what) {
    throw Error("traffic/" + std::string(field) + ": of " + std::to_string(spec.segments) + " segments of a message, up to " +
                std::to_string(most) + what + "; raise segments or lower the share");
  };
  if (2 * again.most() > spec.segments)
    refuse("retransmit_share", again.most(), " would repeat another one, each a different one");
  const std::uint32_t most = again.most() + overlapping.most();
  if (overlapping.most() > 0 && most >= spec.segments) {
    refuse("overlap_share", most, " would repeat or overlap another one, and the first one can do neither");
  }
  std::vector<SegmentKind> kinds;
  for (const bool one_more : {false, true}) {
    for (const bool one_more_overlaps : {false, true}) {
      const double share =
          (one_more ? again.part : 1 - again.part) * (one_more_overlaps ? overlapping.part : 1 - overlapping.part);
      if (share <= 0) continue;
      kinds.push_back({again.least + (one_more ? 1 : 0), overlapping.least + (one_more_overlaps ? 1 : 0), share});
    }
  }
  return kinds;
}

Segmentation draw_segmentation(std::uint32_t segments, std::uint32_t bytes, const SegmentKind& kind, inputs::Random& random) {
  Segmentation cut;
  const std::uint32_t distinct = segments - kind.retransmitted;
  std::vector<std::uint32_t> begin(distinct);
  const std::vector<bool> overlaps = choose(kind.overlapping, distinct - 1, random);
  for (std::uint32_t i = 1; i < distinct; ++i) {
    cut.borders.push_back(begin[i - 1] + bytes);
    // A segment has at least one byte of its own.
    const std::uint64_t shared = overlaps[i - 1] && bytes > 1 ? 1 + random.below(bytes - 1) : 0;
    begin[i] = begin[i - 1] + bytes - static_cast<std::uint32_t>(shared);
  }
  cut.message_bytes = begin.back() + bytes;
  for (const std::uint32_t segment : shuffled_behind_first(distinct, random)) cut.at.push_back(begin[segment]);
  const std::vector<bool> again = choose(kind.retransmitted, distinct, random);
  for (std::uint32_t i = 0; i < distinct; ++i) {
    if (!again[i]) continue;
    const auto sent = std::find(cut.at.begin(), cut.at.end(), begin[i]);
    const auto later = static_cast<std::ptrdiff_t>(1 + random.below(static_cast<std::uint64_t>(cut.at.end() - sent)));
    cut.at.insert(sent + later, begin[i]);
  }
  return cut;
}

}  // namespace dpubench::datapath
