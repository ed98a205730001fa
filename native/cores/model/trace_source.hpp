// Gives the model the instructions of a trace.
#pragma once

#include <filesystem>
#include <vector>

#include "cores/model/source.hpp"
#include "cores/trace/reader.hpp"

namespace dpubench::cores {

/// A source that streams a trace of A64 or Alpha code. It holds some blocks at a time, never the whole trace.
class TraceSource final : public InstructionSource {
 public:
  /// @throws Error from the reader, which names the folder
  explicit TraceSource(const std::filesystem::path& folder);

  std::span<const Executed> next() override;
  void rewind() override;
  [[nodiscard]] const TraceHead& head() const { return reader_.head(); }

 private:
  const std::vector<Instruction>& decoded(const Block& block);
  void append_pending(std::uint64_t next_pc);

  TraceReader reader_;
  Instruction (*decode_)(std::uint32_t word);
  std::vector<std::vector<Instruction>> decoded_;  ///< by block number; empty: not executed yet
  std::vector<Executed> executed_;
  std::vector<Access> accesses_;
  // The block that was read last. The next block tells where its last instruction goes.
  const Block* pending_ = nullptr;
  std::vector<Access> pending_accesses_;
  std::uint16_t pending_messages_ = 0;
  std::uint16_t messages_ = 0;  ///< messages that begin with the next block
  bool over_ = false;
};

}  // namespace dpubench::cores
