// Reads the files of the server's dump, which record a trial packet by packet. They come from another process and are untrusted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

namespace dpubench::datapath {

class ServerDump {
 public:
  /// Read received.bitmap (a bit for each packet number), dropped.u64 and tx_full.u64 (numbers, 8 bytes each, little-endian).
  /// @throws Error when a file is missing or has an impossible length
  explicit ServerDump(const std::filesystem::path& folder);

  [[nodiscard]] bool received(std::uint64_t number) const {
    return number / 8 < received_.size() && (std::to_integer<unsigned>(received_[number / 8]) >> number % 8 & 1U) != 0;
  }
  [[nodiscard]] bool dropped(std::uint64_t number) const { return !dropped_.empty() && dropped_.contains(number); }
  /// Return whether the server's port did not take the packet.
  [[nodiscard]] bool refused(std::uint64_t number) const { return !refused_.empty() && refused_.contains(number); }
  /// Call `visit` for the number of each packet received, from `first` on.
  void for_each_behind(std::uint64_t first, const std::function<void(std::uint64_t)>& visit) const;
  /// Return whether no packet was received at all: none came, or they went through where the server does not see them (XDP).
  [[nodiscard]] bool nothing_received() const { return nothing_received_; }
  /// Return whether flows were counted. If no packets were received, something other than the server's loop counted them.
  [[nodiscard]] bool has_flows() const { return has_flows_; }

 private:
  std::vector<std::byte> received_;
  std::unordered_set<std::uint64_t> dropped_;
  std::unordered_set<std::uint64_t> refused_;
  bool nothing_received_ = true;
  bool has_flows_ = false;
};

/// One record of flows.bin.
struct FlowCount {
  std::uint8_t version = 4;
  std::uint8_t protocol = 0;
  std::uint16_t source_port = 0;
  std::uint16_t destination_port = 0;
  std::array<std::byte, 16> source{};
  std::array<std::byte, 16> destination{};
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;  ///< bytes of frames with FCS
};
/// Call `visit` for each record of a dump's flows.bin. @return false when there is no flows.bin @throws Error when it is cut off
bool for_each_flow(const std::filesystem::path& folder, const std::function<void(const FlowCount&)>& visit);

}  // namespace dpubench::datapath
