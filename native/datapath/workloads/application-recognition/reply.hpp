// What becomes of a packet's bytes: addresses, lengths, checksums, trailer, and the mark by which servers tell each other its
// class.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "datapath/frame/parse.hpp"
#include "datapath/frame/trailer.hpp"

namespace dpubench::datapath::recognition {

/// What is done with a packet.
enum class Class : std::uint8_t { kEcho, kHash, kCompress };
inline constexpr std::size_t kClasses = 3;
const char* class_name(Class c) noexcept;

/// By the rule's place in the set: 0, 3, 6 ... are sent back, 1, 4, 7 ... hashed, 2, 5, 8 ... compressed.
constexpr Class class_of_rule(std::size_t rule) noexcept {
  return static_cast<Class>(rule % kClasses);
}

inline constexpr std::size_t kEthernetHeader = 14;

/// Length of a frame (buffer, without FCS) whose IP packet ends at `packet_end`: with the form of the trailer that this length
/// asks for, or padded to Ethernet's minimum where there is none.
std::uint32_t frame_bytes(std::uint32_t packet_end, bool has_trailer) noexcept;

/// Makes a reply of a frame that holds the headers of what was received, then a payload in place of that: swaps the Ethernet
/// addresses, sets the lengths of IP and UDP, both checksums and the trailer. TCP's numbers stay.
/// @param frame frame_bytes(parsed.payload + payload_bytes, trailer) bytes @param parsed of what was received, kTransport, TCP or
/// UDP, no fragment
void finish_reply(std::span<std::byte> frame, const Parsed& parsed, std::uint32_t payload_bytes,
                  const std::optional<Trailer>& trailer) noexcept;

/// Marks an IP packet's class for the next server: its EtherType becomes one of the two for local experiments (IEEE Std 802,
/// 88-B5: hash, 88-B6: compress). Nothing else changes, and unmark() restores it from the version in the IP header.
void mark(std::byte* frame, const Parsed& parsed, Class c) noexcept;
/// The class of a marked frame, whose EtherType is restored; nothing where there is no mark.
std::optional<Class> unmark(std::span<std::byte> frame) noexcept;

}  // namespace dpubench::datapath::recognition
