#include "operators/footprint.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "base/cache_line.hpp"
#include "operators/buffers.hpp"

namespace dpubench {
namespace {

constexpr std::size_t kStreamFactor = 4;               // times L2: each buffer leaves L2 before the lane comes back to it
constexpr std::size_t kMemoryFactor = 2;               // times L3
constexpr std::size_t kDefaultL2 = 1U << 20;           // if the kernel does not report the size
constexpr std::size_t kDefaultL3 = 32U << 20;          // likewise
constexpr std::size_t kMaxFootprint = 512U << 20;      // per thread
constexpr std::size_t kMaxMemoryFootprint = 1U << 30;  // per thread, footprint memory
constexpr std::uint64_t kAvailableShare = 4;           // footprint memory leaves three quarters of the free memory to others
constexpr std::size_t kDistinctBytes = 4U << 20;       // large messages: fewer differ, since branch predictors do not learn this
                                                       // many bytes
constexpr std::uint32_t kLeastDistinct = 16;
// Footprint memory: the number of cache lines in twice 32 MiB of cache.
constexpr std::uint32_t kMemoryMessages = 1U << 20;

std::string mib(std::size_t bytes) {
  return std::to_string((bytes + (1U << 19)) >> 20) + " MiB";
}

}  // namespace

std::size_t stream_bytes(const protocol::Caches& caches) {
  return kStreamFactor * (caches.l2 == 0 ? kDefaultL2 : caches.l2);
}

std::size_t memory_bytes(const protocol::Caches& caches, unsigned threads) {
  return std::max(stream_bytes(caches), kMemoryFactor * (caches.l3 == 0 ? kDefaultL3 : caches.l3) / threads);
}

std::uint32_t distinct_messages(const Operator& op, const Params& params, const protocol::JobGroup& group,
                                std::uint64_t operations) {
  std::uint64_t wanted = op.info().distinct_items;
  if (op.info().keyed && group.footprint == protocol::Footprint::kMemory) wanted = kMemoryMessages;
  if (params.has("size") && params.number("size") != 0) {
    wanted = std::min(wanted, std::max<std::uint64_t>(kLeastDistinct, kDistinctBytes / params.number("size")));
  }
  if (operations != 0) wanted = std::min(wanted, std::max<std::uint64_t>(operations, kResidentBuffers));
  return static_cast<std::uint32_t>(wanted);
}

std::size_t touched_bytes(const Operator& op, const Params& params, const Item& item) {
  const Operator::Touched touched = op.touched(params, item);
  return whole_lines(touched.in) + whole_lines(touched.aux) + whole_lines(touched.out);
}

RingSize ring_size(const Operator& op, const Work& work, const protocol::JobGroup& group, std::size_t least,
                   std::uint64_t operations, const protocol::Caches& caches, std::uint64_t available) {
  RingSize size{std::max(least, kResidentBuffers), {}};
  if (group.footprint == protocol::Footprint::kResident) return size;
  const bool memory = group.footprint == protocol::Footprint::kMemory;
  const std::size_t wanted_bytes = memory ? memory_bytes(caches, group.threads) : stream_bytes(caches);
  std::size_t touched = 0;
  for (const Item& item : work.items) touched += touched_bytes(op, work.params, item);
  const std::size_t mean = std::max<std::size_t>(kCacheLine, touched / work.items.size());
  // Each message gets a buffer, however small the caches are.
  size.buffers = std::max({size.buffers, work.items.size(), (wanted_bytes + mean - 1) / mean});
  if (operations != 0) {
    const std::uint64_t bursts = (operations + group.burst - 1) / group.burst;
    size.buffers = std::max(std::max(least, kResidentBuffers), std::min<std::size_t>(size.buffers, bursts * group.burst));
  }
  const std::size_t share = memory ? available / kAvailableShare / group.threads : kMaxFootprint;
  const std::size_t most_bytes = std::min(memory ? kMaxMemoryFootprint : kMaxFootprint, share);
  const std::size_t most =
      std::max(std::max<std::size_t>(least, group.burst), BufferSet::count_for(work, most_bytes, group.burst));
  if (size.buffers <= most) return size;
  size.buffers = most;
  const std::size_t level = memory ? caches.l3 : caches.l2;
  size.capped = "footprint " + std::string(memory ? "memory" : "stream") + " needs " + mib(wanted_bytes) +
                " of cache lines per thread, but its messages may take only " + mib(most_bytes) + " of memory: it fills " +
                mib(most * mean) + " per thread, and " + (memory ? "L3" : "L2") + " holds " +
                (level == 0 ? "an unknown amount" : mib(level));
  return size;
}

Extent extent(const Operator& op, const Work& work, std::size_t buffers) {
  Extent found;
  found.distinct_messages = std::min(work.items.size(), buffers);
  std::unordered_set<std::string_view> keys;
  for (std::size_t i = 0; i < found.distinct_messages; ++i) {
    const Item& item = work.items[i];
    const std::size_t copies = buffers / work.items.size() + (i < buffers % work.items.size() ? 1 : 0);
    found.touched_bytes += copies * touched_bytes(op, work.params, item);
    const auto key = op.key(work.params, item);
    if (!key.empty()) keys.emplace(reinterpret_cast<const char*>(key.data()), key.size());
  }
  if (!keys.empty()) found.distinct_keys = keys.size();
  return found;
}

}  // namespace dpubench
