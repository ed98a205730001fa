// Parses any bytes as a frame. Offsets must be in order and within the frame, nothing may be read or written beyond it, and
// checksums must be right after they are set.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "check.hpp"
#include "packet/frame.hpp"

using dpubench::packet::Kind;
using dpubench::packet::Parsed;

namespace {

void check(const Parsed& p, std::size_t frame) {
  if (p.kind != Kind::kTransport && p.kind != Kind::kFragment && p.kind != Kind::kOtherIp) {
    FUZZ_CHECK(p.version == 0 && p.protocol == 0 && !p.first_fragment);
    FUZZ_CHECK(p.ip == 0 && p.transport == 0 && p.payload == 0 && p.end == 0);
    return;
  }
  const int header = p.version == 4 ? 20 : 40;
  FUZZ_CHECK(p.version == 4 || p.version == 6);
  FUZZ_CHECK(p.ip == 14 || p.ip == 18 || p.ip == 22);
  FUZZ_CHECK(p.end >= p.ip + header && p.end <= frame);
  if (p.kind != Kind::kTransport) {
    FUZZ_CHECK(p.transport == 0 && p.payload == 0);
    return;
  }
  FUZZ_CHECK(p.protocol == 6 || p.protocol == 17 || p.protocol == 132);
  FUZZ_CHECK(p.transport >= p.ip + header);
  FUZZ_CHECK(p.payload >= p.transport + (p.protocol == 6 ? 20 : p.protocol == 17 ? 8 : 12));
  FUZZ_CHECK(p.payload <= p.end);
}

/// Parse a frame and check the result. @param frame  in separate memory, so that the sanitizer sees accesses beyond it
void parse_and_check(std::vector<std::byte> frame) {
  const Parsed p = dpubench::packet::parse(frame);
  check(p, frame.size());
  static_cast<void>(dpubench::packet::ip_checksum_valid(frame, p));
  static_cast<void>(dpubench::packet::transport_checksum_valid(frame, p));
  const std::vector<std::byte> before = frame;
  dpubench::packet::set_checksums(frame, p);
  FUZZ_CHECK(dpubench::packet::ip_checksum_valid(frame, p));
  FUZZ_CHECK(dpubench::packet::transport_checksum_valid(frame, p));
  const Parsed again = dpubench::packet::parse(frame);
  FUZZ_CHECK(again.kind == p.kind && again.transport == p.transport && again.payload == p.payload && again.end == p.end);
  if (p.version != 0) return;
  FUZZ_CHECK(frame == before);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  parse_and_check({bytes.begin(), bytes.end()});
  // Parse the bytes as an IP packet too. This reaches the code behind the EtherType more often.
  if (bytes.empty()) return 0;
  std::vector<std::byte> frame(12);
  const bool is_ipv6 = data[0] >> 4 == 6;
  frame.push_back(static_cast<std::byte>(is_ipv6 ? 0x86 : 0x08));
  frame.push_back(static_cast<std::byte>(is_ipv6 ? 0xdd : 0x00));
  frame.insert(frame.end(), bytes.begin(), bytes.end());
  parse_and_check(frame);
  return 0;
}
