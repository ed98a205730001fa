// What engines share that use DPDK's cryptodev: the devices of a driver, their queue pairs, and symmetric operations on buffers
// of the caller's.
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
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "operators/engine.hpp"
#include "operators/support/dpdk.hpp"
#include "operators/support/dpdk_device.hpp"
#include "operators/support/dpdk_mbuf.hpp"

namespace dpubench::cryptodev {

using dpdk::require;

/// What a device is asked to do, as both its capabilities and its sessions spell it. Copies point into themselves.
struct Transform {
  rte_crypto_sym_xform xform{};
  std::vector<std::byte> key;

  static Transform hash(rte_crypto_auth_algorithm algorithm, std::uint16_t digest_bytes, std::vector<std::byte> key = {}) {
    Transform t;
    t.key = std::move(key);
    t.xform.type = RTE_CRYPTO_SYM_XFORM_AUTH;
    t.xform.auth.op = RTE_CRYPTO_AUTH_OP_GENERATE;
    t.xform.auth.algo = algorithm;
    t.xform.auth.digest_length = digest_bytes;
    return t;
  }
  static Transform cipher(rte_crypto_cipher_algorithm algorithm, bool encrypt, std::vector<std::byte> key,
                          std::uint16_t iv_bytes) {
    Transform t;
    t.key = std::move(key);
    t.xform.type = RTE_CRYPTO_SYM_XFORM_CIPHER;
    t.xform.cipher.op = encrypt ? RTE_CRYPTO_CIPHER_OP_ENCRYPT : RTE_CRYPTO_CIPHER_OP_DECRYPT;
    t.xform.cipher.algo = algorithm;
    t.xform.cipher.iv.length = iv_bytes;
    return t;
  }
  static Transform aead(rte_crypto_aead_algorithm algorithm, bool encrypt, std::vector<std::byte> key, std::uint16_t iv_bytes,
                        std::uint16_t aad_bytes, std::uint16_t tag_bytes) {
    Transform t;
    t.key = std::move(key);
    t.xform.type = RTE_CRYPTO_SYM_XFORM_AEAD;
    t.xform.aead.op = encrypt ? RTE_CRYPTO_AEAD_OP_ENCRYPT : RTE_CRYPTO_AEAD_OP_DECRYPT;
    t.xform.aead.algo = algorithm;
    t.xform.aead.iv.length = iv_bytes;
    t.xform.aead.aad_length = aad_bytes;
    t.xform.aead.digest_length = tag_bytes;
    return t;
  }

  /// For DPDK, as long as this lives. @param iv_offset  of the IV from the beginning of an operation
  [[nodiscard]] rte_crypto_sym_xform get(std::uint16_t iv_offset) const {
    rte_crypto_sym_xform x = xform;
    const auto* const data = reinterpret_cast<const std::uint8_t*>(key.data());
    const auto length = static_cast<std::uint16_t>(key.size());
    switch (x.type) {
      case RTE_CRYPTO_SYM_XFORM_AUTH:
        x.auth.key = {data, length};
        break;
      case RTE_CRYPTO_SYM_XFORM_CIPHER:
        x.cipher.key = {data, length};
        x.cipher.iv.offset = iv_offset;
        break;
      default:
        x.aead.key = {data, length};
        x.aead.iv.offset = iv_offset;
    }
    return x;
  }
};

/// A device that was configured and started: one of the process, whichever modules use it.
struct Device {
  std::string name;
  std::string driver;
  std::uint8_t id = 0;
  std::uint16_t queue_pairs = 0;
  std::uint64_t features = 0;
  rte_device* device = nullptr;
  rte_mempool* sessions = nullptr;
  rte_mempool* asymmetric = nullptr;    ///< sessions of public-key operations; see asymmetric_sessions()
  std::unique_ptr<dpdk::Turn[]> turns;  ///< of each queue pair

  [[nodiscard]] bool has(std::uint64_t feature) const { return (features & feature) != 0; }
  [[nodiscard]] bool is_hardware() const { return has(RTE_CRYPTODEV_FF_HW_ACCELERATED); }

  /// Why the device does not do this; empty if it does.
  [[nodiscard]] std::string lacks(const Transform& transform) const {
    rte_cryptodev_sym_capability_idx index{};
    const rte_crypto_sym_xform& x = transform.xform;
    index.type = x.type;
    int fits = -1;
    const auto key = static_cast<std::uint16_t>(transform.key.size());
    if (x.type == RTE_CRYPTO_SYM_XFORM_AUTH) index.algo.auth = x.auth.algo;
    if (x.type == RTE_CRYPTO_SYM_XFORM_CIPHER) index.algo.cipher = x.cipher.algo;
    if (x.type == RTE_CRYPTO_SYM_XFORM_AEAD) index.algo.aead = x.aead.algo;
    const rte_cryptodev_symmetric_capability* const found = rte_cryptodev_sym_capability_get(id, &index);
    if (found == nullptr) return driver + " does not have this algorithm";
    if (x.type == RTE_CRYPTO_SYM_XFORM_AUTH) {
      fits = rte_cryptodev_sym_capability_check_auth(found, key, x.auth.digest_length, 0);
    } else if (x.type == RTE_CRYPTO_SYM_XFORM_CIPHER) {
      fits = rte_cryptodev_sym_capability_check_cipher(found, key, x.cipher.iv.length);
    } else {
      fits = rte_cryptodev_sym_capability_check_aead(found, key, x.aead.digest_length, x.aead.aad_length, x.aead.iv.length);
    }
    return fits == 0 ? "" : driver + " does not have it with these lengths of key, IV, additional data and tag";
  }
};

namespace detail {

/// Of the process, for all modules.
struct Devices {
  std::vector<std::unique_ptr<Device>> all;
};

inline Devices& devices() {
  return *std::static_pointer_cast<Devices>(shared_object("cryptodev", [] { return std::make_shared<Devices>(); }));
}

/// Queue pairs that a device is given: threads of this many share one, and a software driver has as many devices as it takes.
inline constexpr std::uint16_t kMostQueuePairs = 64;

/// Configures and starts a device; device_mutex() is held. @throws Error
inline Device& start(const std::string& name) {
  for (const auto& device : devices().all) {
    if (device->name == name) return *device;
  }
  auto device = std::make_unique<Device>();
  device->name = name;
  bool found = false;
  rte_cryptodev_info info{};
  for (int id = 0; id < RTE_CRYPTO_MAX_DEVS && !found; ++id) {
    if (rte_cryptodev_is_valid_dev(static_cast<std::uint8_t>(id)) == 0) continue;
    rte_cryptodev_info_get(static_cast<std::uint8_t>(id), &info);
    device->id = static_cast<std::uint8_t>(id);
    found = info.device != nullptr && name == rte_dev_name(info.device);
  }
  if (!found) throw Error("device " + name + " is no crypto device, or no driver of one has taken it");
  device->driver = info.driver_name;
  device->features = info.feature_flags;
  device->device = info.device;
  // Without a limit the driver says 0.
  device->queue_pairs = static_cast<std::uint16_t>(
      std::min<unsigned>(kMostQueuePairs, info.max_nb_queue_pairs == 0 ? kMostQueuePairs : info.max_nb_queue_pairs));
  device->turns = std::make_unique<dpdk::Turn[]>(device->queue_pairs);
  const int socket = rte_cryptodev_socket_id(device->id);
  constexpr unsigned kSessions = 1024;
  device->sessions =
      rte_cryptodev_sym_session_pool_create(("dpubench-sessions-" + std::to_string(device->id)).c_str(), kSessions,
                                            rte_cryptodev_sym_get_private_session_size(device->id), 0, 0, SOCKET_ID_ANY);
  require(device->sessions != nullptr, "rte_cryptodev_sym_session_pool_create for " + name);
  rte_cryptodev_config config{};
  config.socket_id = socket;
  config.nb_queue_pairs = device->queue_pairs;
  require(rte_cryptodev_configure(device->id, &config) == 0, "rte_cryptodev_configure of " + name);
  rte_cryptodev_qp_conf queue{};
  queue.nb_descriptors = dpdk::kDescriptors;
  queue.mp_session = device->sessions;
  for (std::uint16_t i = 0; i < device->queue_pairs; ++i) {
    require(rte_cryptodev_queue_pair_setup(device->id, i, &queue, socket) == 0, "rte_cryptodev_queue_pair_setup of " + name);
  }
  require(rte_cryptodev_start(device->id) == 0, "rte_cryptodev_start of " + name);
  return *devices().all.emplace_back(std::move(device));
}

}  // namespace detail

/// Pool of a device's asymmetric sessions, made on first use; device_mutex() is held. @throws Error
inline rte_mempool* asymmetric_sessions(Device& device) {
  if (device.asymmetric == nullptr) {
    constexpr unsigned kSessions = 256;
    const std::string name = "dpubench-asymmetric-" + std::to_string(device.id);
    device.asymmetric = rte_cryptodev_asym_session_pool_create(name.c_str(), kSessions, 0, 0, SOCKET_ID_ANY);
    require(device.asymmetric != nullptr, "rte_cryptodev_asym_session_pool_create for " + device.name);
  }
  return device.asymmetric;
}

/// Where an engine's operations go: the devices of a software driver, or one that the program was told to use.
class Provider {
 public:
  /// The device that was named, whichever it is.
  Provider() = default;
  /// @param flat  the driver reads an operation's length and the address of its first byte, and nothing else of an mbuf
  explicit Provider(dpdk::SoftwareDriver driver, bool flat = false) : driver_(std::move(driver)), flat_(flat) {}

  [[nodiscard]] bool is_software() const { return !driver_.prefix.empty(); }
  /// Whether a message longer than an mbuf can tell (16 bits) is handed over in one: such a driver's own handling of chains
  /// copies (crypto_aesni_mb: ciphers) or takes the first mbuf for the whole (its hashes, in 22.11).
  [[nodiscard]] bool is_flat() const { return flat_; }
  [[nodiscard]] std::string engine() const { return is_software() ? driver_.engine : "cryptodev"; }
  [[nodiscard]] std::string summary() const {
    return is_software() ? "DPDK cryptodev, driver " + driver_.prefix + " in software"
                         : "DPDK cryptodev on the device that --device names";
  }

  [[nodiscard]] std::string unavailable() const {
    if (is_software()) return dpdk::driver_missing(driver_);
    if (named_devices().empty()) {
      return "no device was named: give --device with a PCI address, or a DPDK virtual device such as crypto_openssl0";
    }
    try {
      static_cast<void>(device(0));
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  }

  /// The device of a session's lane, and its queue pair there. @throws Error
  [[nodiscard]] std::pair<Device*, std::uint16_t> device(std::size_t lane) const {
    if (is_software()) {
      dpdk::require_eal();
      const std::scoped_lock lock(device_mutex());
      Device* found = &software(0);
      const std::size_t which = lane / found->queue_pairs;
      if (which != 0) found = &software(which);
      return {found, static_cast<std::uint16_t>(lane % found->queue_pairs)};
    }
    std::string reason = "no device was named";
    for (const std::string& name : dpdk::ready_devices()) {
      const std::scoped_lock lock(device_mutex());
      try {
        Device& found = detail::start(name);
        if (lane < found.queue_pairs) return {&found, static_cast<std::uint16_t>(lane)};
        reason = "device " + name + " has " + std::to_string(found.queue_pairs) + " queue pairs: use no more threads than that" +
                 (is_pci_address(name) ? "" : ", or give the virtual device max_nb_queue_pairs=N");
        break;
      } catch (const Error& error) {
        reason = error.what();  // the next may be one
      }
    }
    throw Error(reason);
  }

 private:
  [[nodiscard]] Device& software(std::size_t which) const {
    const std::string name = driver_.prefix + "_dpubench" + std::to_string(which);
    for (const auto& device : detail::devices().all) {
      if (device->name == name) return *device;
    }
    dpdk::create_virtual_device(name, "");
    return detail::start(name);
  }

  dpdk::SoftwareDriver driver_{};
  bool flat_ = false;
};

/// Longest data of one mbuf in 16 bits, and of its pieces where a message is longer.
inline constexpr std::uint32_t kMostSegment = 65535;
inline constexpr std::uint32_t kSegment = 32768;
/// Longest piece of a message whose pieces are operations of their own: whole blocks.
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

/// One thread's symmetric operations on a queue pair (a Queue of dpdk::QueueLane). The device works on the caller's buffers: an
/// mbuf is pointed at them for each operation, and nothing is copied but the IV.
template <Kind K>
class SymQueue {
 public:
  using Op = rte_crypto_op;
  static constexpr bool kIsAead = K == Kind::kAeadEncrypt || K == Kind::kAeadDecrypt;
  static constexpr bool kInPieces = K == Kind::kCounter || K == Kind::kChain || K == Kind::kShortChain;
  static constexpr std::size_t kIvBytes = kIsAead ? 12 : K == Kind::kShortChain ? 8 : 16;

  /// @param most_bytes  of an item's input @param out_bytes  of a digest
  SymQueue(const Provider& provider, dpdk::Ordinals& ordinals, const Transform& transform, bool encrypt, std::uint32_t jobs,
           std::uint32_t most_bytes, std::uint32_t out_bytes)
      : lease_(ordinals), out_bytes_(out_bytes), encrypt_(encrypt), flat_(provider.is_flat()) {
    std::tie(device_, queue_pair_) = provider.device(lease_.number());
    const std::scoped_lock lock(device_mutex());
    rte_crypto_sym_xform xform = transform.get(kPrivateAt + offsetof(Private, iv));
    reads_iova_ = !is_software();
    session_ = rte_cryptodev_sym_session_create(device_->id, &xform, device_->sessions);
    require(session_ != nullptr, "rte_cryptodev_sym_session_create on " + device_->name);
    const std::size_t spare = jobs * spare_segments(provider, most_bytes);
    const int socket = is_software() ? SOCKET_ID_ANY : rte_cryptodev_socket_id(device_->id);
    memory_ = static_cast<std::byte*>(
        rte_zmalloc_socket("dpubench operations", jobs * kSlotBytes + spare * sizeof(rte_mbuf), RTE_CACHE_LINE_SIZE, socket));
    if (memory_ == nullptr) {
      rte_cryptodev_sym_session_free(device_->id, session_);
      throw Error("DPDK has no memory left for " + std::to_string(jobs) + " operations of a thread");
    }
    const rte_iova_t address = rte_malloc_virt2iova(memory_);
    rte_mempool* const pool = dpdk::pools().indirect;
    for (std::uint32_t i = 0; i < jobs; ++i) {
      const Slot slot{memory_ + i * kSlotBytes};
      Op* const op = slot.op();
      __rte_crypto_op_reset(op, RTE_CRYPTO_OP_TYPE_SYMMETRIC);
      op->phys_addr = address + i * kSlotBytes;
      rte_crypto_op_attach_sym_session(op, session_);
      init(slot.src(), pool);
      init(slot.dst(), pool);
      slot.sym().m_src = &slot.src();
      slot.sym().m_dst = K == Kind::kHash ? nullptr : &slot.dst();
      operations_.push_back(op);
    }
    auto* const segments = reinterpret_cast<rte_mbuf*>(memory_ + jobs * kSlotBytes);
    for (std::size_t i = 0; i < spare; ++i) {
      init(segments[i], pool);
      spare_.push_back(&segments[i]);
    }
  }
  SymQueue(const SymQueue&) = delete;
  SymQueue& operator=(const SymQueue&) = delete;
  ~SymQueue() {
    const std::scoped_lock lock(device_mutex());
    rte_cryptodev_sym_session_free(device_->id, session_);
    rte_free(memory_);
  }

  [[nodiscard]] std::span<Op* const> operations() const { return operations_; }
  static dpdk::Tag& tag(Op* op) noexcept { return slot_of(op).own().tag; }
  [[nodiscard]] dpdk::Turn& turn() noexcept { return device_->turns[queue_pair_]; }

  void attach(std::span<std::byte> memory) {
    if (!is_software()) mapping_ = dpdk::Mapping(*device_->device, memory);
  }

  /// Jobs that a lane can hold with items of at most `most_bytes`: chained messages take an mbuf for each segment.
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

  std::uint16_t enqueue(Op** ops, std::uint16_t n) noexcept {
    return rte_cryptodev_enqueue_burst(device_->id, queue_pair_, ops, n);
  }
  static bool refused(const Op* op) noexcept { return op->status != RTE_CRYPTO_OP_STATUS_NOT_PROCESSED; }
  std::uint16_t dequeue(Op** ops, std::uint16_t n) noexcept {
    return rte_cryptodev_dequeue_burst(device_->id, queue_pair_, ops, n);
  }

 private:
  /// What we keep behind an operation.
  struct Private {
    std::array<std::byte, kBlockBytes> iv;
    dpdk::Tag tag;
    std::uint32_t done;  ///< bytes of the message in pieces before this one
  };
  /// An operation with all that belongs to it, side by side: the operation, Private, source and destination mbuf. DPDK's types
  /// end in arrays without elements, so that no type of ours can hold them.
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
  [[nodiscard]] bool is_software() const { return !device_->is_hardware(); }

  /// Mbufs besides the two of an operation.
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

  /// The caller's buffers are const where they are input; the device reads them only.
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

  /// From slot.own().done on, as much as the device can do with one IV.
  void fill_piece(Slot slot, const Burst& burst, std::uint32_t i) noexcept {
    std::uint32_t length = burst.in_len[i] - slot.own().done;
    if constexpr (kInPieces) length = std::min(length, kPiece);
    if constexpr (K == Kind::kCounter) {
      // Devices count in 32 bits of the block, the operator's definition in 128: a message in which the 32 overflow is cut there.
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

  /// @param length  of the piece that is complete
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

  dpdk::Ordinals::Lease lease_;
  Device* device_ = nullptr;
  std::uint16_t queue_pair_ = 0;
  void* session_ = nullptr;
  std::byte* memory_ = nullptr;
  std::vector<Op*> operations_;
  std::vector<rte_mbuf*> spare_;  ///< for the segments of long messages
  dpdk::Mapping mapping_;
  std::uint32_t out_bytes_;
  bool encrypt_;
  bool flat_;
  bool reads_iova_ = true;  ///< drivers in software work with pointers alone
};

/// A session of symmetric operations of one kind.
template <Kind K>
class SymSession final : public Session {
 public:
  /// @param encrypt  of ciphers @param out_bytes  of a digest @throws Error when the device does not do this
  SymSession(const Provider& provider, const Work& work, Transform transform, bool encrypt, std::uint32_t out_bytes)
      : provider_(provider), transform_(std::move(transform)), encrypt_(encrypt), out_bytes_(out_bytes) {
    Device* const device = provider_.device(0).first;
    if (const std::string reason = device->lacks(transform_); !reason.empty()) throw Error(reason);
    for (const Item& item : work.items) most_bytes_ = std::max(most_bytes_, static_cast<std::uint32_t>(item.in.size()));
    path_ = {device->is_hardware() ? "device" : "chosen by library",
             "rte_cryptodev_enqueue_burst",
             device->is_hardware(),
             device->driver,
             device->name,
             SymQueue<K>::most_jobs(provider_, most_bytes_)};
  }

  std::unique_ptr<Lane> open() override {
    return std::make_unique<dpdk::QueueLane<SymQueue<K>>>(
        std::make_unique<SymQueue<K>>(provider_, ordinals_, transform_, encrypt_, path_.max_in_flight, most_bytes_, out_bytes_));
  }
  [[nodiscard]] PathInfo path() const override { return path_; }

 private:
  Provider provider_;
  dpdk::Ordinals ordinals_;
  Transform transform_;
  bool encrypt_;
  std::uint32_t out_bytes_;
  std::uint32_t most_bytes_ = 0;
  PathInfo path_;
};

/// What engines of this device class have in common; an operator's derives from it.
class DeviceEngine : public Engine {
 public:
  DeviceEngine(std::string op, Provider provider) : provider_(std::move(provider)) {
    info_.op = std::move(op);
    info_.name = provider_.engine();
    info_.summary = provider_.summary();
    info_.library = dpdk::version();
    info_.in_flight = dpdk::kDefaultInFlight;
    info_.software_device = provider_.is_software();
  }
  [[nodiscard]] const EngineInfo& info() const override { return info_; }
  [[nodiscard]] std::string unavailable() const override { return provider_.unavailable(); }

 protected:
  [[nodiscard]] const Provider& provider() const { return provider_; }
  /// Why the device that was named does not do this; for software drivers, whose capabilities are known without one, empty.
  [[nodiscard]] std::string lacks(const Transform& transform) const {
    if (provider_.is_software()) return {};
    try {
      return provider_.device(0).first->lacks(transform);
    } catch (const Error& error) {
      return error.what();
    }
  }
  /// Why messages of this size cannot be done; empty if they can. @param feature  RTE_CRYPTODEV_FF_*: input, or input and output,
  /// in several mbufs @param chained  whether software drivers have it
  [[nodiscard]] std::string too_long(std::uint64_t bytes, std::uint64_t feature, bool chained) const {
    if (bytes <= kMostSegment || provider_.is_flat()) return {};
    if (!provider_.is_software()) {
      try {
        chained = provider_.device(0).first->has(feature);
      } catch (const Error& error) {
        return error.what();
      }
    }
    return chained ? "" : "the driver takes no chained buffers, and one holds at most " + std::to_string(kMostSegment) + " bytes";
  }

 private:
  EngineInfo info_;
  Provider provider_;
};

inline Provider named_device() {
  return {};
}
inline Provider aesni_mb() {
  return Provider(dpdk::software_driver("cryptodev-aesni-mb", "crypto_aesni_mb", "librte_crypto_ipsec_mb"), true);
}
inline Provider aesni_gcm() {
  return Provider(dpdk::software_driver("cryptodev-aesni-gcm", "crypto_aesni_gcm", "librte_crypto_ipsec_mb"));
}
inline Provider openssl() {
  return Provider(dpdk::software_driver("cryptodev-openssl", "crypto_openssl", "librte_crypto_openssl"));
}

/// Engine of the hash operators.
class Hash final : public DeviceEngine {
 public:
  Hash(std::string op, Provider provider, rte_crypto_auth_algorithm algorithm, std::uint16_t digest_bytes)
      : DeviceEngine(std::move(op), std::move(provider)), algorithm_(algorithm), digest_bytes_(digest_bytes) {}

  [[nodiscard]] std::string unsupported(const Params& params) const override {
    if (std::string reason = lacks(transform()); !reason.empty()) return reason;
    // crypto_openssl takes chains of input.
    return too_long(params.number("size"), RTE_CRYPTODEV_FF_IN_PLACE_SGL, true);
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& work) const override {
    return std::make_unique<SymSession<Kind::kHash>>(provider(), work, transform(), true, digest_bytes_);
  }

 private:
  [[nodiscard]] Transform transform() const { return Transform::hash(algorithm_, digest_bytes_); }
  rte_crypto_auth_algorithm algorithm_;
  std::uint16_t digest_bytes_;
};

}  // namespace dpubench::cryptodev
