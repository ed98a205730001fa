// Devices of DPDK's cryptodev: their capabilities, their queue pairs, and the devices that an engine uses.
#pragma once

#include <rte_cryptodev.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "operators/engine.hpp"
#include "operators/support/dpdk/device.hpp"
#include "operators/support/dpdk/dpdk.hpp"

namespace dpubench::cryptodev {

using dpdk::require;

/// The operation that a device is asked for, in the form of its capabilities and sessions. get() points into the object, so a
/// copy's get() points into the copy.
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

  /// Return the transform for DPDK, valid as long as this object lives. @param iv_offset  offset of the IV from the beginning of
  /// an operation
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

/// A configured and started device. It exists once in the process, whichever modules use it.
struct Device {
  std::string name;
  std::string driver;
  std::uint8_t id = 0;
  std::uint16_t queue_pairs = 0;
  std::uint64_t features = 0;
  rte_device* device = nullptr;
  rte_mempool* sessions = nullptr;
  rte_mempool* asymmetric = nullptr;    ///< sessions of public-key operations; see asymmetric_sessions()
  std::unique_ptr<dpdk::Turn[]> turns;  ///< one per queue pair

  [[nodiscard]] bool has(std::uint64_t feature) const { return (features & feature) != 0; }
  [[nodiscard]] bool is_hardware() const { return has(RTE_CRYPTODEV_FF_HW_ACCELERATED); }

  /// Return why the device does not do this, or an empty string.
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
    return fits == 0 ? "" : driver + " does not support these lengths of key, IV, additional data and tag";
  }
};

namespace detail {

/// The devices of the process, for all modules.
struct Devices {
  std::vector<std::unique_ptr<Device>> all;
};

inline Devices& devices() {
  return *std::static_pointer_cast<Devices>(shared_object("cryptodev", [] { return std::make_shared<Devices>(); }));
}

/// The most queue pairs of a device. Up to this many threads share a device, and a software driver gets as many devices as
/// needed.
inline constexpr std::uint16_t kMostQueuePairs = 64;

/// Return the device of this name, configured and started if it was not. The caller holds device_mutex(). @throws Error
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
  if (!found) throw Error("device " + name + " is not a crypto device, or no crypto driver has taken it");
  device->driver = info.driver_name;
  device->features = info.feature_flags;
  device->device = info.device;
  // A driver without a limit reports 0.
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

/// Return the pool of a device's asymmetric sessions, made on first use. The caller holds device_mutex(). @throws Error
inline rte_mempool* asymmetric_sessions(Device& device) {
  if (device.asymmetric == nullptr) {
    constexpr unsigned kSessions = 256;
    const std::string name = "dpubench-asymmetric-" + std::to_string(device.id);
    device.asymmetric = rte_cryptodev_asym_session_pool_create(name.c_str(), kSessions, 0, 0, SOCKET_ID_ANY);
    require(device.asymmetric != nullptr, "rte_cryptodev_asym_session_pool_create for " + device.name);
  }
  return device.asymmetric;
}

/// The target of an engine's operations: the devices of a software driver, or one of the named devices.
class Provider {
 public:
  /// Use the named devices.
  Provider() = default;
  /// @param flat  the driver reads an operation's length and the address of its first byte, and nothing else of an mbuf
  explicit Provider(dpdk::SoftwareDriver driver, bool flat = false) : driver_(std::move(driver)), flat_(flat) {}

  [[nodiscard]] bool is_software() const { return !driver_.prefix.empty(); }
  /// Return whether a message that is longer than an mbuf's 16 bits goes to the driver in one mbuf. Such a driver handles chains
  /// badly: crypto_aesni_mb copies them for ciphers, and takes the first mbuf for the whole message for hashes (22.11).
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
    return dpdk::reason_of([this] { return static_cast<void>(device(0)), std::string(); });
  }

  /// Return the device for a session's lane, and the queue pair there. @throws Error
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
        reason = error.what();  // the next may be a crypto device
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

}  // namespace dpubench::cryptodev
