// Engines of codecs (support/codecs/codec.hpp) over functions that pack or unpack one message.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "operators/engine.hpp"
#include "operators/support/codecs/codec.hpp"
#include "operators/support/codecs/greedy_matches.hpp"

namespace dpubench {

/// A kernel that calls `pack(in, out)` for every item; `pack` returns the bytes it wrote, or 0.
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

/// A kernel that calls `unpack(in, out)` for every item; `unpack` returns the bytes it wrote, or nothing.
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

/// One direction of an engine: its name in results, and the maker of its function, called once per thread.
template <class Make>
struct Direction {
  std::string detail;
  Make make;
};
template <class Make>
Direction(std::string, Make) -> Direction<Make>;

/// Return a function that packs with an encoder over greedy matches.
template <auto Encode>
auto greedy_packer() {
  return [matches = std::make_unique<GreedyMatches>()](std::span<const std::byte> in, std::span<std::byte> out) noexcept {
    return Encode(in, out, *matches);
  };
}

/// Return the session of an engine in plain C++, in the direction of the work.
template <class MakePack, class MakeUnpack>
std::unique_ptr<Session> codec_session(const Work& work, Direction<MakePack> pack, Direction<MakeUnpack> unpack) {
  if (CodecOperator::packs(work.params)) {
    return kernel_session([make = pack.make] { return PackKernel<decltype(make())>{make()}; }, {"generic", pack.detail, false});
  }
  return kernel_session([make = unpack.make] { return UnpackKernel<decltype(make())>{make()}; },
                        {"generic", unpack.detail, false});
}

}  // namespace dpubench
