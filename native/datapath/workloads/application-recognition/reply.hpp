// Rewrites a packet's bytes for the reply: addresses, lengths, checksums, trailer, and the mark by which servers tell each
// other its class.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "datapath/frame/size.hpp"
#include "datapath/frame/trailer.hpp"
#include "packet/frame.hpp"

namespace dpubench::datapath::recognition {

/// The treatment of a packet.
enum class Class : std::uint8_t { kEcho, kHash, kCompress };
inline constexpr std::size_t kClasses = 3;
const char* class_name(Class c) noexcept;

/// Return the class of a rule by its place in the set: 0, 3, 6 ... are sent back, 1, 4, 7 ... hashed, 2, 5, 8 ... compressed.
constexpr Class class_of_rule(std::size_t rule) noexcept {
  return static_cast<Class>(rule % kClasses);
}

/// Return the length of a frame (buffer, without FCS) whose IP packet ends at `packet_end`. It includes the form of the trailer
/// that this length asks for, or, without a trailer, the padding to Ethernet's minimum.
std::uint32_t frame_bytes(std::uint32_t packet_end, bool has_trailer) noexcept;

/// Finish the reply in a frame that holds the received headers and then the new payload: swap the Ethernet addresses, and set
/// the lengths of IP and UDP, both checksums and the trailer. TCP's numbers stay.
/// @param frame  frame_bytes(parsed.payload + payload_bytes, trailer) bytes @param parsed  of the received frame: kTransport,
/// TCP or UDP, no fragment
void finish_reply(std::span<std::byte> frame, const packet::Parsed& parsed, std::uint32_t payload_bytes,
                  const std::optional<Trailer>& trailer) noexcept;

/// Mark an IP packet with its class for the next server. Its EtherType becomes one of the two for local experiments (IEEE Std
/// 802, 88-B5: hash, 88-B6: compress). Nothing else changes; unmark() restores the EtherType from the version in the IP header.
void mark(std::byte* frame, const packet::Parsed& parsed, Class c) noexcept;
/// Return the class of a marked frame and restore its EtherType. Return nothing when there is no mark.
std::optional<Class> unmark(std::span<std::byte> frame) noexcept;

}  // namespace dpubench::datapath::recognition
