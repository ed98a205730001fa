// Parses any bytes. The result is a capture or an Error. Every packet of a capture must be an IP packet within its bytes.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/error.hpp"
#include "check.hpp"
#include "inputs/capture.hpp"
#include "packet/ip.hpp"

using dpubench::inputs::Capture;
using dpubench::inputs::Packet;

namespace {

void check(const Capture& capture, std::size_t file_size) {
  FUZZ_CHECK(capture.bytes.size() <= file_size);
  std::size_t end = 0;
  for (const Packet& packet : capture.packets) {
    FUZZ_CHECK(packet.offset == end);
    FUZZ_CHECK(packet.length <= capture.bytes.size() - packet.offset);
    end += packet.length;
    const auto ip = capture.ip(packet);
    FUZZ_CHECK(packet.version == 4 || packet.version == 6);
    FUZZ_CHECK(ip.size() >= (packet.version == 4 ? 20U : 40U));
    FUZZ_CHECK(std::to_integer<unsigned>(ip[0]) >> 4 == packet.version);
    dpubench::packet::Transport transport;
    if (!dpubench::packet::find_transport(ip, transport)) continue;
    FUZZ_CHECK(transport.header >= (packet.version == 4 ? 20U : 40U));
    FUZZ_CHECK(transport.payload >= transport.header + 8);
    FUZZ_CHECK(transport.payload <= transport.end);
    FUZZ_CHECK(transport.end <= packet.length);
  }
  FUZZ_CHECK(end == capture.bytes.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  try {
    const Capture capture = dpubench::inputs::parse_capture(file, "fuzz");
    check(capture, size);
    Capture twice = capture;
    twice.append(capture);
    check(twice, 2 * size);
    dpubench::inputs::require_packets(capture, "fuzz");
  } catch (const dpubench::Error&) {
    // refused with a message, as it should be
  }
  // Parse the bytes as one IP packet too. This reaches code that a capture's framing makes improbable.
  dpubench::packet::Transport transport;
  if (dpubench::packet::find_transport(file, transport)) FUZZ_CHECK(transport.payload <= transport.end && transport.end <= size);
  return 0;
}
