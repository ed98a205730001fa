// Reads a trace from its beginning to its end, holds it against the decoder, and prints what is in it as JSON. An access belongs
// to an instruction that makes such accesses, every load and store has one, and a block follows from the branch at the end of the
// one before. Exit status 1 and a message when the trace is broken or contradicts itself.
#include <array>
#include <cstdio>
#include <exception>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "cores/a64/decode.hpp"
#include "cores/model/description.hpp"
#include "cores/trace/reader.hpp"

namespace {

using dpubench::cores::Access;
using dpubench::cores::Block;
using dpubench::cores::Branch;
using dpubench::cores::Instruction;
using dpubench::cores::Kind;
using dpubench::cores::kKindNames;
using dpubench::cores::Step;
using dpubench::cores::TraceReader;

constexpr std::uint64_t kInstructionBytes = 4;
constexpr std::uint32_t kDataCacheZero = 0xd50b7420;  ///< DC ZVA, whose register is the low five bits

class Inspector {
 public:
  explicit Inspector(const TraceReader& reader) {
    for (const Block& block : reader.blocks()) {
      auto& decoded = decoded_.emplace_back();
      for (const std::uint32_t word : block.words) decoded.push_back(dpubench::cores::a64::decode(word));
    }
  }

  void take(const Step& step) {
    switch (step.what) {
      case Step::What::kOpen:
        ++regions_;
        next_.clear();
        return;
      case Step::What::kMessage:
        ++messages_;
        // The marker itself is an instruction between two blocks.
        for (std::uint64_t& pc : next_) pc += kInstructionBytes;
        return;
      case Step::What::kBlock:
        block(*step.block, step.accesses);
        return;
      default:
        return;
    }
  }

  [[nodiscard]] nlohmann::json result() const {
    nlohmann::json kinds = nlohmann::json::object();
    for (std::size_t i = 0; i < kinds_.size(); ++i) {
      if (kinds_[i] != 0) kinds[std::string(kKindNames.at(i))] = kinds_[i];
    }
    return {{"instructions", instructions_}, {"blocks", blocks_},         {"regions", regions_},
            {"messages", messages_},         {"loads", accesses_[0]},     {"stores", accesses_[1]},
            {"loaded_bytes", bytes_[0]},     {"stored_bytes", bytes_[1]}, {"kinds", kinds}};
  }

 private:
  [[noreturn]] static void fail(const Block& block, std::size_t index, const std::string& why) {
    char where[64];
    std::snprintf(where, sizeof where, "0x%llx: ", static_cast<unsigned long long>(block.pc + index * kInstructionBytes));
    throw std::runtime_error(where + why);
  }

  void block(const Block& block, std::span<const Access> accesses) {
    const std::vector<Instruction>& instructions = decoded_[block.number];
    if (!next_.empty() && next_.front() != block.pc && next_.back() != block.pc)
      fail(block, 0, "comes after what does not lead to it");
    auto access = accesses.begin();
    for (std::size_t i = 0; i < instructions.size(); ++i) {
      const auto first = access;
      for (; access != accesses.end() && access->index == i; ++access) {
        ++accesses_[access->is_store];
        bytes_[access->is_store] += std::uint64_t{1} << access->size_log2;
        const Kind kind = instructions[i].kind;
        if (kind != Kind::kAtomic && kind != (access->is_store ? Kind::kStore : Kind::kLoad))
          fail(block, i, "does not make such accesses");
      }
      ++kinds_[static_cast<std::size_t>(instructions[i].kind)];
      const bool accesses_memory =
          instructions[i].kind == Kind::kLoad || instructions[i].kind == Kind::kStore || instructions[i].kind == Kind::kAtomic;
      if (accesses_memory && access == first && (block.words[i] & ~0x1fU) != kDataCacheZero) fail(block, i, "accessed nothing");
    }
    ++blocks_;
    instructions_ += instructions.size();
    follow(block, instructions.back());
  }

  /// Where a block may lead: empty when that is not known.
  void follow(const Block& block, const Instruction& last) {
    const std::uint64_t end = block.pc + block.words.size() * kInstructionBytes;
    const std::uint64_t target = end - kInstructionBytes + static_cast<std::uint64_t>(last.target);
    switch (last.branch) {
      case Branch::kNone:
        next_ = {end};
        return;
      case Branch::kConditional:
        next_ = {end, target};
        return;
      case Branch::kDirect:
      case Branch::kCall:
        next_ = {target};
        return;
      default:
        next_.clear();
    }
  }

  std::vector<std::vector<Instruction>> decoded_;
  std::vector<std::uint64_t> next_;
  std::array<std::uint64_t, dpubench::cores::kKinds> kinds_{};
  std::array<std::uint64_t, 2> accesses_{};
  std::array<std::uint64_t, 2> bytes_{};
  std::uint64_t instructions_ = 0;
  std::uint64_t blocks_ = 0;
  std::uint64_t regions_ = 0;
  std::uint64_t messages_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 2) throw std::runtime_error("usage: cores-inspect FOLDER");
    TraceReader reader(argv[1]);
    Inspector inspector(reader);
    for (const Step* step = &reader.next(); step->what != Step::What::kEnd; step = &reader.next()) inspector.take(*step);
    nlohmann::json result = inspector.result();
    result["kernel"] = reader.head().kernel;
    result["cpu"] = reader.head().cpu;
    result["program_digest"] = reader.head().program_digest;
    std::cout << result.dump() << "\n";
    return 0;
  } catch (const std::exception& e) {
    std::cerr << "cores-inspect: " << e.what() << "\n";
    return 1;
  }
}
