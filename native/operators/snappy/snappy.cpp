// snappy, engine snappy: the Snappy library's raw functions.
// requires: snappy

#include <snappy.h>

#include "operators/engine.hpp"
#include "operators/support/codecs/codec.hpp"

namespace dpubench {
namespace {

struct Compress {
  void operator()(Burst& b) noexcept {
    for (std::uint32_t i = 0; i < b.n; ++i) {
      std::size_t used = 0;
      snappy::RawCompress(reinterpret_cast<const char*>(b.in[i]), b.in_len[i], reinterpret_cast<char*>(b.out[i]), &used);
      b.out_len[i] = static_cast<std::uint32_t>(used);
      b.status[i] = kStatusOk;
    }
  }
};

struct Decompress {
  void operator()(Burst& b) noexcept {
    for (std::uint32_t i = 0; i < b.n; ++i) {
      const char* const in = reinterpret_cast<const char*>(b.in[i]);
      std::size_t size = 0;
      // RawUncompress does not take the room as an argument, so the length in front must be checked before the call.
      const bool ok = snappy::GetUncompressedLength(in, b.in_len[i], &size) && size <= b.out_room[i] &&
                      snappy::RawUncompress(in, b.in_len[i], reinterpret_cast<char*>(b.out[i]));
      b.out_len[i] = ok ? static_cast<std::uint32_t>(size) : 0;
      b.status[i] = ok ? kStatusOk : kStatusRejected;
    }
  }
};

class Snappy final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override {
    // The library does not report its version at run time; this is the version of the header.
    static const EngineInfo info{
        "snappy", "snappy", "snappy::RawCompress, snappy::RawUncompress",
        "snappy " + std::to_string(SNAPPY_MAJOR) + '.' + std::to_string(SNAPPY_MINOR) + '.' + std::to_string(SNAPPY_PATCHLEVEL)};
    return info;
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& work) const override {
    if (CodecOperator::packs(work.params)) {
      for (const Item& item : work.items) {
        // RawCompress does not take the room as an argument.
        if (item.out_room < snappy::MaxCompressedLength(item.in.size())) {
          throw Error("snappy::RawCompress needs room for " + std::to_string(snappy::MaxCompressedLength(item.in.size())) +
                      " bytes, and the work gives " + std::to_string(item.out_room));
        }
      }
      return kernel_session([] { return Compress{}; }, {"chosen by library", "snappy::RawCompress", false});
    }
    return kernel_session([] { return Decompress{}; }, {"chosen by library", "snappy::RawUncompress", false});
  }
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::Snappy>());
}
