#include "packet/link_layer.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "packet/headers.hpp"

namespace dpubench::packet {

using namespace wire;

namespace {

/// The layer at the front of the remaining bytes of a frame.
enum class Layer : std::uint8_t {
  kEtherType,    ///< a 16-bit EtherType, or an 802.3 length followed by LLC
  kCookedType,   ///< a 16-bit EtherType, or a small number of Linux; 4 is followed by LLC
  kLlc,          ///< IEEE 802.2
  kSnap,         ///< OUI and type
  kMpls,         ///< label stack (RFC 3032)
  kPpp,          ///< protocol number, optionally after address and control field (RFC 1662)
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
  kIp,      ///< IP, version in its first byte
  kIp4,     ///< must be IPv4
  kIp6,     ///< must be IPv6
  kOther,   ///< not IP
  kBroken,  ///< cut off or contradicting itself
};

struct Rest {
  Layer layer = Layer::kBroken;
  Bytes bytes;
};

/// Return `layer` after `skip` bytes.
Rest after(Bytes bytes, std::size_t skip, Layer layer) {
  return bytes.size() < skip ? Rest{} : Rest{layer, bytes.subspan(skip)};
}

/// A link type of capture files (the registry at www.tcpdump.org/linktypes.html): the bytes to skip, and the layer behind them.
struct LinkType {
  std::uint32_t number;
  std::size_t skip;
  Layer layer;
};
constexpr std::array kLinkTypes = std::to_array<LinkType>({
    {0, 0, Layer::kNull},           // NULL
    {1, 12, Layer::kEtherType},     // EN10MB: two addresses, then the type
    {6, 0, Layer::kTokenRing},      // IEEE802_5
    {8, 16, Layer::kIp},            // SLIP: direction and compressed header, then the whole packet
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
    {166, 2, Layer::kPpp},          // PPP_PPPD: direction instead of the address field, then control
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
    case ethernet::kIp4:
      return {Layer::kIp4, rest};
    case ethernet::kIp6:
      return {Layer::kIp6, rest};
    case ethernet::kCustomerTag:
    case ethernet::kServiceTag:
    case ethernet::kOldServiceTag:
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
  // RFC 1661 section 2: the last byte of a protocol number is odd, all earlier bytes are even. A number may thus have one byte.
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
  if (u8(b, 0) != 0x03) return {Layer::kCookedType, b};  // RFC 2427 has control 3 here, Cisco an EtherType
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

/// Unwrap an unencrypted data frame. The IP header is not visible in encrypted frames, later fragments and aggregates (A-MSDU).
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

/// Unwrap a radiotap header (www.radiotap.org): little endian; fields are aligned to their size, and present if their bit is set.
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

/// Remove one layer. The loop over steps ends, because every step shortens the bytes or moves towards kIp, kOther or kBroken.
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
      // RFC 1042. 0000f8 is the bridge-tunnel encapsulation of IEEE 802.1H.
      return organisation == 0 || organisation == 0xf8 ? ether_type(be16(b, 3), b.subspan(5)) : Rest{Layer::kOther, b};
    }
    case Layer::kMpls: {
      if (b.size() < 4) return {};
      const bool is_bottom = (u8(b, 2) & 1U) != 0;
      const Bytes rest = b.subspan(4);
      if (!is_bottom) return {Layer::kMpls, rest};
      if (rest.empty()) return {};
      // Nothing names the protocol below the last label. The first nibble distinguishes IP from all else (RFC 4928 section 3).
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
      // Cisco HDLC begins with 0f (unicast) or 8f (multicast). PPP has ff there.
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

}  // namespace

Unwrapped unwrap(std::uint32_t link_type, Bytes frame) {
  Rest rest = by_link_type(link_type, frame);
  while (!is_last(rest.layer)) rest = step(rest.layer, rest.bytes);
  if (rest.layer == Layer::kOther) return {.content = Content::kOther};
  const std::optional<Extent> extent = rest.layer == Layer::kBroken ? std::nullopt : ip_extent(rest.bytes);
  if (!extent || (rest.layer == Layer::kIp4 && extent->version != 4) || (rest.layer == Layer::kIp6 && extent->version != 6))
    return {};
  return {.content = Content::kIp, .extent = *extent, .ip = rest.bytes.first(extent->length)};
}

}  // namespace dpubench::packet
