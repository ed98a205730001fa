// Finds the class of a packet. A lane of the regex operator searches its payload, or the text that it completes in its flow.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "datapath/stages/lane_stage.hpp"
#include "datapath/workloads/application-recognition/reply.hpp"
#include "packet/frame.hpp"
#include "packet/reassembly.hpp"

namespace dpubench::datapath::recognition {

/// A packet, and the findings about it.
struct Subject {
  std::span<const std::byte> frame;
  const packet::Parsed* parsed = nullptr;
  Class verdict = Class::kEcho;  ///< class of the first rule of the set that matches; echo if none does
  std::uint8_t possible = 1;     ///< bit c: the packet may have class c, because the engine left rules undecided
  bool searched = false;         ///< it had something to search
  bool failed = false;           ///< the engine did not search it
  bool lost = false;             ///< the engine may still read it
};
constexpr std::uint8_t class_bit(Class c) noexcept {
  return static_cast<std::uint8_t>(1U << static_cast<unsigned>(c));
}

/// Return the longest text that is searched because of a packet with so many bytes of payload. @param reassembly  set in mode
/// stream
constexpr std::uint32_t longest_text(std::uint32_t payload_bytes,
                                     const std::optional<packet::Reassembly::Limits>& reassembly) noexcept {
  return payload_bytes + (reassembly ? 2 * reassembly->overlap_bytes : 0);
}

/// The recogniser of one core. It searches TCP and UDP payloads; in mode stream it searches TCP payloads as Reassembly puts
/// them side by side.
class Recogniser {
 public:
  /// @param rules  number of rules in the set @param longest  longest text that the lane takes; longer ones are not searched
  /// @param reassembly  set in mode stream @throws Error
  Recogniser(std::unique_ptr<LaneRunner> lane, std::size_t rules, std::uint32_t longest,
             const std::optional<packet::Reassembly::Limits>& reassembly);
  /// The rules that some engine may not decide, as bitmaps.
  struct Doubts {
    std::vector<std::byte> shared;     ///< every engine leaves them undecided alike
    std::vector<std::byte> contested;  ///< some engine refuses them
  };
  /// Set Subject::possible, too, from now on.
  void tell_possible(Doubts doubts) { doubts_ = std::move(doubts); }

  /// Recognise packets in the order of their arrival, at most LaneRunner::kCapacity.
  void run(std::span<Subject> subjects) noexcept;
  /// Forget flows and counts.
  void clear() noexcept;

  [[nodiscard]] const packet::Reassembly* reassembly() const { return reassembly_.get(); }
  [[nodiscard]] std::uint64_t too_long() const { return too_long_; }

 private:
  struct Asked {
    std::uint32_t subject = 0;
    packet::Window window;
    bool has_window = false;
  };

  void ask(std::uint32_t subject, const std::byte* text, std::uint32_t bytes) noexcept;
  void ask_plain(std::uint32_t index, const Subject& subject) noexcept;
  /// Ask about a TCP segment. Return false when it must wait for the answer about another segment of its flow.
  bool ask_segment(std::uint32_t index, const Subject& subject) noexcept;
  void answer(std::span<Subject> subjects) noexcept;
  void judge(Subject& subject, std::uint32_t item) const noexcept;
  [[nodiscard]] std::uint8_t possible(const std::byte* matched, const std::byte* undecided) const noexcept;
  [[nodiscard]] std::byte* output(std::uint32_t item) const noexcept { return outputs_.get() + std::size_t{item} * stride_; }

  std::unique_ptr<LaneRunner> lane_;
  std::unique_ptr<packet::Reassembly> reassembly_;
  std::size_t rules_;
  std::uint32_t bitmap_bytes_;
  std::uint32_t stride_;
  std::uint32_t longest_;
  std::uint64_t too_long_ = 0;
  std::unique_ptr<std::byte, decltype(&std::free)> outputs_;
  std::array<Asked, LaneRunner::kCapacity> asked_;
  std::array<std::uint32_t, LaneRunner::kCapacity> waiting_{};
  std::vector<std::uint64_t> asked_in_;  ///< by flow: the last round in which a window of it was searched
  std::uint64_t round_ = 1;
  Doubts doubts_;
};

}  // namespace dpubench::datapath::recognition
