// Kernels over functions that pack or unpack one message.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>

#include "operators/lane.hpp"

namespace dpubench {

/// Calls `pack(in, out)`, which returns the bytes it wrote or 0, for every item.
template <class Pack>
struct PackKernel {
  Pack pack;
  void operator()(Burst& b) noexcept {
    for (std::uint32_t i = 0; i < b.n; ++i) {
      const std::size_t used = pack(std::span(b.in[i], b.in_len[i]), std::span(b.out[i], b.out_room[i]));
      b.out_len[i] = static_cast<std::uint32_t>(used);
      b.status[i] = used != 0 ? kStatusOk : kStatusRejected;
    }
  }
};

/// Calls `unpack(in, out)`, which returns the bytes it wrote or nothing, for every item.
template <class Unpack>
struct UnpackKernel {
  Unpack unpack;
  void operator()(Burst& b) noexcept {
    for (std::uint32_t i = 0; i < b.n; ++i) {
      const std::optional<std::size_t> used = unpack(std::span(b.in[i], b.in_len[i]), std::span(b.out[i], b.out_room[i]));
      b.out_len[i] = static_cast<std::uint32_t>(used.value_or(0));
      b.status[i] = used ? kStatusOk : kStatusRejected;
    }
  }
};

template <class Pack>
PackKernel<Pack> pack_kernel(Pack pack) {
  return {std::move(pack)};
}
template <class Unpack>
UnpackKernel<Unpack> unpack_kernel(Unpack unpack) {
  return {std::move(unpack)};
}

}  // namespace dpubench
