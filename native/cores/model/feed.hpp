// Selects the part of a source that a context executes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "cores/model/source.hpp"

namespace dpubench::cores {

/// The messages of a trace that are simulated, and the end of a context.
struct Extent {
  std::uint64_t skip_messages = 0;     ///< messages skipped once at the beginning, as if they were not there
  std::uint64_t warm_up_messages = 0;  ///< messages simulated behind the skipped ones, but not counted
  std::uint64_t instructions = 0;      ///< instructions to count; 0: no limit
  std::uint64_t messages = 0;          ///< whole messages to count; 0: no limit
  /// Of every `every` messages, the first `measured` are simulated in time. The others only keep caches and predictors warm.
  std::uint64_t every = 1;
  std::uint64_t measured = 1;
  std::uint64_t phase_instructions = 0;  ///< counted instructions per phase; results keep each phase; 0: no phases
  /// Begin the source again at its end until the other contexts are done. Otherwise the last messages would have the chip alone.
  bool repeat = false;
};

/// A feed of the instructions of a source, one by one. It leaves out instructions that are not to be simulated.
class Feed {
 public:
  /// @param warm  receives the instructions between samples
  Feed(std::unique_ptr<InstructionSource> source, const Extent& extent, std::function<void(const Executed&)> warm)
      : source_(std::move(source)), extent_(extent), warm_(std::move(warm)) {}

  /// Return the next instruction without taking it; null at the end.
  const Executed* peek() {
    if (position_ == batch_.size() && !refill()) return nullptr;
    if (plain_) return &batch_[position_];
    return peek_in_samples();
  }
  /// Take the instruction that peek() returned.
  void take() {
    ++position_;
    counted_ = false;
    wrapped_ = false;
  }
  /// Return whether the source began again with the current instruction.
  [[nodiscard]] bool wrapped() const { return wrapped_; }

 private:
  bool refill();
  const Executed* peek_in_samples();

  std::unique_ptr<InstructionSource> source_;
  Extent extent_;
  std::function<void(const Executed&)> warm_;
  std::span<const Executed> batch_;
  std::size_t position_ = 0;
  bool plain_ = false;    ///< the feed leaves nothing more out
  bool counted_ = false;  ///< `messages_` includes the message marks of the current instruction
  bool wrapped_ = false;
  std::uint64_t messages_ = 0;  ///< messages begun
  bool over_ = false;
};

}  // namespace dpubench::cores
