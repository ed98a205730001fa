// The stages of one core.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "datapath/stages/lane_stage.hpp"
#include "datapath/stages/stage.hpp"
#include "datapath/workloads/application-recognition/recogniser.hpp"

namespace dpubench::datapath::recognition {

/// The stages that run in this process.
struct Placement {
  bool scan = true;
  bool hash = true;
  bool compress = true;
  bool has_next = false;  ///< there is a port to a next server
  [[nodiscard]] bool has(Class c) const noexcept { return c == Class::kEcho || (c == Class::kHash ? hash : compress); }
};

/// The stage that recognises packets. It sends back packets of class echo, and passes on those whose class no stage here answers.
class ScanStage final : public Stage {
 public:
  ScanStage(std::unique_ptr<Recogniser> recogniser, Placement placement)
      : recogniser_(std::move(recogniser)), placement_(placement) {}
  std::uint32_t run(Batch& batch) noexcept override;
  void begin(bool keeps_flows) override;
  void collect(nlohmann::json& into, const std::string& dump_folder) override;

 private:
  std::unique_ptr<Recogniser> recogniser_;
  Placement placement_;
  std::array<Subject, kMaxPacketBurst> subjects_;
  std::array<std::uint32_t, kMaxPacketBurst> packet_of_{};
  std::array<std::uint64_t, kClasses> classes_{};
  std::uint64_t searched_ = 0;
  std::uint64_t unclassified_ = 0;
};

/// The common part of the stages behind the scan. They take packets of one class, run a lane on them, and put its output in
/// place of the payload.
class AnswerStage : public Stage {
 public:
  std::uint32_t run(Batch& batch) noexcept override;
  void begin(bool /*keeps_flows*/) override { answered_ = unchanged_ = 0; }
  void collect(nlohmann::json& into, const std::string& dump_folder) override;

 protected:
  /// @param room  bytes of output that an item may need @param takes_marks  true for the first stage of a process that does not
  /// scan
  AnswerStage(std::unique_ptr<LaneRunner> lane, Class c, std::uint32_t longest, std::uint32_t room, Placement placement,
              bool takes_marks);
  /// Return the part of a packet that the lane gets.
  [[nodiscard]] virtual std::span<const std::byte> input(std::span<const std::byte> frame,
                                                         const packet::Parsed& parsed) const noexcept = 0;
  /// Return whether the output goes back. If not, the packet goes back as it came.
  [[nodiscard]] virtual bool replaces(std::uint32_t in_bytes, std::uint32_t out_bytes) const noexcept = 0;

 private:
  void take_marks(Batch& batch) noexcept;
  void answer(Batch& batch, std::uint32_t i, std::uint32_t item) noexcept;
  [[nodiscard]] std::byte* output(std::uint32_t item) const noexcept { return outputs_.get() + std::size_t{item} * room_; }

  std::unique_ptr<LaneRunner> lane_;
  Class class_;
  std::uint32_t longest_;
  std::uint32_t room_;
  Placement placement_;
  bool takes_marks_;
  std::unique_ptr<std::byte, decltype(&std::free)> outputs_{nullptr, std::free};
  std::array<std::uint32_t, kMaxPacketBurst> packet_of_{};
  std::array<std::uint32_t, kMaxPacketBurst> in_bytes_{};
  std::uint64_t answered_ = 0;
  std::uint64_t unchanged_ = 0;
};

/// The stage that answers with the SHA-256 of the frame up to the end of its IP packet.
class HashStage final : public AnswerStage {
 public:
  static constexpr std::uint32_t kDigestBytes = 32;
  HashStage(std::unique_ptr<LaneRunner> lane, std::uint32_t longest, Placement placement, bool takes_marks)
      : AnswerStage(std::move(lane), Class::kHash, longest, kDigestBytes, placement, takes_marks) {}

 private:
  [[nodiscard]] std::span<const std::byte> input(std::span<const std::byte> frame,
                                                 const packet::Parsed& parsed) const noexcept override {
    return frame.first(parsed.end);
  }
  [[nodiscard]] bool replaces(std::uint32_t, std::uint32_t out_bytes) const noexcept override {
    return out_bytes == kDigestBytes;
  }
};

/// The stage that answers with the payload as a raw deflate stream, if that is shorter.
class CompressStage final : public AnswerStage {
 public:
  /// @param room  bytes that a stream of the longest payload may need
  CompressStage(std::unique_ptr<LaneRunner> lane, std::uint32_t longest, std::uint32_t room, Placement placement,
                bool takes_marks)
      : AnswerStage(std::move(lane), Class::kCompress, longest, room, placement, takes_marks) {}

 private:
  [[nodiscard]] std::span<const std::byte> input(std::span<const std::byte> frame,
                                                 const packet::Parsed& parsed) const noexcept override {
    return frame.subspan(parsed.payload, std::size_t{parsed.end} - parsed.payload);
  }
  [[nodiscard]] bool replaces(std::uint32_t in_bytes, std::uint32_t out_bytes) const noexcept override {
    return out_bytes < in_bytes;
  }
};

}  // namespace dpubench::datapath::recognition
