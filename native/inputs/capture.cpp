#include "inputs/capture.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "base/error.hpp"
#include "inputs/file.hpp"

namespace dpubench::inputs {

namespace {

using Bytes = std::span<const std::byte>;

// Callers check the length before they read.
std::uint32_t u8(Bytes b, std::size_t at) {
  return std::to_integer<std::uint32_t>(b[at]);
}
std::uint32_t be16(Bytes b, std::size_t at) {
  return u8(b, at) << 8 | u8(b, at + 1);
}
std::uint32_t be32(Bytes b, std::size_t at) {
  return be16(b, at) << 16 | be16(b, at + 2);
}
std::uint32_t le16(Bytes b, std::size_t at) {
  return u8(b, at) | u8(b, at + 1) << 8;
}
std::uint32_t le32(Bytes b, std::size_t at) {
  return le16(b, at) | le16(b, at + 2) << 16;
}

/// Reads numbers in the byte order that a file, or a section of it, declares.
struct Order {
  bool big = false;
  [[nodiscard]] std::uint32_t u16(Bytes b, std::size_t at) const { return big ? be16(b, at) : le16(b, at); }
  [[nodiscard]] std::uint32_t u32(Bytes b, std::size_t at) const { return big ? be32(b, at) : le32(b, at); }
};

// ---------------------------------------------------------------------------------------------------------------- IP headers

constexpr std::uint32_t kIpv4Header = 20;
constexpr std::uint32_t kIpv6Header = 40;
constexpr std::uint32_t kHopByHop = 0;
constexpr std::uint32_t kNoNextHeader = 59;

/// Payload length in a jumbogram's hop-by-hop option (RFC 2675 section 2), 0 when there is none.
std::uint32_t jumbo_payload(Bytes ip) {
  constexpr std::uint32_t kPad1 = 0;
  constexpr std::uint32_t kJumbo = 0xc2;
  if (u8(ip, 6) != kHopByHop || ip.size() < kIpv6Header + 8) return 0;
  const std::size_t end = std::min<std::size_t>(ip.size(), kIpv6Header + 8 * (u8(ip, kIpv6Header + 1) + 1));
  for (std::size_t at = kIpv6Header + 2; at + 2 <= end;) {
    if (u8(ip, at) == kPad1) {
      ++at;
      continue;
    }
    const std::uint32_t length = u8(ip, at + 1);
    if (u8(ip, at) == kJumbo && length == 4 && at + 6 <= end) return be32(ip, at + 2);
    at += 2 + length;
  }
  return 0;
}

/// What an IP header says of its packet.
struct Extent {
  std::uint32_t version;
  std::uint32_t header;  ///< bytes of the fixed header with IPv4 options
  std::size_t length;    ///< of the packet, at most what was captured
};

/// Nothing when the header is cut off or contradicts itself. A length of zero is what a host's own captures show of packets that
/// the device is to segment: such a packet goes to the end of the frame.
std::optional<Extent> ip_extent(Bytes ip) {
  if (ip.empty()) return std::nullopt;
  const std::uint32_t version = u8(ip, 0) >> 4;
  if (version == 4) {
    if (ip.size() < kIpv4Header) return std::nullopt;
    const std::uint32_t header = (u8(ip, 0) & 0xfU) * 4;
    const std::uint32_t total = be16(ip, 2);
    if (header < kIpv4Header || header > ip.size() || (total != 0 && total < header)) return std::nullopt;
    return Extent{version, header, total == 0 ? ip.size() : std::min<std::size_t>(total, ip.size())};
  }
  if (version == 6) {
    if (ip.size() < kIpv6Header) return std::nullopt;
    std::uint64_t payload = be16(ip, 4);
    if (payload == 0) payload = jumbo_payload(ip);
    if (payload == 0 && u8(ip, 6) != kNoNextHeader) payload = ip.size();
    return Extent{version, kIpv6Header, static_cast<std::size_t>(std::min<std::uint64_t>(kIpv6Header + payload, ip.size()))};
  }
  return std::nullopt;
}

// ---------------------------------------------------------------------------------------------------------------- link layers

/// What stands at the front of the bytes that are left of a frame.
enum class Layer : std::uint8_t {
  kEtherType,    ///< a 16-bit EtherType, or an 802.3 length with LLC behind it
  kCookedType,   ///< a 16-bit EtherType, or a small number of Linux's own with LLC behind 4
  kLlc,          ///< IEEE 802.2
  kSnap,         ///< OUI and type
  kMpls,         ///< label stack (RFC 3032)
  kPpp,          ///< protocol number, address and control field before it or not (RFC 1662)
  kPppoe,        ///< RFC 2516 session
  kPppHdlc,      ///< PPP in HDLC-like framing, or Cisco HDLC
  kNull,         ///< BSD address family in the byte order of the capturing host
  kSll2,         ///< Linux cooked header, version 2
  kFrameRelay,   ///< RFC 2427
  kTokenRing,    ///< IEEE 802.5
  kDot11,        ///< IEEE 802.11
  kDot11Padded,  ///< IEEE 802.11, header padded to a multiple of four
  kRadiotap,
  kPpi,
  kIp,      ///< IP of the version that its first byte says
  kIp4,     ///< must be IPv4
  kIp6,     ///< must be IPv6
  kOther,   ///< not IP
  kBroken,  ///< cut off or contradicting itself
};

struct Rest {
  Layer layer = Layer::kBroken;
  Bytes bytes;
};

/// `layer` after `skip` bytes.
Rest after(Bytes bytes, std::size_t skip, Layer layer) {
  return bytes.size() < skip ? Rest{} : Rest{layer, bytes.subspan(skip)};
}

/// Link types of capture files (the registry at www.tcpdump.org/linktypes.html): how many bytes lead, and what follows.
struct LinkType {
  std::uint32_t number;
  std::size_t skip;
  Layer layer;
};
constexpr std::array kLinkTypes = std::to_array<LinkType>({
    {0, 0, Layer::kNull},           // NULL
    {1, 12, Layer::kEtherType},     // EN10MB: two addresses, then the type
    {6, 0, Layer::kTokenRing},      // IEEE802_5
    {8, 16, Layer::kIp},            // SLIP: direction and compressed header, then the packet whole
    {9, 0, Layer::kPpp},            // PPP
    {10, 13, Layer::kLlc},          // FDDI: frame control and two addresses
    {12, 0, Layer::kIp},            // RAW on most systems
    {14, 0, Layer::kIp},            // RAW on OpenBSD
    {50, 0, Layer::kPppHdlc},       // PPP_HDLC
    {51, 0, Layer::kPppoe},         // PPP_ETHER
    {100, 0, Layer::kLlc},          // ATM_RFC1483
    {101, 0, Layer::kIp},           // RAW
    {104, 2, Layer::kCookedType},   // C_HDLC: address and control, then the type
    {105, 0, Layer::kDot11},        // IEEE802_11
    {107, 0, Layer::kFrameRelay},   // FRELAY
    {108, 0, Layer::kNull},         // LOOP
    {109, 12, Layer::kIp},          // ENC: family, SPI, flags
    {113, 14, Layer::kCookedType},  // LINUX_SLL
    {119, 144, Layer::kDot11},      // IEEE802_11_PRISM
    {122, 16, Layer::kLlc},         // IP_OVER_FC: two addresses
    {127, 0, Layer::kRadiotap},     // IEEE802_11_RADIOTAP
    {138, 16, Layer::kCookedType},  // APPLE_IP_OVER_IEEE1394: two addresses
    {166, 2, Layer::kPpp},          // PPP_PPPD: direction in place of the address field, control
    {192, 0, Layer::kPpi},          // PPI
    {204, 1, Layer::kPpp},          // PPP_WITH_DIR
    {219, 0, Layer::kMpls},         // MPLS
    {228, 0, Layer::kIp4},          // IPV4
    {229, 0, Layer::kIp6},          // IPV6
    {240, 16, Layer::kEtherType},   // NETANALYZER: four bytes, then Ethernet
    {276, 0, Layer::kSll2},         // LINUX_SLL2
});

Rest by_link_type(std::uint32_t number, Bytes frame) {
  const auto it = std::find_if(kLinkTypes.begin(), kLinkTypes.end(), [&](const LinkType& l) { return l.number == number; });
  return it == kLinkTypes.end() ? Rest{Layer::kOther, frame} : after(frame, it->skip, it->layer);
}

Rest ether_type(std::uint32_t type, Bytes rest) {
  constexpr std::size_t kTagControl = 2;
  switch (type) {
    case 0x0800:
      return {Layer::kIp4, rest};
    case 0x86dd:
      return {Layer::kIp6, rest};
    case 0x8100:  // IEEE 802.1Q
    case 0x88a8:  // IEEE 802.1ad
    case 0x9100:  // stacked tags before 802.1ad
      return after(rest, kTagControl, Layer::kEtherType);
    case 0x8847:
    case 0x8848:
      return {Layer::kMpls, rest};
    case 0x8864:
      return {Layer::kPppoe, rest};
    default:
      return {Layer::kOther, rest};
  }
}

Rest ppp(Bytes b) {
  if (b.size() >= 2 && be16(b, 0) == 0xff03) b = b.subspan(2);
  if (b.empty()) return {};
  // RFC 1661 section 2: the last byte of a protocol number is odd, all before it even, so one byte may stand alone.
  const std::size_t bytes = (u8(b, 0) & 1U) != 0 ? 1 : 2;
  if (b.size() < bytes) return {};
  const Bytes rest = b.subspan(bytes);
  switch (bytes == 1 ? u8(b, 0) : be16(b, 0)) {
    case 0x0021:
      return {Layer::kIp4, rest};
    case 0x0057:
      return {Layer::kIp6, rest};
    case 0x0281:
    case 0x0283:
      return {Layer::kMpls, rest};
    default:
      return {Layer::kOther, rest};
  }
}

Rest frame_relay(Bytes b) {
  constexpr std::size_t kLongestAddress = 4;
  std::size_t at = 0;
  while (at < b.size() && at < kLongestAddress && (u8(b, at) & 1U) == 0) ++at;
  b = b.subspan(std::min(at + 1, b.size()));
  if (b.size() < 2) return {};
  if (u8(b, 0) != 0x03) return {Layer::kCookedType, b};  // Cisco's encapsulation has an EtherType here, RFC 2427 control 3
  b = b.subspan(1);
  if (u8(b, 0) == 0x00) b = b.subspan(1);  // padding before the network layer's identifier
  if (b.empty()) return {};
  switch (u8(b, 0)) {
    case 0xcc:
      return {Layer::kIp4, b.subspan(1)};
    case 0x8e:
      return {Layer::kIp6, b.subspan(1)};
    case 0x80:
      return {Layer::kSnap, b.subspan(1)};
    default:
      return {Layer::kOther, b};
  }
}

/// Data frames that are neither encrypted, fragments, nor aggregates (A-MSDU): of those the IP header is not in plain sight.
Rest dot11(Bytes b, bool padded) {
  constexpr std::size_t kAddresses3 = 24;
  if (b.size() < 2) return {};
  const std::uint32_t control = u8(b, 0);
  const std::uint32_t flags = u8(b, 1);
  const bool is_data = (control & 0x0cU) == 0x08 && (control & 0x40U) == 0;
  const bool is_protected = (flags & 0x40U) != 0;
  if (!is_data || is_protected) return {Layer::kOther, b};
  const bool has_qos = (control & 0x80U) != 0;
  const bool has_address4 = (flags & 0x03U) == 0x03;
  const bool has_ht_control = has_qos && (flags & 0x80U) != 0;
  const std::size_t qos_at = kAddresses3 + (has_address4 ? 6 : 0);
  const std::size_t header = qos_at + (has_qos ? 2 : 0) + (has_ht_control ? 4 : 0);
  if (b.size() < header) return {};
  const bool is_later_fragment = (u8(b, 22) & 0x0fU) != 0;
  const bool is_aggregate = has_qos && (u8(b, qos_at) & 0x80U) != 0;
  if (is_later_fragment || is_aggregate) return {Layer::kOther, b};
  return after(b, padded ? (header + 3) / 4 * 4 : header, Layer::kLlc);
}

/// www.radiotap.org: little endian, fields aligned to their size, present when their bit is set.
Rest radiotap(Bytes b) {
  constexpr std::uint32_t kMorePresent = 1U << 31;
  constexpr std::uint32_t kTimer = 1U << 0;
  constexpr std::uint32_t kFlags = 1U << 1;
  constexpr std::uint32_t kDataPad = 0x20;
  if (b.size() < 8) return {};
  const std::size_t length = le16(b, 2);
  if (length < 8 || length > b.size()) return {};
  const std::uint32_t present = le32(b, 4);
  std::size_t at = 8;
  for (std::uint32_t word = present; (word & kMorePresent) != 0 && at + 4 <= length; at += 4) word = le32(b, at);
  if ((present & kTimer) != 0) at = (at + 7) / 8 * 8 + 8;
  const bool padded = (present & kFlags) != 0 && at < length && (u8(b, at) & kDataPad) != 0;
  return {padded ? Layer::kDot11Padded : Layer::kDot11, b.subspan(length)};
}

Rest null_family(Bytes b) {
  if (b.size() < 4) return {};
  const std::uint32_t family = std::min(be32(b, 0), le32(b, 0));  // both orders occur; a family is a small number
  const Bytes rest = b.subspan(4);
  switch (family) {
    case 2:
      return {Layer::kIp4, rest};
    case 10:  // Linux
    case 23:  // Windows
    case 24:  // NetBSD, OpenBSD
    case 28:  // FreeBSD
    case 30:  // Darwin
      return {Layer::kIp6, rest};
    default:
      return {Layer::kOther, rest};
  }
}

/// Takes one layer off; always ends, because every step shortens the bytes or goes towards kIp, kOther or kBroken.
Rest step(Layer layer, Bytes b) {
  constexpr std::uint32_t kFirstEtherType = 1536;
  constexpr std::uint32_t kLongest8023 = 1500;
  switch (layer) {
    case Layer::kEtherType: {
      if (b.size() < 2) return {};
      const std::uint32_t type = be16(b, 0);
      const Bytes rest = b.subspan(2);
      if (type >= kFirstEtherType) return ether_type(type, rest);
      if (type > kLongest8023) return {Layer::kOther, rest};
      return {Layer::kLlc, rest.first(std::min<std::size_t>(type, rest.size()))};
    }
    case Layer::kCookedType: {
      if (b.size() < 2) return {};
      const std::uint32_t type = be16(b, 0);
      return type == 4 ? Rest{Layer::kLlc, b.subspan(2)} : ether_type(type, b.subspan(2));
    }
    case Layer::kLlc: {
      if (b.size() < 3) return {};
      const std::uint32_t service = be16(b, 0);
      if (u8(b, 2) != 0x03) return {Layer::kOther, b};  // only unnumbered information carries IP
      if (service == 0xaaaa) return {Layer::kSnap, b.subspan(3)};
      return {service == 0x0606 ? Layer::kIp4 : Layer::kOther, b.subspan(3)};
    }
    case Layer::kSnap: {
      if (b.size() < 5) return {};
      const std::uint32_t organisation = be32(b, 0) >> 8;
      // RFC 1042; 0000f8 is the bridge-tunnel encapsulation of IEEE 802.1H.
      return organisation == 0 || organisation == 0xf8 ? ether_type(be16(b, 3), b.subspan(5)) : Rest{Layer::kOther, b};
    }
    case Layer::kMpls: {
      if (b.size() < 4) return {};
      const bool is_bottom = (u8(b, 2) & 1U) != 0;
      const Bytes rest = b.subspan(4);
      if (!is_bottom) return {Layer::kMpls, rest};
      if (rest.empty()) return {};
      // Below the last label nothing names the protocol; RFC 4928 section 3: the first nibble tells IP from all else.
      const std::uint32_t nibble = u8(rest, 0) >> 4;
      return {nibble == 4 || nibble == 6 ? Layer::kIp : Layer::kOther, rest};
    }
    case Layer::kPpp:
      return ppp(b);
    case Layer::kPppoe: {
      constexpr std::size_t kHeader = 6;
      if (b.size() < kHeader) return {};
      const bool is_session = u8(b, 0) == 0x11 && u8(b, 1) == 0;
      const Bytes rest = b.subspan(kHeader);
      return {is_session ? Layer::kPpp : Layer::kOther, rest.first(std::min<std::size_t>(be16(b, 4), rest.size()))};
    }
    case Layer::kPppHdlc:
      if (b.empty()) return {};
      // Cisco HDLC begins with 0f (unicast) or 8f (multicast) where PPP has ff.
      return u8(b, 0) == 0x0f || u8(b, 0) == 0x8f ? after(b, 2, Layer::kCookedType) : Rest{Layer::kPpp, b};
    case Layer::kNull:
      return null_family(b);
    case Layer::kSll2: {
      constexpr std::size_t kHeader = 20;
      if (b.size() < kHeader) return {};
      const std::uint32_t type = be16(b, 0);
      return type == 4 ? Rest{Layer::kLlc, b.subspan(kHeader)} : ether_type(type, b.subspan(kHeader));
    }
    case Layer::kFrameRelay:
      return frame_relay(b);
    case Layer::kTokenRing: {
      constexpr std::size_t kHeader = 14;
      if (b.size() < kHeader + 1) return {};
      const bool is_source_routed = (u8(b, 8) & 0x80U) != 0;
      return after(b, kHeader + (is_source_routed ? u8(b, kHeader) & 0x1fU : 0), Layer::kLlc);
    }
    case Layer::kDot11:
      return dot11(b, false);
    case Layer::kDot11Padded:
      return dot11(b, true);
    case Layer::kRadiotap:
      return radiotap(b);
    case Layer::kPpi: {
      if (b.size() < 8) return {};
      const std::size_t length = le16(b, 2);
      return length < 8 || length > b.size() ? Rest{} : by_link_type(le32(b, 4), b.subspan(length));
    }
    case Layer::kIp:
    case Layer::kIp4:
    case Layer::kIp6:
    case Layer::kOther:
    case Layer::kBroken:
      break;
  }
  return {layer, b};
}

bool is_last(Layer layer) {
  return layer >= Layer::kIp;
}

// ---------------------------------------------------------------------------------------------------------------- files

// Far above any link's frames and the largest jumbograms that hosts send to themselves; a longer record is a damaged file.
constexpr std::uint32_t kLongestRecord = 64U << 20;
constexpr std::uint64_t kNsPerSecond = 1'000'000'000;

[[noreturn]] void fail(const std::string& name, std::size_t offset, const std::string& what) {
  throw Error("capture " + name + ", byte " + std::to_string(offset) + ": " + what);
}

/// One frame as a file records it.
struct Frame {
  std::uint32_t link = 0;
  std::uint64_t time_ns = 0;
  Bytes bytes;
  std::uint32_t wire_length = 0;
  std::uint32_t fcs_bytes = 0;  ///< of wire_length
};

void add(Capture& capture, const Frame& frame) {
  Rest rest = by_link_type(frame.link, frame.bytes);
  while (!is_last(rest.layer)) rest = step(rest.layer, rest.bytes);
  if (rest.layer == Layer::kOther) {
    ++capture.non_ip;
    return;
  }
  const std::optional<Extent> extent = rest.layer == Layer::kBroken ? std::nullopt : ip_extent(rest.bytes);
  if (!extent || (rest.layer == Layer::kIp4 && extent->version != 4) || (rest.layer == Layer::kIp6 && extent->version != 6)) {
    ++capture.malformed;
    return;
  }
  // A wire length below the captured length is a recorder's mistake.
  const std::uint32_t wire = std::max(frame.wire_length, static_cast<std::uint32_t>(frame.bytes.size()));
  capture.packets.push_back({.time_ns = frame.time_ns,
                             .offset = capture.bytes.size(),
                             .length = static_cast<std::uint32_t>(extent->length),
                             .frame_length = wire - std::min(wire, frame.fcs_bytes),
                             .version = static_cast<std::uint8_t>(extent->version)});
  const Bytes ip = rest.bytes.first(extent->length);
  capture.bytes.insert(capture.bytes.end(), ip.begin(), ip.end());
}

constexpr std::uint32_t kMicroseconds = 0xa1b2c3d4;
constexpr std::uint32_t kNanoseconds = 0xa1b23c4d;
constexpr std::uint32_t kKuznetzov = 0xa1b2cd34;  // Linux libpcap of the 1990s: eight more bytes in each record
constexpr std::uint32_t kSectionHeader = 0x0a0d0d0a;

bool is_pcap(std::uint32_t magic) {
  return magic == kMicroseconds || magic == kNanoseconds || magic == kKuznetzov;
}

/// The classic format: draft-ietf-opsawg-pcap.
void parse_pcap(Bytes file, const std::string& name, Capture& capture) {
  constexpr std::size_t kFileHeader = 24;
  if (file.size() < kFileHeader) fail(name, 0, "the file header is cut off; copy or record the file again");
  const Order order{is_pcap(be32(file, 0))};
  const std::uint32_t magic = order.u32(file, 0);
  if (order.u16(file, 4) != 2) {
    fail(name, 4,
         "pcap version " + std::to_string(order.u16(file, 4)) + " is not known; convert it with: editcap -F pcap IN OUT");
  }
  const std::uint32_t link = order.u32(file, 20);
  const bool has_fcs = (link & 0x04000000U) != 0;
  Frame frame;
  frame.link = link & 0xffffU;
  frame.fcs_bytes = has_fcs ? (link >> 28) * 2 : 0;
  const std::size_t record_header = magic == kKuznetzov ? 24 : 16;
  for (std::size_t at = kFileHeader; at < file.size();) {
    if (file.size() - at < record_header) {
      capture.truncated = true;
      return;
    }
    const Bytes record = file.subspan(at);
    const std::uint32_t captured = order.u32(record, 8);
    if (captured > kLongestRecord) {
      fail(name, at + 8,
           "a record claims " + std::to_string(captured) +
               " bytes; the file is damaged here: keep what is before it with "
               "editcap, or record it again");
    }
    if (captured > record.size() - record_header) {
      capture.truncated = true;
      return;
    }
    frame.time_ns =
        order.u32(record, 0) * kNsPerSecond + order.u32(record, 4) * std::uint64_t{magic == kNanoseconds ? 1U : 1000U};
    frame.wire_length = order.u32(record, 12);
    frame.bytes = record.subspan(record_header, captured);
    add(capture, frame);
    at += record_header + captured;
  }
}

/// What an interface description block says.
struct Interface {
  std::uint32_t link = 0;
  std::uint32_t snap_length = 0;
  std::uint32_t resolution = 6;      ///< as coded: power of ten, or of two when the top bit is set
  std::uint64_t offset_seconds = 0;  ///< two's complement
  std::uint32_t fcs_bytes = 0;
};

__extension__ using Wide = unsigned __int128;

std::uint64_t to_ns(std::uint64_t ticks, const Interface& interface) {
  const std::uint32_t power = interface.resolution & 0x7fU;
  Wide ns = ticks;
  if ((interface.resolution & 0x80U) != 0) {
    ns = ns * kNsPerSecond >> power;
  } else {
    for (std::uint32_t p = power; p < 9; ++p) ns *= 10;
    for (std::uint32_t p = std::min(power, 9U + 20U); p > 9; --p) ns /= 10;  // 20 digits exhaust 64 bits
  }
  return static_cast<std::uint64_t>(ns) + interface.offset_seconds * kNsPerSecond;
}

/// draft-ietf-opsawg-pcapng.
class PcapngParser {
 public:
  PcapngParser(Bytes file, const std::string& name, Capture& capture) : file_(file), name_(name), capture_(capture) {}

  void parse() {
    while (at_ < file_.size()) {
      const Bytes rest = file_.subspan(at_);
      if (rest.size() < kShortest) return cut_off();
      if (le32(rest, 0) == kSectionHeader && !begin_section(rest)) return cut_off();
      const std::uint32_t length = order_.u32(rest, 4);
      if (length < kShortest || length % 4 != 0 || length > kLongestRecord + kMostOverhead) {
        fail(name_, at_ + 4, "a block claims " + std::to_string(length) + " bytes; the file is damaged here: record it again");
      }
      if (length > rest.size()) return cut_off();
      if (order_.u32(rest, length - 4) != length) {
        fail(name_, at_ + length - 4, "the lengths at the two ends of a block differ; the file is damaged here: record it again");
      }
      block(order_.u32(rest, 0), rest.subspan(8, length - kShortest));
      at_ += length;
    }
  }

 private:
  static constexpr std::size_t kShortest = 12;  ///< type, length, length again
  static constexpr std::uint32_t kMostOverhead = 1U << 20;

  void cut_off() {
    if (at_ == 0) fail(name_, 0, "the file header is cut off; copy or record the file again");
    capture_.truncated = true;
  }

  /// Every section has a byte order and interfaces of its own. False when the block is cut off.
  bool begin_section(Bytes block) {
    constexpr std::uint32_t kByteOrderMagic = 0x1a2b3c4d;
    constexpr std::size_t kSectionBlock = 28;
    if (block.size() < kSectionBlock) return false;
    if (le32(block, 8) != kByteOrderMagic && be32(block, 8) != kByteOrderMagic) {
      fail(name_, at_ + 8, "a section header without the byte-order magic; the file is damaged here: record it again");
    }
    order_.big = be32(block, 8) == kByteOrderMagic;
    if (order_.u16(block, 12) != 1) {
      fail(name_, at_ + 12,
           "pcapng version " + std::to_string(order_.u16(block, 12)) + " is not known; convert it with: editcap -F pcap IN OUT");
    }
    interfaces_.clear();
    return true;
  }

  void block(std::uint32_t type, Bytes body) {
    switch (type) {
      case 1:
        return interface_description(body);
      case 2: {  // packet block, obsolete: its interface has 16 bits, and a drop count follows it
        if (body.size() < 20) return broken();
        return packet(order_.u16(body, 0), body);
      }
      case 3:
        return simple_packet(body);
      case 6:  // enhanced packet block
        if (body.size() < 20) return broken();
        return packet(order_.u32(body, 0), body);
      default:
        return;  // sections, name resolution, statistics, secrets, and whatever comes: nothing of theirs is needed
    }
  }

  void broken() { ++capture_.malformed; }

  void interface_description(Bytes body) {
    Interface interface;
    if (body.size() >= 8) {
      interface.link = order_.u16(body, 0);
      interface.snap_length = order_.u32(body, 4);
      options(body.subspan(8), interface);
    } else {
      interface.link = 0xffffffffU;  // still counts, so that the numbers of those after it are right
    }
    interfaces_.push_back(interface);
  }

  void options(Bytes rest, Interface& interface) const {
    while (rest.size() >= 4) {
      const std::uint32_t code = order_.u16(rest, 0);
      const std::size_t length = order_.u16(rest, 2);
      rest = rest.subspan(4);
      if (code == 0 || length > rest.size()) return;
      if (code == 9 && length == 1) interface.resolution = u8(rest, 0);
      if (code == 13 && length == 1) interface.fcs_bytes = u8(rest, 0);
      if (code == 14 && length == 8) {
        const std::uint64_t first = order_.u32(rest, 0);
        const std::uint64_t second = order_.u32(rest, 4);
        interface.offset_seconds = order_.big ? first << 32 | second : second << 32 | first;
      }
      rest = rest.subspan(std::min((length + 3) / 4 * 4, rest.size()));
    }
  }

  /// The part that both packet blocks share: at 4 the time, at 12 the lengths, at 20 the frame.
  void packet(std::uint32_t id, Bytes body) {
    const std::uint32_t captured = order_.u32(body, 12);
    if (id >= interfaces_.size() || captured > body.size() - 20) return broken();
    const Interface& interface = interfaces_[id];
    const std::uint64_t ticks = std::uint64_t{order_.u32(body, 4)} << 32 | order_.u32(body, 8);
    add(capture_, {.link = interface.link,
                   .time_ns = to_ns(ticks, interface),
                   .bytes = body.subspan(20, captured),
                   .wire_length = order_.u32(body, 16),
                   .fcs_bytes = interface.fcs_bytes});
  }

  /// Belongs to interface 0; has no time, and no captured length but what the snap length and the block leave.
  void simple_packet(Bytes body) {
    if (body.size() < 4 || interfaces_.empty()) return broken();
    const Interface& interface = interfaces_.front();
    const std::uint32_t wire = order_.u32(body, 0);
    std::size_t captured = std::min<std::size_t>(wire, body.size() - 4);
    if (interface.snap_length != 0) captured = std::min<std::size_t>(captured, interface.snap_length);
    add(capture_, {.link = interface.link,
                   .time_ns = 0,
                   .bytes = body.subspan(4, captured),
                   .wire_length = wire,
                   .fcs_bytes = interface.fcs_bytes});
  }

  Bytes file_;
  const std::string& name_;
  Capture& capture_;
  std::size_t at_ = 0;
  Order order_;
  std::vector<Interface> interfaces_;
};

}  // namespace

void Capture::append(const Capture& other) {
  const std::size_t shift = bytes.size();
  const std::size_t first = packets.size();
  bytes.insert(bytes.end(), other.bytes.begin(), other.bytes.end());
  packets.insert(packets.end(), other.packets.begin(), other.packets.end());
  for (std::size_t i = first; i < packets.size(); ++i) packets[i].offset += shift;
  non_ip += other.non_ip;
  malformed += other.malformed;
  truncated |= other.truncated;
}

Capture parse_capture(std::span<const std::byte> file, const std::string& name) {
  if (file.empty()) fail(name, 0, "the file is empty; record it again or name another");
  if (const std::string hint = unpack_hint(file, name); !hint.empty()) fail(name, 0, hint);
  if (file.size() < 4) fail(name, 0, "the file is too short for a capture; name a pcap or pcapng file");
  Capture capture;
  if (is_pcap(be32(file, 0)) || is_pcap(le32(file, 0))) {
    parse_pcap(file, name, capture);
  } else if (le32(file, 0) == kSectionHeader) {
    PcapngParser(file, name, capture).parse();
  } else {
    fail(name, 0, "this is neither pcap nor pcapng; convert another capture format with: editcap -F pcap IN OUT");
  }
  return capture;
}

void require_packets(const Capture& capture, const std::string& name) {
  if (!capture.packets.empty()) return;
  throw Error("capture " + name + ": holds no IP packet (" + std::to_string(capture.non_ip) + " frames without IP, " +
              std::to_string(capture.malformed) + " malformed" + (capture.truncated ? ", cut off" : "") +
              "); name a capture of IP traffic");
}

Capture read_capture(const std::filesystem::path& path) {
  Capture capture = parse_capture(read_file(path, "capture"), path.string());
  require_packets(capture, path.string());
  return capture;
}

bool find_transport(std::span<const std::byte> ip_packet, Transport& out) {
  constexpr std::uint32_t kTcp = 6;
  constexpr std::uint32_t kUdp = 17;
  constexpr std::uint32_t kSctp = 132;
  const std::optional<Extent> extent = ip_extent(ip_packet);
  if (!extent) return false;
  const Bytes ip = ip_packet.first(extent->length);
  std::size_t at = extent->header;
  std::uint32_t protocol = 0;
  if (extent->version == 4) {
    constexpr std::uint32_t kFragmentOffset = 0x1fff;
    if ((be16(ip, 6) & kFragmentOffset) != 0) return false;
    protocol = u8(ip, 9);
  } else {
    protocol = u8(ip, 6);
    for (bool is_extension = true; is_extension;) {
      switch (protocol) {
        case kHopByHop:
        case 43:     // routing
        case 44:     // fragment
        case 51:     // authentication
        case 60:     // destination options
        case 135:    // mobility
        case 139:    // HIP
        case 140: {  // Shim6
          if (at + 8 > ip.size()) return false;
          if (protocol == 44 && (be16(ip, at + 2) & 0xfff8U) != 0) return false;
          const std::uint32_t length = u8(ip, at + 1);
          // RFC 8200 section 4.5: fixed; RFC 4302 section 2.2: in words of four, minus two; others in words of eight, minus one.
          const std::size_t size = protocol == 44 ? 8 : protocol == 51 ? (length + 2) * 4 : (length + 1) * 8;
          protocol = u8(ip, at);
          at += size;
          break;
        }
        default:
          is_extension = false;
      }
    }
  }
  if (at > ip.size()) return false;
  const Bytes transport = ip.subspan(at);
  std::size_t header = 0;
  switch (protocol) {
    case kTcp:
      if (transport.size() < 20) return false;
      header = (u8(transport, 12) >> 4) * 4;
      if (header < 20) return false;
      break;
    case kUdp:
      header = 8;
      break;
    case kSctp:
      header = 12;
      break;
    default:
      return false;
  }
  if (header > transport.size()) return false;
  out.protocol = static_cast<std::uint8_t>(protocol);
  out.header = static_cast<std::uint32_t>(at);
  out.payload = static_cast<std::uint32_t>(at + header);
  out.end = static_cast<std::uint32_t>(ip.size());
  return true;
}

}  // namespace dpubench::inputs
