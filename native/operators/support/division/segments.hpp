// The common part of the operators that make several packets of one: the forms of their output.
//
// copy: records one after the other, each a u32 length and that many bytes of packet. A device without scatter-gather sends this
// form. zero_copy: records one after the other, each a Descriptor and the packet's header bytes. The payload stays in the input,
// and the record gives its place there, as a transmit descriptor with an inline header does. Places are offsets, not addresses,
// so that equal work gives equal output. Records are not padded, and their numbers are in the machine's byte order.
// mbuf: chains of DPDK's packet buffers (support/dpdk/chains.hpp). They are read after a window, and judged as the records of
// zero_copy that they stand for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "base/params.hpp"
#include "operators/lane.hpp"
#include "packet/checksum.hpp"
#include "packet/headers.hpp"

namespace dpubench::segments {

namespace ip4 = packet::ip4;
namespace ip6 = packet::ip6;
namespace tcp = packet::tcp;
using wire::get16;
using wire::get32;
using wire::put16;
using wire::put32;

enum class Variant : std::uint8_t { kCopy, kZeroCopy };

/// Return the form of records in which outputs are judged.
inline Variant variant_of(const Params& params) {
  return params.is("variant", "copy") ? Variant::kCopy : Variant::kZeroCopy;
}

/// Return whether outputs end in mbufs, which become records only after a window.
inline bool ends_in_mbufs(const Params& params) {
  return params.is("variant", "mbuf");
}

/// Return why an engine that writes records does not do these parameters, or an empty string.
inline std::string records_only(const Params& params) {
  return ends_in_mbufs(params) ? "it writes records and has no mbufs: use variant=copy or zero_copy" : "";
}

/// Return why an engine whose packets are mbufs does not do these parameters, or an empty string.
inline std::string mbufs_only(const Params& params) {
  return ends_in_mbufs(params)
             ? ""
             : "its packets are chains of mbufs, which a data plane does not write out as records: use variant=mbuf";
}

/// Call `make.operator()<V>()` with the variant in the parameters, so that kernels know it when they are compiled.
template <class Make>
auto with_variant(const Params& params, const Make& make) {
  if (variant_of(params) == Variant::kCopy) return make.template operator()<Variant::kCopy>();
  return make.template operator()<Variant::kZeroCopy>();
}

/// Call `make.operator()<V4>()` with the IP version in the parameters.
template <class Make>
auto with_version(const Params& params, const Make& make) {
  if (params.is("ip_version", "4")) return make.template operator()<true>();
  return make.template operator()<false>();
}

/// Call `make.operator()<V4, V>()` with the IP version and the variant in the parameters.
template <class Make>
auto with_version_and_variant(const Params& params, const Make& make) {
  return with_variant(
      params, [&]<Variant V>() { return with_version(params, [&]<bool V4>() { return make.template operator()<V4, V>(); }); });
}

/// The parts of an input, and the number of packets that it becomes.
struct Layout {
  std::size_t ip = 0;       ///< bytes of the input's IP header
  std::size_t headers = 0;  ///< bytes of every packet's headers
  std::size_t payload = 0;  ///< bytes of the input that are divided among the packets
  std::size_t piece = 0;    ///< payload bytes of every packet but the last
  std::size_t packets = 0;  ///< 1 if the input fits already; 0: not an input of the operator, or it must not be divided
};

struct Descriptor {
  std::uint32_t payload_offset;  ///< offset from the start of the input
  std::uint32_t payload_length;
  std::uint16_t header_length;
  std::uint16_t reserved;  ///< zero
};
inline constexpr std::size_t kDescriptorBytes = 12;
static_assert(sizeof(Descriptor) == kDescriptorBytes);

/// Return the bytes of `packets` records whose headers have `header` bytes each and whose payloads add up to `payload`.
inline constexpr std::size_t record_bytes(Variant variant, std::size_t packets, std::size_t header, std::size_t payload) {
  return variant == Variant::kCopy ? packets * (sizeof(std::uint32_t) + header) + payload : packets * (kDescriptorBytes + header);
}

/// Begin a record at `at` and return where its header goes.
template <Variant V>
inline std::byte* begin_record(std::byte* at, std::size_t header, std::size_t payload_offset, std::size_t payload) {
  if constexpr (V == Variant::kCopy) {
    const auto length = static_cast<std::uint32_t>(header + payload);
    std::memcpy(at, &length, sizeof length);
    return at + sizeof length;
  } else {
    const Descriptor d{static_cast<std::uint32_t>(payload_offset), static_cast<std::uint32_t>(payload),
                       static_cast<std::uint16_t>(header), 0};
    std::memcpy(at, &d, sizeof d);
    return at + sizeof d;
  }
}

/// Return the bytes of all records of an input.
inline constexpr std::size_t record_bytes(Variant variant, const Layout& l) {
  return record_bytes(variant, l.packets, l.headers, l.payload);
}

/// End a record behind its headers and return where the next begins.
template <Variant V>
inline std::byte* end_record(std::byte* at, const std::byte* payload, std::size_t length) {
  if constexpr (V == Variant::kZeroCopy) return at;
  if (length != 0) std::memcpy(at, payload, length);
  return at + length;
}

/// Carry a burst out. @param layout  (in, length) -> Layout @param write  (layout, item index) -> end of the last record, or
/// nullptr when the input cannot be divided after all
template <Variant V, class Lay, class Write>
inline void divide_each(Burst& b, const Lay& layout, const Write& write) noexcept {
  for (std::uint32_t i = 0; i < b.n; ++i) {
    const Layout l = layout(b.in[i], b.in_len[i]);
    const bool fits = l.packets != 0 && record_bytes(V, l) <= b.out_room[i];
    const std::byte* const end = fits ? write(l, i) : nullptr;
    const bool done = end != nullptr;
    b.status[i] = done ? kStatusOk : kStatusRejected;
    b.result[i] = done ? l.packets : 0;
    b.out_len[i] = done ? static_cast<std::uint32_t>(end - b.out[i]) : 0;
  }
}

/// A packet of an output, as parse() found it.
struct Packet {
  std::vector<std::byte> bytes;
};

/// Take an output apart. @returns the fault of its form, or an empty string
inline std::string parse(Variant variant, std::span<const std::byte> input, std::span<const std::byte> output,
                         std::vector<Packet>& packets) {
  const auto cut_off = [&] { return "the output ends inside record " + std::to_string(packets.size()); };
  while (!output.empty()) {
    if (variant == Variant::kCopy) {
      std::uint32_t length = 0;
      if (output.size() < sizeof length) return cut_off();
      std::memcpy(&length, output.data(), sizeof length);
      output = output.subspan(sizeof length);
      if (output.size() < length) return cut_off();
      packets.push_back({{output.begin(), output.begin() + length}});
      output = output.subspan(length);
      continue;
    }
    Descriptor d{};
    if (output.size() < sizeof d) return cut_off();
    std::memcpy(&d, output.data(), sizeof d);
    output = output.subspan(sizeof d);
    if (d.reserved != 0) return "the reserved field of record " + std::to_string(packets.size()) + " is not zero";
    if (output.size() < d.header_length) return cut_off();
    if (d.payload_offset > input.size() || d.payload_length > input.size() - d.payload_offset) {
      return "the payload of record " + std::to_string(packets.size()) + " does not lie in the input";
    }
    Packet packet{{output.begin(), output.begin() + d.header_length}};
    const auto payload = input.subspan(d.payload_offset, d.payload_length);
    packet.bytes.insert(packet.bytes.end(), payload.begin(), payload.end());
    packets.push_back(std::move(packet));
    output = output.subspan(d.header_length);
  }
  return {};
}

/// A packet that a known answer expects: its header, and the place of its payload in the input.
struct Expected {
  std::vector<std::byte> header;
  std::size_t payload_offset;
  std::size_t payload_length;
};

/// Return the output that consists of these packets.
inline std::vector<std::byte> encode(Variant variant, std::span<const std::byte> input, std::span<const Expected> packets) {
  std::vector<std::byte> out;
  for (const Expected& p : packets) {
    const std::size_t start = out.size();
    out.resize(start + record_bytes(variant, 1, p.header.size(), p.payload_length));
    std::byte* const at = out.data() + start;
    std::byte* const header = variant == Variant::kCopy
                                  ? begin_record<Variant::kCopy>(at, p.header.size(), p.payload_offset, p.payload_length)
                                  : begin_record<Variant::kZeroCopy>(at, p.header.size(), p.payload_offset, p.payload_length);
    std::memcpy(header, p.header.data(), p.header.size());
    if (variant == Variant::kCopy) {
      std::memcpy(header + p.header.size(), input.data() + p.payload_offset, p.payload_length);
    }
  }
  return out;
}

}  // namespace dpubench::segments
