// Symmetric operations of DPDK's cryptodev on the caller's buffers.
#pragma once

#include <rte_crypto.h>
#include <rte_cryptodev.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "operators/support/dpdk/cryptodev_device.hpp"
#include "operators/support/dpdk/cryptodev_queue_pair.hpp"
#include "operators/support/dpdk/mbuf.hpp"

namespace dpubench::cryptodev {

/// The most bytes of one mbuf, whose length has 16 bits, and the bytes of each mbuf of a longer message.
inline constexpr std::uint32_t kMostSegment = 65535;
inline constexpr std::uint32_t kSegment = 32768;
/// The longest piece of a message whose pieces are separate operations: whole blocks.
inline constexpr std::uint32_t kPiece = 65520;
inline constexpr std::size_t kBlockBytes = 16;
inline constexpr std::uint32_t kTagBytes = 16;

enum class Kind : std::uint8_t {
  kHash,         ///< digest of `in` to `out`
  kCounter,      ///< `aux`: the first counter block
  kChain,        ///< CBC in blocks of 16 bytes; `aux`: the IV
  kShortChain,   ///< CBC in blocks of 8 bytes; `aux`: the IV
  kWhole,        ///< a cipher whose messages cannot be cut (XTS); `aux`: the IV
  kAeadEncrypt,  ///< `aux`: IV of 12 bytes and additional data; the tag follows the output
  kAeadDecrypt,  ///< the tag follows the input
};

/// One thread's symmetric operations on a queue pair (a Queue of dpdk::QueueLane). The device works on the caller's buffers: each
/// operation points an mbuf at them, and copies only the IV.
template <Kind K>
class SymQueue : public QueuePair {
 public:
  static constexpr bool kIsAead = K == Kind::kAeadEncrypt || K == Kind::kAeadDecrypt;
  static constexpr bool kInPieces = K == Kind::kCounter || K == Kind::kChain || K == Kind::kShortChain;
  static constexpr std::size_t kIvBytes = kIsAead ? 12 : K == Kind::kShortChain ? 8 : 16;

  /// @param most_bytes  bytes of the longest input @param out_bytes  bytes of a digest
  SymQueue(const Provider& provider, dpdk::Ordinals& ordinals, const Transform& transform, bool encrypt, std::uint32_t jobs,
           std::uint32_t most_bytes, std::uint32_t out_bytes)
      : QueuePair(provider, ordinals), out_bytes_(out_bytes), encrypt_(encrypt), flat_(provider.is_flat()) {
    const std::size_t spare = jobs * spare_segments(provider, most_bytes);
    allocate(jobs, jobs * kSlotBytes + spare * sizeof(rte_mbuf));
    const std::scoped_lock lock(device_mutex());
    rte_crypto_sym_xform xform = transform.get(kPrivateAt + offsetof(Private, iv));
    reads_iova_ = device().is_hardware();
    session_ = rte_cryptodev_sym_session_create(device().id, &xform, device().sessions);
    require(session_ != nullptr, "rte_cryptodev_sym_session_create on " + device().name);
    const rte_iova_t address = rte_malloc_virt2iova(memory());
    rte_mempool* const pool = dpdk::pools().indirect;
    for (std::uint32_t i = 0; i < jobs; ++i) {
      const Slot slot{memory() + i * kSlotBytes};
      Op* const op = slot.op();
      __rte_crypto_op_reset(op, RTE_CRYPTO_OP_TYPE_SYMMETRIC);
      op->phys_addr = address + i * kSlotBytes;
      rte_crypto_op_attach_sym_session(op, session_);
      init(slot.src(), pool);
      init(slot.dst(), pool);
      slot.sym().m_src = &slot.src();
      slot.sym().m_dst = K == Kind::kHash ? nullptr : &slot.dst();
      add(op);
    }
    auto* const segments = reinterpret_cast<rte_mbuf*>(memory() + jobs * kSlotBytes);
    for (std::size_t i = 0; i < spare; ++i) {
      init(segments[i], pool);
      spare_.push_back(&segments[i]);
    }
  }
  SymQueue(const SymQueue&) = delete;
  SymQueue& operator=(const SymQueue&) = delete;
  ~SymQueue() {
    const std::scoped_lock lock(device_mutex());
    rte_cryptodev_sym_session_free(device().id, session_);
  }

  static dpdk::Tag& tag(Op* op) noexcept { return slot_of(op).own().tag; }

  /// Return the jobs that a lane can hold with items of at most `most_bytes`: chained messages take an mbuf for each segment.
  static std::uint32_t most_jobs(const Provider& provider, std::uint32_t most_bytes) {
    constexpr std::size_t kMostSpare = 4096;
    const std::size_t each = spare_segments(provider, most_bytes);
    return each == 0 ? dpdk::kQueueJobs
                     : static_cast<std::uint32_t>(std::clamp<std::size_t>(kMostSpare / each, 1, dpdk::kQueueJobs));
  }

  void fill(Op* op, const Burst& burst, std::uint32_t i) noexcept {
    const Slot slot = slot_of(op);
    op->status = RTE_CRYPTO_OP_STATUS_NOT_PROCESSED;
    rte_crypto_sym_op& sym = slot.sym();
    const std::uint32_t length = K == Kind::kAeadDecrypt ? burst.in_len[i] - kTagBytes : burst.in_len[i];
    if constexpr (K == Kind::kHash) {
      point(slot.src(), burst.in[i], length);
      sym.auth.data.length = length;
      set(sym.auth.digest.data, sym.auth.digest.phys_addr, burst.out[i]);
    } else if constexpr (kIsAead) {
      point(slot.src(), burst.in[i], length);
      point(slot.dst(), burst.out[i], length);
      std::memcpy(slot.own().iv.data(), burst.aux[i], kIvBytes);
      sym.aead.data.length = length;
      set(sym.aead.aad.data, sym.aead.aad.phys_addr, burst.aux[i] + kIvBytes);
      set(sym.aead.digest.data, sym.aead.digest.phys_addr,
          K == Kind::kAeadEncrypt ? burst.out[i] + length : burst.in[i] + length);
    } else {
      slot.own().done = 0;
      std::memcpy(slot.own().iv.data(), burst.aux[i], kIvBytes);
      fill_piece(slot, burst, i);
    }
  }

  bool complete(Op* op, Burst& burst, std::uint32_t i) noexcept {
    const Slot slot = slot_of(op);
    if (slot.src().nb_segs != 1) [[unlikely]]
      unchain(slot);
    const bool fine = op->status == RTE_CRYPTO_OP_STATUS_SUCCESS;
    if constexpr (kInPieces) {
      const std::uint32_t length = slot.sym().cipher.data.length;
      if (fine && slot.own().done + length != burst.in_len[i]) [[unlikely]] {
        next_piece(slot, burst, i, length);
        return false;
      }
    }
    burst.status[i] = fine ? kStatusOk : kStatusRejected;
    if constexpr (K == Kind::kHash) burst.out_len[i] = out_bytes_;
    if constexpr (K == Kind::kAeadEncrypt) burst.out_len[i] = burst.in_len[i] + kTagBytes;
    if constexpr (K == Kind::kAeadDecrypt) burst.out_len[i] = burst.in_len[i] - kTagBytes;
    if constexpr (kInPieces || K == Kind::kWhole) burst.out_len[i] = burst.in_len[i];
    return true;
  }

 private:
  /// Our own data behind an operation.
  struct Private {
    std::array<std::byte, kBlockBytes> iv;
    dpdk::Tag tag;
    std::uint32_t done;  ///< bytes of the message in earlier pieces
  };
  /// An operation with all that belongs to it, side by side: the operation, Private, source and destination mbuf. DPDK's types
  /// end in arrays without elements, so no type of ours can contain them.
  static constexpr std::size_t kPrivateAt = sizeof(rte_crypto_op) + sizeof(rte_crypto_sym_op);
  static constexpr std::size_t kSourceAt = RTE_CACHE_LINE_ROUNDUP(kPrivateAt + sizeof(Private));
  static constexpr std::size_t kSlotBytes = kSourceAt + 2 * sizeof(rte_mbuf);
  struct Slot {
    std::byte* at;
    [[nodiscard]] Op* op() const noexcept { return reinterpret_cast<Op*>(at); }
    [[nodiscard]] rte_crypto_sym_op& sym() const noexcept { return *reinterpret_cast<rte_crypto_sym_op*>(at + sizeof(Op)); }
    [[nodiscard]] Private& own() const noexcept { return *reinterpret_cast<Private*>(at + kPrivateAt); }
    [[nodiscard]] rte_mbuf& src() const noexcept { return *reinterpret_cast<rte_mbuf*>(at + kSourceAt); }
    [[nodiscard]] rte_mbuf& dst() const noexcept { return *(&src() + 1); }
  };
  static Slot slot_of(Op* op) noexcept { return {reinterpret_cast<std::byte*>(op)}; }

  /// Return the number of mbufs of an operation besides its two.
  static std::size_t spare_segments(const Provider& provider, std::uint32_t most_bytes) {
    if (provider.is_flat() || kInPieces || most_bytes <= kMostSegment) return 0;
    return ((most_bytes - 1) / kSegment) * (K == Kind::kHash ? 1 : 2);
  }

  static void init(rte_mbuf& m, rte_mempool* pool) {
    m.pool = pool;
    m.nb_segs = 1;
    m.port = RTE_MBUF_PORT_INVALID;
    m.ol_flags = RTE_MBUF_F_EXTERNAL;
    rte_mbuf_refcnt_set(&m, 1);
  }

  /// Set a pointer, and the device's address, to a buffer. Input buffers are const, but the device only reads them.
  void set(std::uint8_t*& pointer, rte_iova_t& address, const std::byte* to) const noexcept {
    pointer = const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(to));
    if (reads_iova_) address = reinterpret_cast<std::uintptr_t>(to);
  }

  void point_segment(rte_mbuf& m, const std::byte* data, std::uint32_t length) const noexcept {
    m.buf_addr = const_cast<std::byte*>(data);
    if (reads_iova_) m.buf_iova = reinterpret_cast<std::uintptr_t>(data);
    m.buf_len = m.data_len = static_cast<std::uint16_t>(std::min(length, kMostSegment));
  }

  void point(rte_mbuf& m, const std::byte* data, std::uint32_t length) noexcept {
    m.pkt_len = length;
    if (length <= kMostSegment || flat_) [[likely]]
      return point_segment(m, data, length);
    rte_mbuf* last = &m;
    point_segment(m, data, kSegment);
    for (std::uint32_t at = kSegment; at < length; at += kSegment) {
      last->next = spare_.back();
      spare_.pop_back();
      last = last->next;
      point_segment(*last, data + at, std::min(kSegment, length - at));
      ++m.nb_segs;
    }
  }

  void unchain(Slot slot) noexcept {
    for (rte_mbuf* const head : {&slot.src(), &slot.dst()}) {
      for (rte_mbuf* m = head->next; m != nullptr; m = std::exchange(m->next, nullptr)) spare_.push_back(m);
      head->next = nullptr;
      head->nb_segs = 1;
    }
  }

  /// Fill in the piece that begins at slot.own().done, as long as the device can do with one IV.
  void fill_piece(Slot slot, const Burst& burst, std::uint32_t i) noexcept {
    std::uint32_t length = burst.in_len[i] - slot.own().done;
    if constexpr (kInPieces) length = std::min(length, kPiece);
    if constexpr (K == Kind::kCounter) {
      // Devices count in 32 bits of the block, but the operator's definition counts in 128. A message in which the 32 bits
      // overflow is cut there.
      const std::uint64_t blocks = (std::uint64_t{1} << 32) - counter_of(slot);
      if (blocks * kBlockBytes < length) [[unlikely]]
        length = static_cast<std::uint32_t>(blocks * kBlockBytes);
    }
    point(slot.src(), burst.in[i] + slot.own().done, length);
    point(slot.dst(), burst.out[i] + slot.own().done, length);
    rte_crypto_sym_op& sym = slot.sym();
    sym.cipher.data.offset = 0;
    sym.cipher.data.length = length;
  }

  /// Begin the next piece. @param length  bytes of the piece that is complete
  void next_piece(Slot slot, const Burst& burst, std::uint32_t i, std::uint32_t length) noexcept {
    slot.own().done += length;
    if constexpr (K != Kind::kCounter) {
      const std::byte* const last = (encrypt_ ? burst.out[i] : burst.in[i]) + slot.own().done - kIvBytes;
      std::memcpy(slot.own().iv.data(), last, kIvBytes);
    } else {
      std::uint64_t carry = length / kBlockBytes;
      for (std::size_t byte = kBlockBytes; byte-- > 0 && carry != 0; carry >>= 8) {
        carry += std::to_integer<std::uint64_t>(slot.own().iv[byte]);
        slot.own().iv[byte] = static_cast<std::byte>(carry & 0xff);
      }
    }
    slot.op()->status = RTE_CRYPTO_OP_STATUS_NOT_PROCESSED;
    fill_piece(slot, burst, i);
  }

  static std::uint32_t counter_of(Slot slot) noexcept {
    std::uint32_t low = 0;
    std::memcpy(&low, slot.own().iv.data() + kBlockBytes - sizeof low, sizeof low);
    return rte_be_to_cpu_32(low);
  }

  void* session_ = nullptr;
  std::vector<rte_mbuf*> spare_;  ///< mbufs for the segments of long messages
  std::uint32_t out_bytes_;
  bool encrypt_;
  bool flat_;
  bool reads_iova_ = true;  ///< drivers in software use only pointers
};

}  // namespace dpubench::cryptodev
