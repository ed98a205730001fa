#include "cores/model/dma.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace dpubench::cores {

namespace {
/// A part of the address space that no context uses: theirs lies below 2^56.
constexpr std::uint64_t kOwnBuffers = std::uint64_t{1} << 60;
/// Fractions per cycle in the time between frames. They keep a long run from drifting.
constexpr double kFractions = 1U << 20;
}  // namespace

DmaAgent::DmaAgent(const Description& description, std::vector<FrameBuffers> buffers, Hierarchy& hierarchy)
    : description_(*description.dma),
      buffers_(std::move(buffers)),
      own_buffers_(buffers_.empty()),
      hierarchy_(&hierarchy),
      into_(description_.level == kMemory ? nullptr : &hierarchy.of_core(description_.level, 0)) {
  const double bits = 8.0 * (description_.frame_bytes + description_.gap_bytes);
  const double cycles = bits / description_.line_rate_gbps * description.clock_mhz / 1000;
  fractions_per_frame_ = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(cycles * kFractions)));
  const std::uint64_t line_bytes = hierarchy.line_bytes();
  const std::uint64_t stride = (description_.frame_bytes + line_bytes - 1) / line_bytes * line_bytes;
  if (own_buffers_) buffers_.push_back({kOwnBuffers, stride, description_.ring_frames});
}

Cycle DmaAgent::arrival(std::uint64_t frame) const {
  // 128 bits: a 64-bit product would overflow after some hours on a fast line.
  __extension__ using Wide = unsigned __int128;
  return static_cast<Cycle>(static_cast<Wide>(frame) * fractions_per_frame_ >> 20U);
}

void DmaAgent::write_line(std::uint64_t line, Cycle at) {
  // The agent's own buffers are in no other cache than the one that receives them.
  if (!own_buffers_) hierarchy_->invalidate(line);
  if (into_ != nullptr) {
    into_->deliver(line, at);
  } else {
    hierarchy_->memory().write_back(line, at);
  }
}

void DmaAgent::move_frame() {
  const FrameBuffers& ring = buffers_[frame_ % buffers_.size()];
  const std::uint64_t slot = frame_ / buffers_.size() % ring.count;
  const std::uint64_t line_bytes = hierarchy_->line_bytes();
  const std::uint64_t address = ring.address + slot * ring.stride_bytes;
  const std::uint64_t first = address / line_bytes;
  const std::uint64_t last = (address + description_.frame_bytes - 1) / line_bytes;
  const Cycle begin = next_arrival_;
  next_arrival_ = arrival(++frame_);
  const Cycle duration = next_arrival_ - begin;
  ++counters_.frames;
  if (busy_until_ > begin + duration * description_.ring_frames) {
    ++counters_.lost;
    return;
  }
  for (std::uint64_t line = first; line <= last; ++line) {
    const Cycle at = begin + duration * (line - first) / (last - first + 1);
    write_line(line, at);
    // The frame that leaves is as long as the one that came, and leaves at the same rate.
    if (into_ == nullptr || !into_->fetch_for_device(line, at)) busy_until_ = hierarchy_->memory().read(line, at, true);
  }
}

}  // namespace dpubench::cores
