// The packets of study headroom: Ethernet, IPv4, UDP, a payload, and at the end the trailer that says which packet it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace dpubench::headroom {

/// Return a packet of `size` bytes (without FCS) whose trailer is still to be written. Its headers are valid: the IPv4 checksum
/// is right, the UDP checksum is 0 (none, RFC 768). @param destination_mac as text @param thread the sending thread, which
/// chooses the UDP source port: a device that spreads flows over queues sees one flow per thread
std::vector<std::byte> make_packet(std::uint32_t size, const std::string& destination_mac, unsigned thread);

/// Write the trailer of packet `number` of thread `thread` in trial `trial` over the last bytes of a packet.
void write_number(std::span<std::byte> packet, std::uint32_t trial, unsigned thread, std::uint64_t number) noexcept;

/// The accounts of a sink, or those that a sender expects of it.
struct Tally {
  std::uint64_t packets = 0;     ///< packets of the trial with a valid trailer
  std::uint64_t bytes = 0;       ///< their bytes, without FCS
  std::uint64_t number_sum = 0;  ///< sum of their numbers, modulo 2^64: equal counts of different packets are told apart
  std::uint64_t other = 0;       ///< packets without a valid trailer: of others, or damaged
  std::uint64_t stale = 0;       ///< packets of another trial

  void add(const Tally& more) noexcept;
};

/// Count a received packet. Only its trailer is read. @param packet all of it; of its headers only the length counts
void count(Tally& tally, std::span<const std::byte> packet, std::uint32_t trial) noexcept;

/// Return the sum of the numbers of the first `packets` packets of a thread that sends each of them `reuse` times.
std::uint64_t sum_of_numbers(std::uint64_t packets, std::uint64_t reuse) noexcept;

}  // namespace dpubench::headroom
