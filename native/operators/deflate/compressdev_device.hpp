// Devices of DPDK's compressdev: their features for DEFLATE, their queue pairs, and the devices that an engine uses.
#pragma once

#include <rte_comp.h>
#include <rte_compressdev.h>
#include <rte_errno.h>
#include <rte_log.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "operators/engine.hpp"
#include "operators/support/dpdk/device.hpp"

namespace dpubench::compressdev {

inline constexpr std::uint16_t kMostQueuePairs = 64;       ///< queue pairs to set up on a device that has at least as many
inline constexpr std::uint16_t kPrivateTransforms = 1024;  ///< private transforms for the lanes of all sessions

/// The features that a driver reports for DEFLATE.
struct Capabilities {
  std::uint64_t flags = 0;  ///< RTE_COMP_FF_*
  int window_bits = 0;
  bool knows_end = true;  ///< decompression rejects a stream that ends early; assumed for named devices until a session tries it
  [[nodiscard]] bool has(std::uint64_t flag) const { return (flags & flag) != 0; }
  /// Return whether it takes this many mbufs of input and of output.
  [[nodiscard]] bool takes(std::uint32_t in_segments, std::uint32_t out_segments) const {
    if (in_segments == 1 && out_segments == 1) return true;
    return has(in_segments == 1    ? RTE_COMP_FF_OOP_LB_IN_SGL_OUT
               : out_segments == 1 ? RTE_COMP_FF_OOP_SGL_IN_LB_OUT
                                   : RTE_COMP_FF_OOP_SGL_IN_SGL_OUT);
  }
};

/// A driver in software and its features. A driver reports features only once there is a device, and listing engines makes none.
/// CompressSession checks again with the features that the device reports.
struct Software {
  dpdk::SoftwareDriver driver;
  std::string library;  ///< library whose levels it accepts, too
  Capabilities capabilities;
};

inline constexpr std::uint64_t kCodes = RTE_COMP_FF_HUFFMAN_FIXED | RTE_COMP_FF_HUFFMAN_DYNAMIC;
inline constexpr std::uint64_t kChains =
    RTE_COMP_FF_OOP_SGL_IN_SGL_OUT | RTE_COMP_FF_OOP_SGL_IN_LB_OUT | RTE_COMP_FF_OOP_LB_IN_SGL_OUT;

inline const std::vector<Software>& software_drivers() {
  static const std::vector<Software> drivers = {
      {dpdk::software_driver("compressdev-isal", "compress_isal", "librte_compress_isal"), "isal", {kCodes | kChains, 15, false}},
      {dpdk::software_driver("compressdev-zlib", "compress_zlib", "librte_compress_zlib"), "zlib", {kCodes, 15, false}},
  };
  return drivers;
}

/// A configured and started device.
struct Device {
  std::uint8_t id = 0;
  std::string name;
  std::string driver;
  std::string isa;
  bool is_hardware = false;
  Capabilities capabilities;
  std::uint16_t queue_pairs = 0;
  std::unique_ptr<dpdk::Turn[]> turns;  ///< one per queue pair
};

inline std::string isa_of(std::uint64_t flags) {
  if ((flags & RTE_COMPDEV_FF_HW_ACCELERATED) != 0) return "device";
  if ((flags & RTE_COMPDEV_FF_CPU_AVX512) != 0) return "avx512";
  if ((flags & RTE_COMPDEV_FF_CPU_AVX2) != 0) return "avx2";
  if ((flags & RTE_COMPDEV_FF_CPU_AVX) != 0) return "avx";
  if ((flags & RTE_COMPDEV_FF_CPU_SSE) != 0) return "sse";
  if ((flags & RTE_COMPDEV_FF_CPU_NEON) != 0) return "neon";
  return "chosen by library";
}

/// Configure and start a device. @throws Error when the device has no DEFLATE, or cannot be set up
inline std::unique_ptr<Device> start_device(std::uint8_t id, std::uint16_t most_queue_pairs) {
  auto device = std::make_unique<Device>();
  device->id = id;
  device->name = rte_compressdev_name_get(id);
  rte_compressdev_info info{};
  rte_compressdev_info_get(id, &info);
  device->driver = info.driver_name == nullptr ? "unknown" : info.driver_name;
  device->isa = isa_of(info.feature_flags);
  device->is_hardware = (info.feature_flags & RTE_COMPDEV_FF_HW_ACCELERATED) != 0;
  const rte_compressdev_capabilities* const deflate = rte_compressdev_capability_get(id, RTE_COMP_ALGO_DEFLATE);
  if (deflate == nullptr) throw Error("the device " + device->name + " has no DEFLATE");
  device->capabilities = {deflate->comp_feature_flags, deflate->window_size.max};
  device->queue_pairs = info.max_nb_queue_pairs == 0 ? most_queue_pairs : std::min(info.max_nb_queue_pairs, most_queue_pairs);
  const auto demand = [&](int result, const std::string& what) {
    if (result < 0) throw Error("DPDK: " + what + " of " + device->name + ": " + rte_strerror(-result));
  };
  rte_compressdev_config config{};
  config.socket_id = rte_compressdev_socket_id(id);
  config.nb_queue_pairs = device->queue_pairs;
  config.max_nb_priv_xforms = kPrivateTransforms;
  demand(rte_compressdev_configure(id, &config), "rte_compressdev_configure");
  for (std::uint16_t pair = 0; pair < device->queue_pairs; ++pair) {
    demand(rte_compressdev_queue_pair_setup(id, pair, dpdk::kDescriptors, config.socket_id), "rte_compressdev_queue_pair_setup");
  }
  device->turns = std::make_unique<dpdk::Turn[]>(device->queue_pairs);
  demand(rte_compressdev_start(id), "rte_compressdev_start");
  return device;
}

/// The devices of the process. They run until the process ends.
class Devices {
 public:
  static Devices& instance() {
    static auto& devices = *new Devices;
    return devices;
  }

  /// Return a device of a driver in software, made on first request. The device `which` has 2^which queue pairs. This is so
  /// because nobody knows the number of lanes in advance, a queue pair of the isal driver takes more than 0.5 MiB, and DPDK has
  /// room for 64 devices. @throws Error
  Device& of(const dpdk::SoftwareDriver& driver, unsigned which) {
    dpdk::require_eal();
    const std::scoped_lock lock(device_mutex());
    const std::string name = driver.prefix + "_dpubench" + std::to_string(which);
    for (const auto& device : made_) {
      if (device->name == name) return *device;
    }
    dpdk::create_virtual_device(name, "");
    const int id = rte_compressdev_get_dev_id(name.c_str());
    if (id < 0) throw Error("DPDK: the virtual device " + name + " is not a compression device");
    rte_log_set_level_pattern("pmd.compress.*", RTE_LOG_CRIT);  // the drivers log every message that they reject
    return *made_.emplace_back(start_device(static_cast<std::uint8_t>(id), static_cast<std::uint16_t>(1U << which)));
  }

  /// Return the compression devices among the named devices, started; at least one. @throws Error
  std::vector<Device*> named() {
    if (named_devices().empty()) {
      throw Error("no device was named: give --device with a PCI address, or a DPDK virtual device such as compress_zlib0");
    }
    const std::vector<std::string> names = dpdk::ready_devices();
    const std::scoped_lock lock(device_mutex());
    std::vector<Device*> found;
    for (std::uint8_t id = 0; id < rte_compressdev_count(); ++id) {
      const std::string name = rte_compressdev_name_get(id);
      // The driver chooses the name of a PCI device's compression device. DPDK probes only the PCI devices that were named.
      const bool is_virtual = name.starts_with("compress_");
      const bool is_named =
          is_virtual ? std::find(names.begin(), names.end(), name) != names.end() : !dpdk::pci_devices().empty();
      if (!is_named) continue;
      const auto started = std::find_if(given_.begin(), given_.end(), [id](const auto& device) { return device->id == id; });
      found.push_back(started != given_.end() ? started->get() : given_.emplace_back(start_device(id, kMostQueuePairs)).get());
    }
    if (found.empty()) throw Error("none of the devices named with --device is a compression device of DPDK");
    return found;
  }

 private:
  std::vector<std::unique_ptr<Device>> made_;
  std::vector<std::unique_ptr<Device>> given_;
};

/// The target of an engine's operations: a driver in software, or the devices that the program was given.
class Provider {
 public:
  /// @param software  nullptr for the devices that the program was given
  explicit Provider(const Software* software) : software_(software) {}

  [[nodiscard]] const Software* software() const { return software_; }
  /// Return the library whose levels are accepted besides those of compressdev.
  [[nodiscard]] std::string library() const { return software_ == nullptr ? "compressdev" : software_->library; }

  /// Return the device for a session's lane, and the queue pair there. @throws Error
  [[nodiscard]] std::pair<Device*, std::uint16_t> device(std::size_t lane) const {
    if (software_ != nullptr) {
      const auto which = static_cast<unsigned>(std::bit_width(lane + 1) - 1);
      return {&Devices::instance().of(software_->driver, which),
              static_cast<std::uint16_t>(lane + 1 - (std::size_t{1} << which))};
    }
    std::size_t before = 0;
    for (Device* const device : Devices::instance().named()) {
      if (lane < before + device->queue_pairs) return {device, static_cast<std::uint16_t>(lane - before)};
      before += device->queue_pairs;
    }
    throw Error("the devices named with --device have " + std::to_string(before) +
                " queue pairs: use no more threads than that, or name more devices");
  }

 private:
  const Software* software_;
};

}  // namespace dpubench::compressdev
