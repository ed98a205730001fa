#include "cores/model/trace_source.hpp"

#include "cores/a64/decode.hpp"
#include "cores/alpha/decode.hpp"

namespace dpubench::cores {

namespace {
constexpr std::size_t kBatch = 1024;
}

TraceSource::TraceSource(const std::filesystem::path& folder)
    : reader_(folder), decode_(reader_.head().architecture == "alpha" ? &alpha::decode : &a64::decode) {}

const std::vector<Instruction>& TraceSource::decoded(const Block& block) {
  if (block.number >= decoded_.size()) decoded_.resize(block.number + std::size_t{1});
  std::vector<Instruction>& instructions = decoded_[block.number];
  if (instructions.empty()) {
    instructions.reserve(block.words.size());
    for (const std::uint32_t word : block.words) instructions.push_back(decode_(word));
  }
  return instructions;
}

/// Append the block that was read last. @param next_pc  where its last instruction went; 0: unknown, as at the end of a region
void TraceSource::append_pending(std::uint64_t next_pc) {
  if (pending_ == nullptr) return;
  const std::vector<Instruction>& instructions = decoded(*pending_);
  const std::size_t first = accesses_.size();
  accesses_.insert(accesses_.end(), pending_accesses_.begin(), pending_accesses_.end());
  std::size_t access = first;
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    Executed executed;
    executed.what = &instructions[i];
    executed.pc = pending_->pc + Executed::kInstructionBytes * i;
    executed.next_pc = executed.pc + Executed::kInstructionBytes;
    // The pointers are set later, when the vector grows no more.
    while (access < accesses_.size() && accesses_[access].index == i) {
      ++access;
      ++executed.number_of_accesses;
    }
    executed_.push_back(executed);
  }
  if (instructions.empty()) return;
  executed_[executed_.size() - instructions.size()].messages = pending_messages_;
  if (next_pc != 0) executed_.back().next_pc = next_pc;
  pending_ = nullptr;
}

std::span<const Executed> TraceSource::next() {
  executed_.clear();
  accesses_.clear();
  while (!over_ && executed_.size() < kBatch) {
    const Step& step = reader_.next();
    switch (step.what) {
      case Step::What::kBlock:
        append_pending(step.block->pc);
        pending_ = step.block;
        pending_accesses_.assign(step.accesses.begin(), step.accesses.end());
        pending_messages_ = messages_;
        messages_ = 0;
        break;
      case Step::What::kMessage:
        ++messages_;
        break;
      case Step::What::kOpen:
      case Step::What::kClose:
        append_pending(0);
        break;
      case Step::What::kEnd:
        append_pending(0);
        over_ = true;
        break;
    }
  }
  const Access* access = accesses_.data();
  for (Executed& executed : executed_) {
    executed.accesses = access;
    access += executed.number_of_accesses;
  }
  return executed_;
}

void TraceSource::rewind() {
  reader_.rewind();
  pending_ = nullptr;
  messages_ = 0;
  over_ = false;
}

}  // namespace dpubench::cores
