// Which rule's class a packet belongs to: its payload, or what it completes of its flow, is searched by a lane of the regex
// operator.
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

#include "datapath/frame/parse.hpp"
#include "datapath/server/lane_stage.hpp"
#include "datapath/workloads/application-recognition/reassembly.hpp"
#include "datapath/workloads/application-recognition/reply.hpp"

namespace dpubench::datapath::recognition {

/// A packet, and what was found out about it.
struct Subject {
  std::span<const std::byte> frame;
  const Parsed* parsed = nullptr;
  Class verdict = Class::kEcho;  ///< that of the first rule of the set that matches; echo where none does
  std::uint8_t possible = 1;     ///< bit c: class c is one that it may have, where the engine left rules undecided
  bool searched = false;         ///< it had something to search
  bool failed = false;           ///< the engine did not search it
  bool lost = false;             ///< and may read it still
};
constexpr std::uint8_t class_bit(Class c) noexcept {
  return static_cast<std::uint8_t>(1U << static_cast<unsigned>(c));
}

/// Longest text that is searched because of a packet of so many bytes of payload. @param reassembly  in mode stream
constexpr std::uint32_t longest_text(std::uint32_t payload_bytes, const std::optional<Reassembly::Limits>& reassembly) noexcept {
  return payload_bytes + (reassembly ? 2 * reassembly->overlap_bytes : 0);
}

/// One core's. TCP and UDP payloads are searched; in mode stream those of TCP as far as Reassembly puts them side by side.
class Recogniser {
 public:
  /// @param rules  of the set @param longest  text that the lane takes; packets with longer ones are not searched
  /// @param reassembly  mode stream @throws Error
  Recogniser(std::unique_ptr<LaneRunner> lane, std::size_t rules, std::uint32_t longest,
             const std::optional<Reassembly::Limits>& reassembly);
  /// Which rules some engine may not decide; bitmaps.
  struct Doubts {
    std::vector<std::byte> shared;     ///< every engine leaves them undecided alike
    std::vector<std::byte> contested;  ///< some engine does not know them at all
  };
  /// From now on Subject::possible is told, too.
  void tell_possible(Doubts doubts) { doubts_ = std::move(doubts); }

  /// Packets in the order of their arrival, at most LaneRunner::kCapacity.
  void run(std::span<Subject> subjects) noexcept;
  /// Forgets flows and counts.
  void clear() noexcept;

  [[nodiscard]] const Reassembly* reassembly() const { return reassembly_.get(); }
  [[nodiscard]] std::uint64_t too_long() const { return too_long_; }

 private:
  struct Asked {
    std::uint32_t subject = 0;
    Window window;
    bool has_window = false;
  };

  void ask(std::uint32_t subject, const std::byte* text, std::uint32_t bytes) noexcept;
  void ask_plain(std::uint32_t index, const Subject& subject) noexcept;
  /// False: the packet must wait for the answer about one of its flow.
  bool ask_segment(std::uint32_t index, const Subject& subject) noexcept;
  void answer(std::span<Subject> subjects) noexcept;
  void judge(Subject& subject, std::uint32_t item) const noexcept;
  [[nodiscard]] std::uint8_t possible(const std::byte* matched, const std::byte* undecided) const noexcept;
  [[nodiscard]] std::byte* output(std::uint32_t item) const noexcept { return outputs_.get() + std::size_t{item} * stride_; }

  std::unique_ptr<LaneRunner> lane_;
  std::unique_ptr<Reassembly> reassembly_;
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
