// The common part of ports over a driver of DPDK's ethdev: virtual devices, configuration, bursts, counters.
#pragma once

#include <memory>
#include <string>

#include "datapath/ports/port.hpp"

namespace dpubench::datapath {

/// A virtual device. It is removed when this object is destroyed.
class VirtualDevice {
 public:
  /// Make the device. @param prefix  name of the driver, such as "net_memif"; a number that is free in this process is appended
  /// @throws Error with the driver's errno
  VirtualDevice(const std::string& prefix, const std::string& arguments);
  VirtualDevice(const VirtualDevice&) = delete;
  VirtualDevice& operator=(const VirtualDevice&) = delete;
  ~VirtualDevice();
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  std::string name_;
};

/// The options with which a port of an ethdev is set up.
struct EthOptions {
  PortInfo info;  ///< the port fills in mtu_frame
  std::uint16_t descriptors = 1024;
  /// Packets that the rings or queues behind the port hold, if these are not its own descriptors; 0: as many as descriptors.
  std::uint32_t queue_packets = 0;
  /// For software drivers that carry any frame although their limits say otherwise.
  bool ignores_mtu = false;
  /// Set the MTU of the interface behind the port.
  bool sets_mtu = false;
  /// Close the port in the thread of the driver's handlers: when the other end leaves, they free the same memory as closing does.
  bool closes_among_handlers = false;
};

/// A port over any ethdev. The constructor starts it. The destructor stops it, closes it and removes a virtual device.
class EthPort : public Port {
 public:
  /// Set up and start the port. @param device  null for a device of the EAL's (PCI) @throws Error that names kind and step
  EthPort(std::unique_ptr<VirtualDevice> device, const std::string& device_name, const PortResources& resources,
          EthOptions options);
  EthPort(const EthPort&) = delete;
  EthPort& operator=(const EthPort&) = delete;
  ~EthPort() override;

  [[nodiscard]] const PortInfo& info() const override { return options_.info; }
  std::uint16_t receive(std::uint16_t queue, rte_mbuf** packets, std::uint16_t n) noexcept override;
  std::uint16_t transmit(std::uint16_t queue, rte_mbuf* const* packets, std::uint16_t n) noexcept override;
  [[nodiscard]] bool is_up() const noexcept override;
  [[nodiscard]] std::map<std::string, std::uint64_t> counters() const override;
  [[nodiscard]] std::uint32_t queue_packets() const noexcept override;
  /// Return DPDK's number of the port, for its flow API.
  [[nodiscard]] std::uint16_t number() const { return port_; }

 private:
  void configure(const PortResources& resources);

  std::unique_ptr<VirtualDevice> device_;
  EthOptions options_;
  std::uint16_t port_ = 0;
  std::uint16_t queues_;
};

/// Return why a driver of ethdev cannot be loaded, and the package that has it; empty if it can be loaded. @param name  "memif"
PortKind::Reason net_driver_missing(const std::string& name);

/// Return an argument of `spec`, or the default that `info` gives it.
std::string argument(const PortKindInfo& info, const PortSpec& spec, const std::string& name);
/// Return an argument as a number. @throws Error unless it is a number from `least` to `most`
std::uint32_t number_argument(const PortKindInfo& info, const PortSpec& spec, const std::string& name, std::uint32_t least,
                              std::uint32_t most);
/// Return whether an argument is "yes". @throws Error unless it is "yes" or "no"
bool flag_argument(const PortKindInfo& info, const PortSpec& spec, const std::string& name);

/// Return the beginning of every message of a kind: "port memif: ".
std::string port_prefix(const std::string& kind);

}  // namespace dpubench::datapath
