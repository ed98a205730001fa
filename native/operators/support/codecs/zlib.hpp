// The common part of the zlib engines: raw streams whose memory is allocated once.
#pragma once

#include <zlib.h>

#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <string>

#include "base/error.hpp"
#include "operators/lane.hpp"

namespace dpubench::zlib {

inline constexpr int kRawWindowBits = -15;  // negative: raw RFC 1951 without header and checksum
inline constexpr int kMemoryLevel = 8;      // zlib's default

/// Return "zlib 1.2.13": the version of the loaded library, not of the headers.
inline std::string version() {
  return std::string("zlib ") + zlibVersion();
}

/// Memory for the state of one stream, handed out anew for each stream. Setting up a stream per message then costs only zlib's
/// own work, not malloc's. A deflate stream needs about 268 KiB (zconf.h), an inflate stream 44 KiB.
class Arena {
 public:
  Arena() : memory_(std::make_unique<Memory>()) {}
  /// Make `stream` take its memory from here.
  void attach(z_stream& stream) noexcept {
    memory_->used = 0;
    stream.zalloc = &Arena::allocate;
    stream.zfree = [](voidpf, voidpf) {};
    stream.opaque = memory_.get();
  }

 private:
  static constexpr std::size_t kBytes = 512U << 10;
  struct Memory {
    std::size_t used = 0;
    alignas(64) std::array<std::byte, kBytes> bytes;
  };
  static voidpf allocate(voidpf opaque, uInt items, uInt size) {
    auto* memory = static_cast<Memory*>(opaque);
    const std::size_t wanted = (std::size_t{items} * size + 63) / 64 * 64;
    if (wanted > kBytes - memory->used) return nullptr;  // zlib reports Z_MEM_ERROR
    std::byte* const at = memory->bytes.data() + memory->used;
    memory->used += wanted;
    return at;
  }
  std::unique_ptr<Memory> memory_;
};

/// Point a stream at item `i` of a burst. zlib does not write to its input, although the type is not const.
inline void aim(z_stream& stream, const Burst& b, std::uint32_t i) noexcept {
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(b.in[i]));
  stream.avail_in = b.in_len[i];
  stream.next_out = reinterpret_cast<Bytef*>(b.out[i]);
  stream.avail_out = b.out_room[i];
}

/// Write the result of item `i`.
inline void settle(const Burst& b, std::uint32_t i, int code, const z_stream& stream) noexcept {
  b.status[i] = code == Z_STREAM_END ? kStatusOk : kStatusRejected;
  b.out_len[i] = b.out_room[i] - stream.avail_out;
}

inline void require(int code, const char* what) {
  if (code != Z_OK) throw Error(std::string("zlib: ") + what + " failed with code " + std::to_string(code));
}

/// A deflate stream that is reset for every message.
class Deflater {
 public:
  Deflater(int level, int strategy) : stream_(std::make_unique<z_stream>()) {
    arena_.attach(*stream_);
    require(deflateInit2(stream_.get(), level, Z_DEFLATED, kRawWindowBits, kMemoryLevel, strategy), "deflateInit2");
  }
  void operator()(Burst& b) noexcept {
    z_stream& stream = *stream_;  // zlib keeps a pointer to it, so it must not move
    for (std::uint32_t i = 0; i < b.n; ++i) {
      deflateReset(&stream);
      aim(stream, b, i);
      settle(b, i, deflate(&stream, Z_FINISH), stream);
    }
  }

 private:
  Arena arena_;
  std::unique_ptr<z_stream> stream_;
};

/// An inflate stream that is reset for every message.
class Inflater {
 public:
  Inflater() : stream_(std::make_unique<z_stream>()) {
    arena_.attach(*stream_);
    require(inflateInit2(stream_.get(), kRawWindowBits), "inflateInit2");
  }
  void operator()(Burst& b) noexcept {
    z_stream& stream = *stream_;
    for (std::uint32_t i = 0; i < b.n; ++i) {
      inflateReset(&stream);
      aim(stream, b, i);
      settle(b, i, inflate(&stream, Z_FINISH), stream);
    }
  }

 private:
  Arena arena_;
  std::unique_ptr<z_stream> stream_;
};

}  // namespace dpubench::zlib
