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

/// Buffers that a port may hold on to.
constexpr std::uint32_t kPoolPackets = 4096;

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

}  // namespace

Writer::Writer(const Traffic& traffic, bool anew)
    : traffic_(traffic), changes_(traffic.changes()), anew_(anew), held_(held_field()), cursor_(traffic) {
  static std::atomic<unsigned> serial = 0;
  const std::size_t templates = traffic.templates.size();
  is_sorted_ = !anew && templates <= kMostSorted;
  if (is_sorted_) shelves_.resize(templates);
  const auto packets = static_cast<std::uint32_t>(kPoolPackets + shelves_.size() * Shelf::kMost);
  pool_ = make_pool("client" + std::to_string(serial++), packets, traffic.max_frame);
}

Writer::~Writer() {
  for (Shelf& shelf : shelves_) rte_pktmbuf_free_bulk(shelf.packets.data(), shelf.count);
  if (rte_mempool_full(pool_) == 1) rte_mempool_free(pool_);
}

void Writer::begin(std::uint32_t trial) {
  trial_ = static_cast<std::uint16_t>(trial);
  number_ = 0;
  cursor_ = Cursor(traffic_);
  rte_mempool_cache* const own = rte_mempool_default_cache(pool_, rte_lcore_id());
  cache_ = own != nullptr ? own : &none_;
}

void Writer::step_back(std::uint32_t n) noexcept {
  number_ -= n;
  cursor_.seek(number_);
}

std::uint32_t& Writer::held(rte_mbuf* packet) const noexcept {
  return *reinterpret_cast<std::uint32_t*>(reinterpret_cast<std::byte*>(packet) + held_);
}

void Writer::write(std::uint32_t index, rte_mbuf* packet) const noexcept {
  const Shape& shape = traffic_.shapes[index];
  describe(shape, packet);
  std::memcpy(static_cast<std::byte*>(packet->buf_addr) + RTE_PKTMBUF_HEADROOM, shape.bytes, shape.length);
  held(packet) = index + 1;
}

std::uint32_t Writer::draw(std::uint32_t n, rte_mbuf** packets) noexcept {
  if (rte_mempool_get_bulk(pool_, reinterpret_cast<void**>(packets), n) == 0) return n;
  std::uint32_t got = 0;
  while (got < n && rte_mempool_get(pool_, reinterpret_cast<void**>(packets + got)) == 0) ++got;
  return got;
}

/// Puts what came back to this thread onto the shelves, the last that came on top: it is the likeliest to lie in a cache.
void Writer::sort() noexcept {
  rte_mempool_cache* const cache = cache_;
  std::uint32_t left = cache->len;
  for (; left != 0; --left) {
    auto* const packet = static_cast<rte_mbuf*>(cache->objs[left - 1]);
    const std::uint32_t index = held(packet);
    if (index == 0) break;
    Shelf& shelf = shelves_[index - 1];
    if (shelf.count == Shelf::kMost) break;
    shelf.packets[shelf.count++] = packet;
  }
  cache->len = left;
}

std::uint32_t Writer::draw_sorted(std::uint32_t n, const PacketRef* refs, rte_mbuf** packets) noexcept {
  if (shelves_.size() == 1) {
    const std::uint32_t got = draw(n, packets);
    for (std::uint32_t i = 0; i < got; ++i) {
      if (held(packets[i]) != 1) [[unlikely]]
        write(0, packets[i]);
    }
    return got;
  }
  sort();
  Shelf* const shelves = shelves_.data();
  for (std::uint32_t i = 0; i < n; ++i) {
    Shelf& shelf = shelves[refs[i].index];
    if (shelf.count != 0) [[likely]] {
      packets[i] = shelf.packets[--shelf.count];
      continue;
    }
    if (rte_mempool_get(pool_, reinterpret_cast<void**>(packets + i)) != 0) {
      const auto other = std::find_if(shelves_.begin(), shelves_.end(), [](const Shelf& any) { return any.count != 0; });
      if (other == shelves_.end()) return i;
      packets[i] = other->packets[--other->count];
    }
    if (held(packets[i]) != refs[i].index + 1) write(refs[i].index, packets[i]);
  }
  return n;
}

template <Patch kPatch, bool kSorted>
std::uint32_t Writer::fill_as(std::uint32_t n, const std::uint64_t* due_ns, rte_mbuf** packets, std::uint16_t* bytes) noexcept {
  // Copies: what is written to packets might be these members, for all that the compiler knows.
  const Shape* const shapes = traffic_.shapes.data();
  const bool anew = anew_;
  const PacketRef* const refs = refs_.data();
  cursor_.next(n, due_ns, refs_.data());
  if constexpr (kPatch != Patch::kNone) fields_.compute(traffic_.space, n, refs);
  const std::uint32_t got = kSorted ? draw_sorted(n, refs, packets) : draw(n, packets);
  Trailer trailer{.trial = trial_, .number = number_};
  for (std::uint32_t i = 0; i < got; ++i) {
    rte_mbuf* const packet = packets[i];
    const std::uint32_t index = refs[i].index;
    const Shape& shape = shapes[index];
    const std::uint32_t length = shape.length;
    auto* const frame = static_cast<std::byte*>(packet->buf_addr) + RTE_PKTMBUF_HEADROOM;
    if constexpr (kSorted) {
      packet->data_off = RTE_PKTMBUF_HEADROOM;  // drivers may move it to put a header of theirs before the frame
    } else if (held(packet) != index + 1 || anew) {
      write(index, packet);
    } else {
      describe(shape, packet);
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

template <bool kSorted>
std::uint32_t Writer::fill_with(std::uint32_t n, const std::uint64_t* due_ns, rte_mbuf** packets, std::uint16_t* bytes) noexcept {
  switch (changes_) {
    case Patch::kNone:
      return fill_as<Patch::kNone, kSorted>(n, due_ns, packets, bytes);
    case Patch::kUdp4:
      return fill_as<Patch::kUdp4, kSorted>(n, due_ns, packets, bytes);
    case Patch::kTcp4:
      return fill_as<Patch::kTcp4, kSorted>(n, due_ns, packets, bytes);
    case Patch::kUdp6:
      return fill_as<Patch::kUdp6, kSorted>(n, due_ns, packets, bytes);
    case Patch::kTcp6:
      return fill_as<Patch::kTcp6, kSorted>(n, due_ns, packets, bytes);
  }
  return 0;
}

std::uint32_t Writer::fill(std::uint32_t n, const std::uint64_t* due_ns, rte_mbuf** packets, std::uint16_t* bytes) noexcept {
  return is_sorted_ ? fill_with<true>(n, due_ns, packets, bytes) : fill_with<false>(n, due_ns, packets, bytes);
}

}  // namespace dpubench::datapath
