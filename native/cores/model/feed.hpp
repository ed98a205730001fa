// What part of a source one context executes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "cores/model/source.hpp"

namespace dpubench::cores {

/// Which messages of a trace are simulated, and when a context is done.
struct Extent {
  std::uint64_t skip_messages = 0;     ///< at the beginning, once: as if they were not there
  std::uint64_t warm_up_messages = 0;  ///< simulated behind those, and not counted
  std::uint64_t instructions = 0;      ///< to count; 0: no limit
  std::uint64_t messages = 0;          ///< to count, whole; 0: no limit
  /// Of every `every` messages the first `measured` are simulated in time; the rest only keep caches and predictors warm.
  std::uint64_t every = 1;
  std::uint64_t measured = 1;
  std::uint64_t phase_instructions = 0;  ///< counted instructions of a phase, of which each is kept; 0: none
  /// At the end the source begins again, until the other contexts are done: nobody's last message has the chip to itself.
  bool repeat = false;
};

/// Hands out the instructions of a source one by one, passing over those that are not to be simulated.
class Feed {
 public:
  /// @param warm  what becomes of instructions between samples
  Feed(std::unique_ptr<InstructionSource> source, const Extent& extent, std::function<void(const Executed&)> warm)
      : source_(std::move(source)), extent_(extent), warm_(std::move(warm)) {}

  /// The next instruction without taking it; null at the end.
  const Executed* peek() {
    if (position_ == batch_.size() && !refill()) return nullptr;
    if (plain_) return &batch_[position_];
    return peek_in_samples();
  }
  /// Takes what peek() gave.
  void take() {
    ++position_;
    counted_ = false;
    wrapped_ = false;
  }
  /// Whether the source began again with the instruction at hand.
  [[nodiscard]] bool wrapped() const { return wrapped_; }

 private:
  bool refill();
  const Executed* peek_in_samples();

  std::unique_ptr<InstructionSource> source_;
  Extent extent_;
  std::function<void(const Executed&)> warm_;
  std::span<const Executed> batch_;
  std::size_t position_ = 0;
  bool plain_ = false;    ///< nothing more is passed over
  bool counted_ = false;  ///< the message marks of the instruction at hand are in `messages_`
  bool wrapped_ = false;
  std::uint64_t messages_ = 0;  ///< begun
  bool over_ = false;
};

}  // namespace dpubench::cores
