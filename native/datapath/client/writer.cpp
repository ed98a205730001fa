#include "datapath/client/writer.hpp"

#include <rte_errno.h>
#include <rte_mbuf_dyn.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "datapath/frame/trailer_write.hpp"
#include "datapath/memory.hpp"

namespace dpubench::datapath {
namespace {

/// Buffers of a pool, enough for those that a port may hold: of the only pool, and of each of several.
constexpr std::uint32_t kPoolPackets = 4096;
constexpr std::uint32_t kSmallPoolPackets = 1536;
/// Bytes of a buffer besides the frame: its header, the room before the frame, and the bytes that rounding adds.
constexpr std::uint32_t kOverhead = 1536;

int held_field() {
  static const rte_mbuf_dynfield field = {"dpubench_template", sizeof(std::uint32_t), alignof(std::uint32_t), 0};
  const int offset = rte_mbuf_dynfield_register(&field);
  if (offset < 0) throw Error(std::string("packet buffers have no room for a field: ") + rte_strerror(rte_errno));
  return offset;
}

void describe(const Shape& shape, rte_mbuf* packet) noexcept {
  packet->data_off = RTE_PKTMBUF_HEADROOM;
  packet->ol_flags = 0;
  packet->pkt_len = shape.length;
  packet->data_len = shape.length;
}

/// Write the template into each buffer of a pool.
void prepare(rte_mempool* pool, const Shape& shape) {
  rte_mempool_obj_iter(
      pool,
      [](rte_mempool* /*pool*/, void* of, void* object, unsigned /*index*/) {
        auto* const packet = static_cast<rte_mbuf*>(object);
        const Shape& held = *static_cast<const Shape*>(of);
        describe(held, packet);
        std::memcpy(static_cast<std::byte*>(packet->buf_addr) + RTE_PKTMBUF_HEADROOM, held.bytes, held.length);
      },
      const_cast<Shape*>(&shape));
}

}  // namespace

Writer::Writer(const Traffic& traffic, bool anew, std::uint32_t memory_mb)
    : traffic_(traffic), changes_(traffic.changes()), anew_(anew), held_(held_field()), cursor_(traffic) {
  static std::atomic<unsigned> serial = 0;
  const std::size_t templates = traffic.templates.size();
  const std::size_t fitting =
      (std::size_t{memory_mb} << 20) / 3 / (kSmallPoolPackets * std::size_t{traffic.max_frame + kOverhead});
  is_prepared_ = !anew && templates <= std::min(kMostPools, fitting);
  const std::size_t pools = is_prepared_ ? templates : 1;
  for (std::size_t i = 0; i < pools; ++i) {
    const std::uint32_t packets = pools == 1 ? kPoolPackets : kSmallPoolPackets;
    const std::string name = "client" + std::to_string(serial++);
    pools_.push_back((anew ? make_pool : make_sending_pool)(name, packets, traffic.max_frame));
    if (is_prepared_) prepare(pools_.back(), traffic.shapes[i]);
  }
}

Writer::~Writer() {
  for (rte_mempool* pool : pools_) {
    if (rte_mempool_full(pool) == 1) rte_mempool_free(pool);
  }
}

void Writer::begin(std::uint32_t trial) {
  trial_ = static_cast<std::uint16_t>(trial);
  number_ = 0;
  cursor_ = Cursor(traffic_);
  caches_.clear();
  for (rte_mempool* pool : pools_) {
    rte_mempool_cache* const own = rte_mempool_default_cache(pool, rte_lcore_id());
    caches_.push_back(own != nullptr ? own : &none_);
  }
}

void Writer::step_back(std::uint32_t n) noexcept {
  number_ -= n;
  cursor_.seek(number_);
}

std::uint32_t Writer::draw(std::uint32_t n, rte_mbuf** packets) noexcept {
  if (rte_mempool_get_bulk(pools_[0], reinterpret_cast<void**>(packets), n) == 0) return n;
  std::uint32_t got = 0;
  while (got < n && rte_mempool_get(pools_[0], reinterpret_cast<void**>(packets + got)) == 0) ++got;
  return got;
}

std::uint32_t Writer::draw_each(std::uint32_t n, const PacketRef* refs, rte_mbuf** packets) noexcept {
  rte_mempool_cache* const* const caches = caches_.data();
  for (std::uint32_t i = 0; i < n; ++i) {
    rte_mempool_cache* const cache = caches[refs[i].index];
    if (cache->len != 0) [[likely]] {
      packets[i] = static_cast<rte_mbuf*>(cache->objs[--cache->len]);
    } else if (rte_mempool_get(pools_[refs[i].index], reinterpret_cast<void**>(packets + i)) != 0) {
      return i;
    }
  }
  return n;
}

template <Patch kPatch, bool kPrepared>
std::uint32_t Writer::fill_as(std::uint32_t n, const std::uint64_t* due_ns, rte_mbuf** packets, std::uint16_t* bytes) noexcept {
  // These are copies: for all that the compiler knows, a write to a packet may change the members.
  const Shape* const shapes = traffic_.shapes.data();
  const std::size_t held_at = static_cast<std::size_t>(held_);
  const bool anew = anew_;
  const PacketRef* const refs = refs_.data();
  cursor_.next(n, due_ns, refs_.data());
  if constexpr (kPatch != Patch::kNone) fields_.compute(traffic_.space, n, refs);
  const std::uint32_t got = pools_.size() > 1 ? draw_each(n, refs, packets) : draw(n, packets);
  Trailer trailer{.trial = trial_, .number = number_};
  for (std::uint32_t i = 0; i < got; ++i) {
    rte_mbuf* const packet = packets[i];
    const std::uint32_t index = refs[i].index;
    const Shape& shape = shapes[index];
    const std::uint32_t length = shape.length;
    auto* const frame = static_cast<std::byte*>(packet->buf_addr) + RTE_PKTMBUF_HEADROOM;
    if constexpr (kPrepared) {
      packet->data_off = RTE_PKTMBUF_HEADROOM;  // drivers may move it to put their own header before the frame
    } else {
      describe(shape, packet);
      auto* const held = reinterpret_cast<std::uint32_t*>(reinterpret_cast<std::byte*>(packet) + held_at);
      if (*held != index + 1 || anew) {
        std::memcpy(frame, shape.bytes, length);
        *held = index + 1;
      }
    }
    if constexpr (kPatch != Patch::kNone) {
      if constexpr (headers::is_version4(kPatch)) {
        headers::write4<kPatch>(shape, fields_[i], refs[i].sequence, frame);
      } else {
        headers::write6<kPatch>(shape, fields_[i], refs[i].sequence, frame);
      }
    }
    trailer.due_ns = due_ns[i];
    trailer.frame = index;
    write_trailer_at(frame + length, length >= kLeastFullFrame, trailer);
    ++trailer.number;
    bytes[i] = static_cast<std::uint16_t>(length + kFcsBytes);
  }
  number_ += n;
  return got;
}

template <bool kPrepared>
std::uint32_t Writer::fill_with(std::uint32_t n, const std::uint64_t* due_ns, rte_mbuf** packets, std::uint16_t* bytes) noexcept {
  switch (changes_) {
    case Patch::kNone:
      return fill_as<Patch::kNone, kPrepared>(n, due_ns, packets, bytes);
    case Patch::kUdp4:
      return fill_as<Patch::kUdp4, kPrepared>(n, due_ns, packets, bytes);
    case Patch::kTcp4:
      return fill_as<Patch::kTcp4, kPrepared>(n, due_ns, packets, bytes);
    case Patch::kUdp6:
      return fill_as<Patch::kUdp6, kPrepared>(n, due_ns, packets, bytes);
    case Patch::kTcp6:
      return fill_as<Patch::kTcp6, kPrepared>(n, due_ns, packets, bytes);
  }
  return 0;
}

std::uint32_t Writer::fill(std::uint32_t n, const std::uint64_t* due_ns, rte_mbuf** packets, std::uint16_t* bytes) noexcept {
  return is_prepared_ ? fill_with<true>(n, due_ns, packets, bytes) : fill_with<false>(n, due_ns, packets, bytes);
}

}  // namespace dpubench::datapath
