// deflate, engines compressdev-isal, compressdev-zlib and compressdev: a compression device behind DPDK's compressdev, either
// hardware or a driver in software.
// requires: libdpdk >= 22.11
// cxxflags: -DALLOW_EXPERIMENTAL_API

#include <rte_comp.h>
#include <rte_compressdev.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "operators/deflate/compressdev_queue.hpp"
#include "operators/deflate/levels.hpp"
#include "operators/engine.hpp"
#include "operators/support/codecs/deflate_format.hpp"
#include "operators/support/dpdk/device.hpp"

namespace dpubench {
namespace {

using namespace compressdev;
using dpdk::QueueLane;

constexpr int kWindowBits = 15;  ///< window of the streams of every other engine

/// A lane's answer for one message.
struct Answer {
  std::uint8_t status = kStatusPoison;
  std::uint32_t length = 0;
};

/// Convert one message and return the lane's answer. @throws Error when the device does not answer
Answer ask(Lane& lane, std::span<const std::byte> in, std::span<std::byte> out) {
  const std::byte* const in_at = in.data();
  const auto in_len = static_cast<std::uint32_t>(in.size());
  std::byte* const out_at = out.data();
  const auto room = static_cast<std::uint32_t>(out.size());
  Answer answer;
  Burst burst{1, &in_at, &in_len, &out_at, &room, &answer.length, nullptr, nullptr, &answer.status, nullptr};
  constexpr std::uint64_t kPolls = 50'000'000;  // at least a second
  Burst* done[1];
  if (lane.submit(burst)) {
    for (std::uint64_t i = 0; i < kPolls; ++i) {
      if (lane.poll(done) == 1) return answer;
    }
  }
  throw Error("the compression device does not answer");
}

/// Return whether a device with this shape of operations decompresses whole streams and rejects streams that end early. Drivers
/// differ: drivers in software report success for the output up to the early end.
bool knows_the_end(const Provider& provider, dpdk::Ordinals& ordinals, const rte_comp_xform& transform, Shape shape) {
  constexpr std::size_t kPlain = 3000;
  constexpr std::size_t kBytes = std::size_t{4} * 4096;
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  const std::unique_ptr<std::byte, Free> memory(static_cast<std::byte*>(std::aligned_alloc(65536, 65536)));
  if (memory == nullptr) throw std::bad_alloc();
  const std::span<std::byte> plain(memory.get(), kPlain);
  const std::span<std::byte> packed(memory.get() + kBytes, kBytes);
  const std::span<std::byte> out(memory.get() + 2 * kBytes, kPlain);
  for (std::size_t i = 0; i < kPlain; ++i) plain[i] = static_cast<std::byte>('a' + (i * i / 7 + i / 100) % 23);
  if (shape.tail_bytes != 0) shape.tail_bytes = std::max(shape.tail_bytes, tail_for(kPlain));
  const std::size_t size = deflate::Compressor().compress(plain, packed, {});
  QueueLane<CompressQueue> lane(std::make_unique<CompressQueue>(provider, ordinals, transform, shape));
  lane.attach({memory.get(), 65536});
  const Answer whole = ask(lane, packed.first(size), out);
  if (whole.status != kStatusOk || whole.length != kPlain || !std::equal(plain.begin(), plain.end(), out.begin())) return false;
  for (const std::size_t less : {size - 1, size - 2, size / 2}) {
    if (ask(lane, packed.first(less), out).status != kStatusRejected) return false;
  }
  return true;
}

/// Return the level for rte_comp_compress_xform, or nothing if it is a level of another library.
std::optional<int> api_level(const Params& params, const std::string& library) {
  if (const auto level = level_of(params, "compressdev")) return level;
  // Drivers in software pass the level to their library.
  const auto level = level_of(params, library);
  return level && *level >= RTE_COMP_LEVEL_MIN ? level : std::nullopt;
}

std::string why_not(const Params& params, const Capabilities& capabilities, const std::string& library) {
  if (reuses_stream(params)) return "compressdev's operations are stateless: each is a separate message";
  const std::uint64_t size = params.number("size");
  const bool packs = CodecOperator::packs(params);
  if (packs && !api_level(params, library)) {
    if (level_of(params, library)) return "compressdev's levels begin at 1; its level 0 means no compression";
    return params.text("level") + " is a level of another library";
  }
  if (packs && !capabilities.has(kCodes)) return "the driver makes neither fixed nor dynamic codes";
  if (!packs && capabilities.window_bits < kWindowBits) {
    return "the driver's window has " + std::to_string(capabilities.window_bits) + " bits, and streams of other engines have " +
           std::to_string(kWindowBits);
  }
  const bool linear = size <= (packs ? kLinearInput : kSegment);
  if (!linear && !capabilities.takes(segments_of(size), segments_of(packs ? compressed_room(params, size) : size))) {
    return "the driver takes no chains of mbufs, and one mbuf holds at most 65535 B";
  }
  if (!packs && !linear && !capabilities.knows_end) {
    return "the driver accepts a truncated stream as a whole one, and the engine cannot detect this if the output needs a chain "
           "of mbufs (beyond 65535 B)";
  }
  return {};
}

class CompressSession final : public Session {
 public:
  /// @throws Error when the device does not do this
  CompressSession(const Work& work, const Provider& provider) : provider_(provider), shape_(shape_of(work)) {
    for (const Item& item : work.items) most_out_ = std::max(most_out_, item.out_room);
    const Device& device = *provider_.device(0).first;
    if (const std::string reason = why_not(work.params, device.capabilities, provider_.library()); !reason.empty())
      throw Error(device.name + " does not do this: " + reason);
    const bool packs = CodecOperator::packs(work.params);
    path_ = {device.isa, "", device.is_hardware, device.driver, device.name};
    if (packs) {
      const int level = api_level(work.params, provider_.library()).value();
      const bool dynamic = device.capabilities.has(RTE_COMP_FF_HUFFMAN_DYNAMIC);
      transform_.type = RTE_COMP_COMPRESS;
      transform_.compress.algo = RTE_COMP_ALGO_DEFLATE;
      transform_.compress.deflate.huffman = dynamic ? RTE_COMP_HUFFMAN_DYNAMIC : RTE_COMP_HUFFMAN_FIXED;
      transform_.compress.level = level;
      transform_.compress.window_size = static_cast<std::uint8_t>(std::min(kWindowBits, device.capabilities.window_bits));
      path_.detail = "rte_compressdev, level " + std::to_string(level) +
                     (level == RTE_COMP_LEVEL_PMD_DEFAULT ? " (the driver's default)" : "") +
                     (dynamic ? ", dynamic" : ", fixed") + " codes, window of 2^" +
                     std::to_string(transform_.compress.window_size) + " B";
    } else {
      transform_.type = RTE_COMP_DECOMPRESS;
      transform_.decompress.algo = RTE_COMP_ALGO_DEFLATE;
      transform_.decompress.window_size = kWindowBits;
      path_.detail = "rte_compressdev";
      end_streams(device);
    }
    if (shape_.in_segments > 1 || shape_.out_segments > 1) {
      // The stream of an incompressible message is longer than the message. Drivers in software read chains even if they do not
      // report this feature.
      const bool takes = device.capabilities.takes(shape_.in_segments, shape_.out_segments) || (!packs && !device.is_hardware);
      if (!takes) throw Error(device.name + " does not take such chains of mbufs, and one mbuf holds at most 65535 B");
      path_.detail +=
          "; chains of " + std::to_string(shape_.in_segments) + " and " + std::to_string(shape_.out_segments) + " mbufs";
    }
    path_.max_in_flight = shape_.jobs(dpdk::kQueueJobs);
  }

  std::unique_ptr<Lane> open() override {
    return std::make_unique<QueueLane<CompressQueue>>(std::make_unique<CompressQueue>(provider_, ordinals_, transform_, shape_));
  }
  [[nodiscard]] PathInfo path() const override { return path_; }

 private:
  /// Make the device reject streams that end early. @throws Error when it does not
  void end_streams(const Device& device) {
    if (knows_the_end(provider_, ordinals_, transform_, shape_)) return;
    shape_.tail_bytes = tail_for(most_out_);
    const bool takes = shape_.out_segments == 1 && (!device.is_hardware || device.capabilities.takes(shape_.in_segments + 2, 1));
    if (!takes || !knows_the_end(provider_, ordinals_, transform_, shape_)) {
      throw Error(device.name + " accepts truncated streams, and the operator must reject them");
    }
    path_.detail += "; mbufs of ones follow each stream, because the driver otherwise accepts a truncated stream as a whole one";
  }

  Provider provider_;
  dpdk::Ordinals ordinals_;
  Shape shape_;
  std::uint32_t most_out_ = 0;
  rte_comp_xform transform_{};
  PathInfo path_;
};

class Compressdev final : public Engine {
 public:
  explicit Compressdev(const Software* software) : provider_(software) {
    info_.op = "deflate";
    info_.name = software == nullptr ? "compressdev" : software->driver.engine;
    info_.summary = software == nullptr ? "DPDK compressdev on the device that --device names"
                                        : "DPDK compressdev, driver " + software->driver.prefix + " in software";
    info_.library = dpdk::version();
    info_.in_flight = dpdk::kDefaultInFlight;
    info_.software_device = software != nullptr;
  }
  [[nodiscard]] const EngineInfo& info() const override { return info_; }
  [[nodiscard]] std::string unavailable() const override {
    if (provider_.software() != nullptr) return dpdk::driver_missing(provider_.software()->driver);
    return dpdk::reason_of([] { return static_cast<void>(Devices::instance().named()), std::string(); });
  }
  [[nodiscard]] std::string unsupported(const Params& params) const override {
    if (const Software* const software = provider_.software()) return why_not(params, software->capabilities, software->library);
    return dpdk::reason_of([&] { return why_not(params, provider_.device(0).first->capabilities, provider_.library()); });
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& work) const override {
    return std::make_unique<CompressSession>(work, provider_);
  }

 private:
  Provider provider_;
  EngineInfo info_;
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::Compressdev>(nullptr));
  for (const dpubench::Software& software : dpubench::software_drivers())
    sink.add(std::make_unique<dpubench::Compressdev>(&software));
}
