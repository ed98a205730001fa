// A thread's operations on a queue pair of DPDK's compressdev.
#pragma once

#include <rte_comp.h>
#include <rte_compressdev.h>
#include <rte_errno.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "operators/deflate/compressdev_device.hpp"
#include "operators/engine.hpp"
#include "operators/support/codecs/codec.hpp"
#include "operators/support/dpdk/device.hpp"

namespace dpubench::compressdev {

/// The most bytes of an mbuf: its length fields have 16 bits.
inline constexpr std::uint32_t kSegment = std::numeric_limits<std::uint16_t>::max();
/// The longest message whose output buffer is a single mbuf, although the message has more room. Data that does not shrink is
/// stored, and the overhead of 65 stored blocks fits in the rest of the mbuf.
inline constexpr std::uint32_t kLinearInput = 65000;
inline constexpr std::uint32_t kMostSegments = 8192;  ///< mbufs of all operations of a lane, unless this allows fewer than
                                                      ///< kLeastJobs operations
inline constexpr std::uint32_t kLeastJobs = 256;

inline std::uint32_t segments_of(std::size_t bytes) {
  return std::max<std::uint32_t>(1, static_cast<std::uint32_t>((bytes + kSegment - 1) / kSegment));
}

/// The number of mbufs and operations that the messages of a work need.
struct Shape {
  std::uint32_t in_segments = 1;
  std::uint32_t out_segments = 1;
  std::uint32_t tail_bytes = 0;  ///< bytes that follow each input and belong to no stream
  [[nodiscard]] std::uint32_t segments() const { return in_segments + out_segments; }
  [[nodiscard]] std::uint32_t jobs(std::uint32_t most) const {
    return std::min(most, std::max(kLeastJobs, kMostSegments / segments()));
  }
};

inline Shape shape_of(const Work& work) {
  std::size_t most_in = 0;
  std::size_t most_out = 0;
  for (const Item& item : work.items) {
    most_in = std::max(most_in, item.in.size());
    most_out = std::max<std::size_t>(most_out, item.out_room);
  }
  const bool linear = CodecOperator::packs(work.params) && most_in <= kLinearInput;
  return {segments_of(most_in), linear ? 1 : segments_of(most_out)};
}

/// Return the bytes of a tail that no stream outlasts, given the room of its output; see CompressQueue::make_tail.
constexpr std::uint32_t tail_for(std::uint32_t room) {
  return 2 * room + 64;
}

struct FreePool {
  void operator()(rte_mempool* pool) const { rte_mempool_free(pool); }
};
using Pool = std::unique_ptr<rte_mempool, FreePool>;
struct FreeMemory {
  void operator()(std::byte* memory) const { rte_free(memory); }
};

/// The operations of a lane. Each operation has its own mbufs, and these point at the lane's buffers: nothing is copied.
class CompressQueue {
 public:
  using Op = rte_comp_op;

  CompressQueue(const Provider& provider, dpdk::Ordinals& ordinals, const rte_comp_xform& transform, Shape shape)
      : lease_(ordinals), shape_(shape) {
    std::tie(owner_, queue_pair_) = provider.device(lease_.number());
    device_ = owner_->id;
    static std::atomic<unsigned> serial{0};
    const std::string number = std::to_string(serial++);
    const std::uint32_t jobs = shape.jobs(dpdk::kQueueJobs);
    const int socket = rte_compressdev_socket_id(device_);
    const std::uint32_t tail_segments = shape.tail_bytes == 0 ? 0 : 1 + segments_of(shape.tail_bytes);
    mbufs_.reset(
        rte_pktmbuf_pool_create(("dpu-comp-mbuf" + number).c_str(), jobs * shape.segments() + tail_segments, 0, 0, 0, socket));
    dpdk::require(mbufs_ != nullptr, "rte_pktmbuf_pool_create");
    pool_.reset(rte_comp_op_pool_create(("dpu-comp-op" + number).c_str(), jobs, 0, sizeof(Own), socket));
    dpdk::require(pool_ != nullptr, "rte_comp_op_pool_create");
    const int failed = rte_compressdev_private_xform_create(device_, &transform, &transform_);
    if (failed < 0) {
      throw Error("DPDK: " + owner_->name + ": rte_compressdev_private_xform_create: " + rte_strerror(-failed));
    }
    foreign_.free_cb = [](void*, void*) {};
    rte_mbuf_ext_refcnt_set(&foreign_, 1);
    segments_.resize(std::size_t{jobs} * shape.segments() + tail_segments);
    // Take all mbufs of the pool: their number is exact.
    dpdk::require(rte_pktmbuf_alloc_bulk(mbufs_.get(), segments_.data(), static_cast<unsigned>(segments_.size())) == 0,
                  "rte_pktmbuf_alloc_bulk");
    for (rte_mbuf* const mbuf : segments_) {
      mbuf->ol_flags |= RTE_MBUF_F_EXTERNAL;
      mbuf->shinfo = &foreign_;
      mbuf->data_off = 0;
    }
    padding_.reset(static_cast<std::byte*>(rte_malloc_socket(nullptr, kSegment + 1, 0, socket)));
    dpdk::require(padding_ != nullptr, "rte_malloc_socket");
    std::fill_n(padding_.get(), kSegment + 1, std::byte{0xFF});
    if (tail_segments != 0) make_tail(segments_.data() + std::size_t{jobs} * shape.segments());
    operations_.resize(jobs);
    for (std::uint32_t at = 0; at < jobs;) {  // the count of a call has 16 bits
      const auto n = static_cast<std::uint16_t>(std::min<std::uint32_t>(jobs - at, 512));
      dpdk::require(rte_comp_op_bulk_alloc(pool_.get(), operations_.data() + at, n) == n, "rte_comp_op_bulk_alloc");
      at += n;
    }
    for (std::uint32_t i = 0; i < jobs; ++i) {
      Op* const op = operations_[i];
      op->op_type = RTE_COMP_OP_STATELESS;
      op->private_xform = transform_;
      op->flush_flag = RTE_COMP_FLUSH_FINAL;
      own(op).segments = segments_.data() + std::size_t{i} * shape.segments();
      op->m_src = own(op).segments[0];
      op->m_dst = own(op).segments[shape.segments() - shape.out_segments];
    }
  }
  CompressQueue(const CompressQueue&) = delete;
  CompressQueue& operator=(const CompressQueue&) = delete;
  ~CompressQueue() {
    if (transform_ != nullptr) rte_compressdev_private_xform_free(device_, transform_);
  }

  [[nodiscard]] std::span<Op* const> operations() const { return operations_; }
  static dpdk::Tag& tag(Op* op) noexcept { return own(op).tag; }
  [[nodiscard]] dpdk::Turn& turn() noexcept { return owner_->turns[queue_pair_]; }

  void fill(Op* op, const Burst& b, std::uint32_t i) noexcept {
    rte_mbuf** const in = own(op).segments;
    rte_mbuf** const out = in + (shape_.segments() - shape_.out_segments);
    const std::uint32_t length = b.in_len[i];
    if (length == 0) [[unlikely]] {
      // No driver gets an empty input. One byte of ones is no valid stream either: it is a block of the reserved type (RFC 1951,
      // section 3.2.3).
      lay(in, 1, padding_.get(), 1);
    } else {
      rte_mbuf* const last = lay(in, shape_.in_segments, b.in[i], length);
      if (tail_ != nullptr) {
        last->next = tail_;
        in[0]->nb_segs = static_cast<std::uint16_t>(in[0]->nb_segs + tail_->nb_segs);
        in[0]->pkt_len += tail_->pkt_len;
      }
    }
    op->src.length = in[0]->pkt_len;
    lay(out, shape_.out_segments, b.out[i], b.out_room[i]);
    op->status = RTE_COMP_OP_STATUS_NOT_PROCESSED;
    op->consumed = 0;  // the zlib driver adds to consumed and produced
    op->produced = 0;
  }

  std::uint16_t enqueue(Op** ops, std::uint16_t n) noexcept {
    return rte_compressdev_enqueue_burst(device_, queue_pair_, ops, n);
  }
  std::uint16_t dequeue(Op** ops, std::uint16_t n) noexcept {
    return rte_compressdev_dequeue_burst(device_, queue_pair_, ops, n);
  }

  static bool refused(const Op* op) noexcept { return op->status != RTE_COMP_OP_STATUS_NOT_PROCESSED; }

  bool complete(Op* op, Burst& b, std::uint32_t i) noexcept {
    // A stream that ends early consumes a part of the tail, too.
    const bool whole = op->status == RTE_COMP_OP_STATUS_SUCCESS && op->consumed == b.in_len[i] && b.in_len[i] != 0;
    b.out_len[i] = op->produced;
    b.status[i] = whole ? kStatusOk : kStatusRejected;
    return true;
  }

  void attach(std::span<std::byte> memory) {
    if (!owner_->is_hardware) return;
    if (rte_device* const pci = dpdk::pci_device_of(owner_->name)) mapping_ = dpdk::Mapping(*pci, memory);
  }

 private:
  /// Data behind each operation.
  struct Own {
    dpdk::Tag tag;
    rte_mbuf** segments;  ///< mbufs of the input, then of the output
  };
  static Own& own(Op* op) noexcept { return *reinterpret_cast<Own*>(op + 1); }

  /// Build the tail that follows every input. All operations share it, since nobody writes to it. It consists of ones, because no
  /// decoder runs for long on them. At the beginning of a block, ones are an error. In a stored block or as codes they give
  /// output, at least a byte for 15 bits, until the room is full. As code lengths they are invalid. The tail must not end
  /// earlier: the isal driver (DPDK 22.11) never returns from a chain that ends within a stored block. The first byte has its own
  /// mbuf, because that driver counts only whole mbufs as consumed.
  void make_tail(rte_mbuf** segments) {
    tail_ = segments[0];
    point(tail_, padding_.get(), 1);
    rte_mbuf* last = tail_;
    tail_->nb_segs = 1;
    tail_->pkt_len = 1 + shape_.tail_bytes;
    for (std::uint32_t at = 0; at < shape_.tail_bytes; at += kSegment) {
      rte_mbuf* const mbuf = segments[tail_->nb_segs++];
      point(mbuf, padding_.get(), std::min(shape_.tail_bytes - at, kSegment));
      last->next = mbuf;
      last = mbuf;
    }
  }

  static void point(rte_mbuf* mbuf, const std::byte* data, std::uint32_t length) noexcept {
    mbuf->buf_addr = const_cast<std::byte*>(data);  // drivers write only to outputs
    rte_mbuf_iova_set(mbuf, reinterpret_cast<rte_iova_t>(data));
    mbuf->buf_len = static_cast<std::uint16_t>(length);
    mbuf->data_len = static_cast<std::uint16_t>(length);
    mbuf->next = nullptr;
  }
  /// Make the first of `segments` a packet of `length` bytes, of at most `most` mbufs; drop the bytes that do not fit. All mbufs
  /// of a chain have about the same length, and none is shorter than the one before it. Otherwise the isal driver (DPDK 22.11)
  /// stops compressing at the last mbuf but one: this happens if an output mbuf fills up while the rest of the input is shorter
  /// than the current mbuf. @returns its last mbuf
  static rte_mbuf* lay(rte_mbuf** segments, std::uint32_t most, const std::byte* data, std::uint32_t length) noexcept {
    rte_mbuf* const first = segments[0];
    if (most == 1 || length <= kSegment) {
      point(first, data, std::min(length, kSegment));
      first->pkt_len = first->data_len;
      first->nb_segs = 1;
      return first;
    }
    const std::uint32_t count = segments_of(length);
    const std::uint32_t each = length / count;
    const std::uint32_t shorter = count - length % count;  // mbufs of `each` bytes; the others have one byte more
    rte_mbuf* last = nullptr;
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t bytes = i < shorter ? each : each + 1;
      point(segments[i], data, bytes);
      if (last != nullptr) last->next = segments[i];
      last = segments[i];
      data += bytes;
    }
    first->pkt_len = length;
    first->nb_segs = static_cast<std::uint16_t>(count);
    return last;
  }

  dpdk::Ordinals::Lease lease_;
  Device* owner_ = nullptr;
  std::uint8_t device_ = 0;
  std::uint16_t queue_pair_ = 0;
  Shape shape_;
  Pool mbufs_;
  Pool pool_;
  void* transform_ = nullptr;
  rte_mbuf_ext_shared_info foreign_{};
  std::unique_ptr<std::byte, FreeMemory> padding_;  ///< all ones
  rte_mbuf* tail_ = nullptr;
  std::vector<rte_mbuf*> segments_;
  std::vector<Op*> operations_;
  dpdk::Mapping mapping_;
};

}  // namespace dpubench::compressdev
