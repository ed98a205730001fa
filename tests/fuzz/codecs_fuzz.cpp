// Decodes any bytes with our decoders and any room for the result. zlib must read the same DEFLATE streams to the same bytes. Our
// decoders must read back all output of our encoders.
//
// The first byte selects the operation, the next two the size of the room.
#include <lz4.h>
#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "check.hpp"
#include "operators/support/codecs/deflate_format.hpp"
#include "operators/support/codecs/greedy_matches.hpp"
#include "operators/support/codecs/lz4_block.hpp"
#include "operators/support/codecs/snappy_format.hpp"

using namespace dpubench;

namespace {

using Bytes = std::span<const std::byte>;

/// A buffer of exactly this many bytes, so that a sanitizer sees every access behind it.
struct Room {
  explicit Room(std::size_t bytes) : memory(new std::byte[bytes]), out(memory.get(), bytes) {}
  std::unique_ptr<std::byte[]> memory;
  std::span<std::byte> out;
};

bool same(Bytes a, Bytes b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

/// Return the size of zlib's output for a raw stream. Nothing if zlib refuses the stream or needs more room.
std::optional<std::size_t> zlib_reads(Bytes in, std::span<std::byte> out) {
  z_stream stream{};
  FUZZ_CHECK(inflateInit2(&stream, -15) == Z_OK);
  Bytef none = 0;
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data()));
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = out.empty() ? &none : reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int status = inflate(&stream, Z_FINISH);
  const std::size_t written = stream.total_out;
  inflateEnd(&stream);
  return status == Z_STREAM_END ? std::optional(written) : std::nullopt;
}

void read_deflate(Bytes in, std::size_t room) {
  static deflate::Decompressor ours;
  Room mine(room);
  Room theirs(room);
  const auto written = ours.decompress(in, mine.out);
  const auto expected = zlib_reads(in, theirs.out);
  FUZZ_CHECK(written == expected);
  if (written) FUZZ_CHECK(*written <= room && same(mine.out.first(*written), theirs.out.first(*written)));
}

void read_lz4(Bytes in, std::size_t room) {
  Room mine(room);
  Room theirs(room);
  const auto written = lz4::decode(in, mine.out);
  if (!written) return;
  FUZZ_CHECK(*written <= room);
  const int expected = LZ4_decompress_safe(reinterpret_cast<const char*>(in.data()), reinterpret_cast<char*>(theirs.out.data()),
                                           static_cast<int>(in.size()), static_cast<int>(room));
  // The library also demands the form that its encoder gives to the end of a block.
  if (expected >= 0)
    FUZZ_CHECK(static_cast<std::size_t>(expected) == *written && same(mine.out.first(*written), theirs.out.first(*written)));
}

void read_snappy(Bytes in, std::size_t room) {
  Room mine(room);
  const auto written = snappy_format::decode(in, mine.out);
  if (written) FUZZ_CHECK(*written <= room);
}

void write_and_read(Bytes in) {
  static deflate::Compressor compressor;
  static deflate::Decompressor decompressor;
  static GreedyMatches matches;
  Room back(in.size());
  const auto came_back = [&](std::optional<std::size_t> bytes) { return bytes == in.size() && same(back.out, in); };
  for (const deflate::Effort& effort : {deflate::Effort{}, deflate::Effort{.chain = 1, .enough = 8, .lazy = false}}) {
    Room packed(deflate::bound(in.size()));
    const std::size_t size = compressor.compress(in, packed.out, effort);
    FUZZ_CHECK(size > 0 && came_back(decompressor.decompress(packed.out.first(size), back.out)));
  }
  if (!in.empty()) {
    Room packed(deflate::huffman_bound(in.size()));
    const std::size_t size = compressor.huffman_block(in, packed.out);
    FUZZ_CHECK(size > 0 && came_back(decompressor.decompress(packed.out.first(size), back.out)));
  }
  Room packed(std::max(lz4::bound(in.size()), snappy_format::bound(in.size())));
  std::size_t size = lz4::encode(in, packed.out, matches);
  FUZZ_CHECK(size > 0 && came_back(lz4::decode(packed.out.first(size), back.out)));
  size = snappy_format::encode(in, packed.out, matches);
  FUZZ_CHECK(size > 0 && came_back(snappy_format::decode(packed.out.first(size), back.out)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const std::size_t room = data[1] | std::size_t{data[2]} << 8U;
  const Bytes in = std::as_bytes(std::span(data, size)).subspan(3);
  switch (data[0] % 4) {
    case 0:
      read_deflate(in, room);
      break;
    case 1:
      read_lz4(in, room);
      break;
    case 2:
      read_snappy(in, room);
      break;
    default:
      write_and_read(in);
  }
  return 0;
}
