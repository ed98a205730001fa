// The definitions that the toeplitz operator and its engines share: the work's key, and the place of a packet's tuple.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "operators/engine.hpp"

namespace dpubench::toeplitz {

/// The work of toeplitz. It carries the key, whose length is the parameter key_bytes.
class ToeplitzWork final : public Work {
 public:
  std::vector<std::uint8_t> key;
};

/// The place and the length of the tuple in an item. The addresses are the last fields of an IP header without options (RFC 791
/// section 3.1, RFC 8200 section 3), and the ports are the first fields of TCP and UDP. So the tuple is one piece of the packet.
struct Shape {
  std::uint32_t offset;
  std::uint32_t bytes;
};
constexpr Shape shape_of(bool v6, bool ports) {
  return v6 ? Shape{8, ports ? 36U : 32U} : Shape{12, ports ? 12U : 8U};
}
inline Shape shape_of(const Params& params) {
  return shape_of(params.is("ip_version", "6"), params.is("tuple", "4"));
}

inline std::uint32_t to_host(std::uint32_t network) {
  if constexpr (std::endian::native == std::endian::big) return network;
  return __builtin_bswap32(network);
}

/// Return the tuple of a packet as 32-bit words in host byte order, the form that the rte_softrss functions take.
template <Shape kShape>
std::array<std::uint32_t, kShape.bytes / 4> host_words(const std::byte* packet) {
  std::array<std::uint32_t, kShape.bytes / 4> words;
  std::memcpy(words.data(), packet + kShape.offset, kShape.bytes);
  for (std::uint32_t& word : words) word = to_host(word);
  return words;
}

/// Return a session of `Kernel<Shape>`, in which the tuple length is a constant of the code. `make` is a generic callable that
/// gets the shape as a template argument and returns the kernel.
template <class Make>
std::unique_ptr<Session> session_for(const Params& params, Make make, const PathInfo& path) {
  const auto with = [&]<Shape kShape>() { return kernel_session([make] { return make.template operator()<kShape>(); }, path); };
  const bool ports = params.is("tuple", "4");
  if (params.is("ip_version", "6")) {
    return ports ? with.template operator()<shape_of(true, true)>() : with.template operator()<shape_of(true, false)>();
  }
  return ports ? with.template operator()<shape_of(false, true)>() : with.template operator()<shape_of(false, false)>();
}

}  // namespace dpubench::toeplitz
