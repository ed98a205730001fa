// The speed of the processor model: simulated instructions per second of processor time, superscalar with caches and gshare.
//
//     cores INSTRUCTIONS      prints {"instructions": .., "cpu_s": .., "ipc": .., "mispredicted": .., "misses": ..}

#include <ctime>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "cores/model/chip.hpp"

namespace {

using namespace dpubench::cores;
using nlohmann::json;

/// A mix of instructions as in packet processing. Of 16 there are four loads, two stores and two branches; one load in eight
/// leaves the L1D.
class Mix final : public InstructionSource {
 public:
  explicit Mix(std::uint64_t instructions) : left_(instructions), code_(kBlocks * kBlockLength) {
    for (std::size_t i = 0; i < code_.size(); ++i) code_[i] = instruction(i);
  }
  std::span<const Executed> next() override {
    executed_.clear();
    while (executed_.size() < kBatch && left_ > 0) add_block();
    return executed_;
  }
  void rewind() override { block_ = 0; }

 private:
  static constexpr std::size_t kBlocks = 256;
  static constexpr std::size_t kBlockLength = 8;
  static constexpr std::size_t kBatch = 1024;
  static constexpr std::uint64_t kCode = 0x400000;

  static Instruction instruction(std::size_t i) {
    Instruction what;
    const std::size_t place = i % kBlockLength;
    const auto reg = [i](std::size_t n) { return static_cast<std::uint8_t>((i * 7 + n * 3) % 28); };
    what.read = {reg(1), reg(2)};
    what.reads = what.first_data = 2;
    what.written = {reg(3)};
    what.writes = what.first_address = 1;
    what.kind = Kind::kInteger;
    if (place == 1 || place == 4) what.kind = Kind::kLoad;
    if (place == 5) {
      what.kind = Kind::kStore;
      what.writes = what.first_address = 0;
      what.first_data = 1;
    }
    if (place == kBlockLength - 1) {
      what.kind = Kind::kBranch;
      what.branch = Branch::kConditional;
      what.writes = what.first_address = 0;
    }
    return what;
  }

  void add_block() {
    random_ = random_ * 6364136223846793005ULL + 1442695040888963407ULL;
    const std::uint64_t pc = kCode + block_ * kBlockLength * Executed::kInstructionBytes;
    // Loops of four blocks; one branch in sixteen is random.
    const bool chance = (random_ >> 60) == 0;
    const bool back = block_ % 4 == 3 && (chance ? (random_ >> 50 & 1) != 0 : ++round_ % 8 != 0);
    const std::size_t next = back ? block_ - 3 : (block_ + 1) % kBlocks;
    for (std::size_t i = 0; i < kBlockLength && left_ > 0; ++i, --left_) {
      const Instruction& what = code_[block_ * kBlockLength + i];
      Executed executed{&what, nullptr, pc + i * Executed::kInstructionBytes, pc + (i + 1) * Executed::kInstructionBytes, 0, 0};
      if (what.kind == Kind::kLoad || what.kind == Kind::kStore) {
        const std::uint64_t far = (random_ >> (8 + i) & 7) == 0 ? 0x3ffff8 : 0x3ff8;
        accesses_[executed_.size()] = {0x1000000 + (random_ >> (20 + i) & far), 0, 3, what.kind == Kind::kStore};
        executed.accesses = &accesses_[executed_.size()];
        executed.number_of_accesses = 1;
      }
      if (i + 1 == kBlockLength) executed.next_pc = kCode + next * kBlockLength * Executed::kInstructionBytes;
      executed_.push_back(executed);
    }
    block_ = next;
  }

  std::uint64_t left_;
  std::vector<Instruction> code_;
  std::vector<Executed> executed_;
  std::vector<Access> accesses_ = std::vector<Access>(kBatch + kBlockLength);
  std::size_t block_ = 0;
  std::uint64_t random_ = 1;
  std::uint64_t round_ = 0;
};

json cache(unsigned size_bytes, unsigned ways, unsigned latency_cycles, const char* next) {
  return {{"size_bytes", size_bytes}, {"ways", ways},         {"line_bytes", 64}, {"latency_cycles", latency_cycles},
          {"replacement", "lru"},     {"miss_registers", 16}, {"next", next}};
}

/// About the core of a DPU: three wide, out of order.
json processor() {
  const json one = {{"latency_cycles", 1}, {"every_cycles", 1}};
  return {{"name", "benchmark"},
          {"clock", {{"mhz", 2000}}},
          {"organisation", {{"cores", 1}, {"contexts", 1}, {"issue", "out-of-order"}, {"policy", "single"}}},
          {"widths", {{"fetch", 4}, {"enter", 3}, {"issue", 8}, {"commit", 3}, {"depth_cycles", 10}, {"buffer", 16}}},
          {"window", {{"instructions", 128}, {"loads", 32}, {"stores", 32}}},
          {"queues", {{{"name", "integer"}, {"entries", 32}}, {{"name", "memory"}, {"entries", 24}}}},
          {"units",
           {{{"name", "alu"}, {"count", 2}, {"queue", "integer"}, {"executes", {{"integer", one}}}},
            {{"name", "branch"}, {"count", 1}, {"queue", "integer"}, {"executes", {{"branch", one}}}},
            {{"name", "load"},
             {"count", 1},
             {"queue", "memory"},
             {"executes", {{"load", {{"latency_cycles", 0}, {"every_cycles", 1}}}}}},
            {{"name", "store"}, {"count", 1}, {"queue", "memory"}, {"executes", {{"store", one}}}}}},
          {"store_forwarding", {{"latency_cycles", 4}}},
          {"branches",
           {{"predictor", "gshare"},
            {"entries", 4096},
            {"history", 12},
            {"target_entries", 2048},
            {"target_ways", 4},
            {"returns", 16},
            {"target_miss_cycles", 3}}},
          {"caches",
           {{"l1i", cache(49152, 3, 1, "l2")}, {"l1d", cache(32768, 2, 4, "l2")}, {"l2", cache(1048576, 16, 20, "memory")}}},
          {"instruction_cache", "l1i"},
          {"data_cache", "l1d"},
          {"tlbs",
           {{"page_bytes", 4096},
            {"instruction", {{"entries", 48}, {"ways", 48}}},
            {"data", {{"entries", 32}, {"ways", 32}}},
            {"second", {{"entries", 1024}, {"ways", 4}, {"latency_cycles", 5}}},
            {"walk_cycles", 40}}},
          {"memory", {{"latency_ns", 100}, {"banks", 16}, {"bank_busy_ns", 45}, {"bandwidth_gbps", 200}}}};
}

double cpu_s() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t instructions = argc == 2 ? std::strtoull(argv[1], nullptr, 10) : 0;
  if (instructions == 0) {
    std::fputs("usage: cores INSTRUCTIONS\n", stderr);
    return 2;
  }
  std::vector<Load> loads;
  loads.push_back({std::make_unique<Mix>(instructions), {}, 0, 0});
  Chip chip(parse_description(processor(), "/processor"), std::move(loads), {});
  const double begin = cpu_s();
  chip.run({});
  const double elapsed = cpu_s() - begin;
  const json result = chip.result();
  const json& context = result["contexts"][0];
  std::printf("%s\n", json{{"instructions", result["instructions"]},
                           {"cpu_s", elapsed},
                           {"ipc", context["ipc"]},
                           {"mispredicted", context["mispredicted"]},
                           {"misses", result["caches"]["l1d"]["misses"]}}
                          .dump()
                          .c_str());
  return 0;
}
