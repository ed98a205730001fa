#include "inputs/capture.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "inputs/file.hpp"
#include "packet/link_layer.hpp"

namespace dpubench::inputs {

using namespace wire;

namespace {

// This is far above the frames of any link and the largest jumbograms that hosts send to themselves. A longer record means a
// damaged file.
constexpr std::uint32_t kLongestRecord = 64U << 20;
constexpr std::uint64_t kNsPerSecond = 1'000'000'000;

[[noreturn]] void fail(const std::string& name, std::size_t offset, const std::string& what) {
  throw Error("capture " + name + ", byte " + std::to_string(offset) + ": " + what);
}

/// One frame as recorded in a file.
struct Frame {
  std::uint32_t link = 0;
  std::uint64_t time_ns = 0;
  Bytes bytes;
  std::uint32_t wire_length = 0;
  std::uint32_t fcs_bytes = 0;  ///< FCS bytes in wire_length
};

void add(Capture& capture, const Frame& frame) {
  const packet::Unwrapped inner = packet::unwrap(frame.link, frame.bytes);
  if (inner.content != packet::Content::kIp) {
    ++(inner.content == packet::Content::kOther ? capture.non_ip : capture.malformed);
    return;
  }
  // A wire length below the captured length is a mistake of the recorder.
  const std::uint32_t wire = std::max(frame.wire_length, static_cast<std::uint32_t>(frame.bytes.size()));
  capture.packets.push_back({.time_ns = frame.time_ns,
                             .offset = capture.bytes.size(),
                             .length = static_cast<std::uint32_t>(inner.ip.size()),
                             .frame_length = wire - std::min(wire, frame.fcs_bytes),
                             .version = static_cast<std::uint8_t>(inner.extent.version)});
  capture.bytes.insert(capture.bytes.end(), inner.ip.begin(), inner.ip.end());
}

constexpr std::uint32_t kMicroseconds = 0xa1b2c3d4;
constexpr std::uint32_t kNanoseconds = 0xa1b23c4d;
constexpr std::uint32_t kKuznetzov = 0xa1b2cd34;  // Linux libpcap of the 1990s; its records are eight bytes longer
constexpr std::uint32_t kSectionHeader = 0x0a0d0d0a;

bool is_pcap(std::uint32_t magic) {
  return magic == kMicroseconds || magic == kNanoseconds || magic == kKuznetzov;
}

/// Parse the classic format (draft-ietf-opsawg-pcap).
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

/// The content of an interface description block.
struct Interface {
  std::uint32_t link = 0;
  std::uint32_t snap_length = 0;
  std::uint32_t resolution = 6;      ///< as coded: a power of ten, or of two when the top bit is set
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

/// A parser of pcapng (draft-ietf-opsawg-pcapng).
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

  /// Begin a section. Every section has its own byte order and interfaces. @returns false when the block is cut off
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
      case 2: {  // packet block, obsolete: its interface has 16 bits, and a drop count follows
        if (body.size() < 20) return broken();
        return packet(order_.u16(body, 0), body);
      }
      case 3:
        return simple_packet(body);
      case 6:  // enhanced packet block
        if (body.size() < 20) return broken();
        return packet(order_.u32(body, 0), body);
      default:
        return;  // sections, name resolution, statistics, secrets and unknown blocks are not needed
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
      interface.link = 0xffffffffU;  // it still counts, so that the numbers of later interfaces are right
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

  /// Add the packet of either packet block. The common part has the time at 4, the lengths at 12 and the frame at 20.
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

  /// Add a simple packet. It belongs to interface 0 and has no time. The snap length and the block limit its captured length.
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

}  // namespace dpubench::inputs
