// What kinds of ports share that a driver of DPDK's ethdev carries: virtual devices, configuration, bursts, counters.
#pragma once

#include <memory>
#include <string>

#include "datapath/ports/port.hpp"

namespace dpubench::datapath {

/// A virtual device, until this is destroyed.
class VirtualDevice {
 public:
  /// @param prefix  the driver's: "net_memif"; a number that is free in this process follows @throws Error with the driver's
  /// errno
  VirtualDevice(const std::string& prefix, const std::string& arguments);
  VirtualDevice(const VirtualDevice&) = delete;
  VirtualDevice& operator=(const VirtualDevice&) = delete;
  ~VirtualDevice();
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  std::string name_;
};

/// How a port of an ethdev is set up.
struct EthOptions {
  PortInfo info;  ///< mtu_frame is filled in
  std::uint16_t descriptors = 1024;
  /// Of the rings or queues behind the port, where they are not its own descriptors; 0: as many as descriptors.
  std::uint32_t queue_packets = 0;
  /// Software drivers that carry any frame say otherwise in their limits.
  bool ignores_mtu = false;
  /// The interface behind the port is to be told its MTU.
  bool sets_mtu = false;
  /// Handlers of the driver's free what closing frees too, when the other end leaves: it is closed in their thread.
  bool closes_among_handlers = false;
};

/// A port over any ethdev. Started when constructed; stopped, closed and (a virtual device) removed when destroyed.
class EthPort : public Port {
 public:
  /// @param device  may be null: a device of the EAL's (PCI) @throws Error naming kind and step
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
  /// DPDK's number of it, for its flow API.
  [[nodiscard]] std::uint16_t number() const { return port_; }

 private:
  void configure(const PortResources& resources);

  std::unique_ptr<VirtualDevice> device_;
  EthOptions options_;
  std::uint16_t port_ = 0;
  std::uint16_t queues_;
};

/// Why a driver of ethdev cannot be loaded, and the package that has it; empty if it can. @param name  "memif"
PortKind::Reason net_driver_missing(const std::string& name);

/// `spec`'s argument, or the default that `info` gives it.
std::string argument(const PortKindInfo& info, const PortSpec& spec, const std::string& name);
/// The same, as a number. @throws Error unless it is one from `least` to `most`
std::uint32_t number_argument(const PortKindInfo& info, const PortSpec& spec, const std::string& name, std::uint32_t least,
                              std::uint32_t most);
/// The same, "yes" or "no". @throws Error
bool flag_argument(const PortKindInfo& info, const PortSpec& spec, const std::string& name);

/// What every message of a kind begins with: "port memif: ".
std::string port_prefix(const std::string& kind);

}  // namespace dpubench::datapath
