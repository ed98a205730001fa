// Captures built byte by byte, for tests of what reads them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dpubench::test {

/// Bytes under construction; numbers in the byte order asked for.
class Bytes {
 public:
  explicit Bytes(bool big = true) : big_(big) {}
  Bytes& u8(std::uint64_t v) { return number(v, 1); }
  Bytes& u16(std::uint64_t v) { return number(v, 2); }
  Bytes& u32(std::uint64_t v) { return number(v, 4); }
  Bytes& u64(std::uint64_t v) { return number(v, 8); }
  Bytes& zeros(std::size_t n) { return add(std::vector<std::byte>(n)); }
  Bytes& add(const std::vector<std::byte>& other) {
    bytes_.insert(bytes_.end(), other.begin(), other.end());
    return *this;
  }
  /// Pairs of hexadecimal digits; blanks are for the reader.
  Bytes& hex(std::string_view digits) {
    std::string pair;
    for (const char c : digits) {
      if (c == ' ') continue;
      pair += c;
      if (pair.size() < 2) continue;
      u8(std::stoul(pair, nullptr, 16));
      pair.clear();
    }
    return *this;
  }
  [[nodiscard]] const std::vector<std::byte>& get() const { return bytes_; }
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }

 private:
  Bytes& number(std::uint64_t v, int width) {
    for (int i = 0; i < width; ++i) bytes_.push_back(static_cast<std::byte>(v >> 8 * (big_ ? width - 1 - i : i) & 0xffU));
    return *this;
  }
  bool big_;
  std::vector<std::byte> bytes_;
};

inline std::vector<std::byte> hex(std::string_view digits) {
  return Bytes().hex(digits).get();
}

/// `front` and then `back`.
inline std::vector<std::byte> join(std::vector<std::byte> front, const std::vector<std::byte>& back) {
  front.insert(front.end(), back.begin(), back.end());
  return front;
}

/// An IPv4 packet of zero checksums with `payload`.
inline std::vector<std::byte> ipv4(std::uint8_t protocol, const std::vector<std::byte>& payload, std::uint16_t fragment = 0) {
  return Bytes()
      .u16(0x4500)
      .u16(20 + payload.size())
      .u16(1)
      .u16(fragment)
      .u8(64)
      .u8(protocol)
      .u16(0)
      .hex("c6120001 c6130001")
      .add(payload)
      .get();
}

/// An IPv6 packet; `length` in its header.
inline std::vector<std::byte> ipv6(std::uint8_t next_header, const std::vector<std::byte>& payload, std::size_t length) {
  return Bytes()
      .u32(0x60000000)
      .u16(length)
      .u8(next_header)
      .u8(64)
      .hex("20010002 000000000000000000000001 20010002 000000000000000000000002")
      .add(payload)
      .get();
}
inline std::vector<std::byte> ipv6(std::uint8_t next_header, const std::vector<std::byte>& payload) {
  return ipv6(next_header, payload, payload.size());
}

/// A UDP header with four bytes behind it.
inline std::vector<std::byte> udp() {
  return hex("0400 0035 000c 0000 01020304");
}
/// A TCP header with one word of options and four bytes behind it.
inline std::vector<std::byte> tcp() {
  return hex("0400 0050 00000001 00000002 6010 ffff 0000 0000 01010100 01020304");
}

struct PcapOptions {
  std::uint32_t magic = 0xa1b2c3d4;
  bool big = false;
};

/// A classic capture; record i has time 1000000000 + i seconds and 5 fractions.
inline std::vector<std::byte> pcap(std::uint32_t link, const std::vector<std::vector<std::byte>>& frames,
                                   PcapOptions options = {}) {
  Bytes out(options.big);
  out.u32(options.magic).u16(2).u16(4).u32(0).u32(0).u32(65535).u32(link);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    out.u32(1'000'000'000 + i).u32(5).u32(frames[i].size()).u32(frames[i].size());
    if (options.magic == 0xa1b2cd34) out.zeros(8);
    out.add(frames[i]);
  }
  return out.get();
}

/// A pcapng block around `body`, padded.
inline std::vector<std::byte> block(bool big, std::uint32_t type, const std::vector<std::byte>& body) {
  const std::size_t padding = (4 - body.size() % 4) % 4;
  const std::size_t length = body.size() + padding + 12;
  return Bytes(big).u32(type).u32(length).add(body).zeros(padding).u32(length).get();
}

inline std::vector<std::byte> section_header(bool big) {
  return block(big, 0x0a0d0d0a, Bytes(big).u32(0x1a2b3c4d).u16(1).u16(0).u64(~std::uint64_t{0}).get());
}

/// @param options  coded options, may be empty
inline std::vector<std::byte> interface_block(bool big, std::uint32_t link, std::uint32_t snap_length,
                                              const std::vector<std::byte>& options = {}) {
  return block(big, 1, Bytes(big).u16(link).u16(0).u32(snap_length).add(options).get());
}

inline std::vector<std::byte> enhanced_packet(bool big, std::uint32_t interface, std::uint64_t ticks,
                                              const std::vector<std::byte>& frame) {
  return block(
      big, 6,
      Bytes(big).u32(interface).u32(ticks >> 32).u32(ticks & 0xffffffffU).u32(frame.size()).u32(frame.size()).add(frame).get());
}

}  // namespace dpubench::test
