// The replies that must come back to a client of the workload.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "datapath/stages/lane_stage.hpp"
#include "datapath/workloads/application-recognition/recogniser.hpp"
#include "datapath/workloads/workload.hpp"
#include "operators/support/codecs/deflate_format.hpp"

namespace dpubench::datapath::recognition {

class RecognitionExpectation final : public Expectation {
 public:
  /// @param scan  the regex operator's reference engine @param rules  number of rules in the set @param reassembly  set in mode
  /// stream
  RecognitionExpectation(PreparedOperator& scan, std::size_t rules, const Recogniser::Doubts& doubts,
                         const std::optional<packet::Reassembly::Limits>& reassembly, std::span<const FrameTemplate> templates);

  [[nodiscard]] Answer judge(std::uint32_t index, std::span<const std::byte> sent, std::span<const std::byte> reply,
                             bool lossy) override;
  [[nodiscard]] std::string explain(std::uint32_t index, std::span<const std::byte> sent,
                                    std::span<const std::byte> reply) override;
  [[nodiscard]] bool may_drop(std::uint32_t index) const override { return templates_[index].frame.size() < kEthernetBytes; }

 private:
  struct Known {
    std::vector<std::byte> frame;
    packet::Parsed parsed;
    std::uint32_t flow = 0;
    bool in_stream = false;    ///< its class depends on other packets of its flow
    std::uint8_t first = 1;    ///< classes that it may have when the templates are sent for the first time
    std::uint8_t again = 1;    ///< the same, when they are sent once more as they are
    std::uint8_t follows = 1;  ///< the same, behind another message of its flow
    std::array<std::byte, 32> digest{};
    bool has_digest = false;
    std::vector<std::byte> stream;  ///< deflate stream that came back last and decompressed to the payload
  };

  void recognise(std::span<const std::size_t> order, std::uint32_t flow_offset, std::uint8_t Known::*into);
  void recognise_followers();
  [[nodiscard]] std::uint32_t length_of(std::span<const std::size_t> segments) const;
  void run(std::span<Subject> subjects);
  [[nodiscard]] std::uint8_t possible(const Known& known, std::span<const std::byte> sent) const;
  /// Return the classes for which this is the right answer.
  [[nodiscard]] std::uint8_t fits(Known& known, std::span<const std::byte> sent, std::span<const std::byte> reply);
  [[nodiscard]] bool is_echo(std::span<const std::byte> sent, std::span<const std::byte> reply) const;
  [[nodiscard]] bool is_hash(Known& known, std::span<const std::byte> sent, std::span<const std::byte> reply);
  [[nodiscard]] bool is_compressed(Known& known, std::span<const std::byte> sent, std::span<const std::byte> reply);
  [[nodiscard]] bool may_stay(std::span<const std::byte> payload);
  [[nodiscard]] bool is_reply(const Known& known, std::span<const std::byte> sent, std::span<const std::byte> reply,
                              std::span<const std::byte> payload);
  [[nodiscard]] std::array<std::byte, 32> digest(Known& known, std::span<const std::byte> sent) const;

  std::unique_ptr<Recogniser> recogniser_;
  bool stream_ = false;
  bool may_evict_ = false;  ///< there are more flows than a server keeps
  std::vector<Known> templates_;
  deflate::Compressor compressor_;
  deflate::Decompressor decompressor_;
  std::vector<std::byte> scratch_;
  std::vector<std::byte> plain_;
};

}  // namespace dpubench::datapath::recognition
