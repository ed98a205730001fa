// Processors and instruction streams for tests whose cycles can be counted by hand.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "cores/model/chip.hpp"

namespace dpubench::cores::test {

using nlohmann::json;

/// Return a small processor: one unit of each kind, short latencies, ideal caches. Tests replace the parts that they test.
/// An instruction that is fetched in cycle f enters the window in f + 1, issues in f + 2 at the earliest, and commits one latency
/// later. A row of n instructions that issue one per cycle ends after n + 3 cycles.
inline json processor() {
  const auto unit = [](const char* name, std::initializer_list<const char*> kinds, unsigned latency) {
    json executes = json::object();
    for (const char* kind : kinds) executes[kind] = {{"latency_cycles", latency}, {"every_cycles", 1}};
    return json{{"name", name}, {"count", 1}, {"queue", "all"}, {"executes", executes}};
  };
  return {{"name", "by-hand"},
          {"clock", {{"mhz", 1000}}},
          {"organisation", {{"cores", 1}, {"contexts", 1}, {"issue", "out-of-order"}, {"policy", "single"}}},
          {"widths", {{"fetch", 8}, {"enter", 8}, {"issue", 8}, {"commit", 8}, {"depth_cycles", 1}, {"buffer", 8}}},
          {"window", {{"instructions", 64}, {"loads", 32}, {"stores", 32}}},
          {"queues", {{{"name", "all"}, {"entries", 64}}}},
          {"units",
           {unit("alu", {"integer", "branch", "system"}, 1), unit("multiplier", {"multiply"}, 4),
            unit("memory", {"load", "store", "atomic"}, 0)}},
          {"store_forwarding", {{"latency_cycles", 3}}},
          {"branches", {{"predictor", "perfect"}}},
          {"caches", {{"i", {{"ideal", true}, {"latency_cycles", 1}}}, {"d", {{"ideal", true}, {"latency_cycles", 2}}}}},
          {"instruction_cache", "i"},
          {"data_cache", "d"},
          {"memory", {{"latency_ns", 100}, {"banks", 1}, {"bank_busy_ns", 0}, {"bandwidth_gbps", 100000}}}};
}

/// Return a cache for a description, with LRU and lines of 64 bytes.
inline json cache(unsigned size_bytes, unsigned ways, unsigned latency_cycles, const char* next, unsigned miss_registers = 16) {
  return {{"size_bytes", size_bytes},
          {"ways", ways},
          {"line_bytes", 64},
          {"latency_cycles", latency_cycles},
          {"replacement", "lru"},
          {"miss_registers", miss_registers},
          {"next", next}};
}

/// A program that a test writes instruction by instruction.
class Program {
 public:
  Program& add(Kind kind, std::initializer_list<std::uint8_t> written, std::initializer_list<std::uint8_t> read) {
    Entry entry;
    entry.what.kind = kind;
    std::copy(written.begin(), written.end(), entry.what.written.begin());
    std::copy(read.begin(), read.end(), entry.what.read.begin());
    entry.what.writes = entry.what.first_address = static_cast<std::uint8_t>(written.size());
    entry.what.reads = entry.what.first_data = static_cast<std::uint8_t>(read.size());
    entry.pc = pc_;
    entry.messages = std::exchange(messages_, std::uint16_t{0});
    pc_ += 4;
    entries_.push_back(entry);
    return *this;
  }
  Program& integer(std::uint8_t written, std::initializer_list<std::uint8_t> read) {
    return add(Kind::kInteger, {written}, read);
  }
  Program& load(std::uint8_t written, std::uint8_t address_register, std::uint64_t address, std::uint8_t size_log2 = 3) {
    add(Kind::kLoad, {written}, {address_register});
    entries_.back().access = {address, 0, size_log2, false};
    return *this;
  }
  /// Add a load that also advances its address register.
  Program& load_and_advance(std::uint8_t written, std::uint8_t address_register, std::uint64_t address) {
    load(written, address_register, address);
    entries_.back().what.written[1] = address_register;
    entries_.back().what.writes = 2;
    return *this;
  }
  Program& store(std::uint8_t data_register, std::uint8_t address_register, std::uint64_t address, std::uint8_t size_log2 = 3) {
    add(Kind::kStore, {}, {address_register, data_register});
    entries_.back().what.first_data = 1;
    entries_.back().access = {address, 0, size_log2, true};
    return *this;
  }
  /// Add a branch. The next instruction lies at `to`.
  Program& branch(Branch kind, std::uint64_t to, std::initializer_list<std::uint8_t> read = {}) {
    add(Kind::kBranch, {}, read);
    entries_.back().what.branch = kind;
    pc_ = to;
    return *this;
  }
  /// Let the next instruction begin a message.
  Program& message() {
    ++messages_;
    return *this;
  }
  /// Set the address of the next instruction.
  Program& at(std::uint64_t address) {
    pc_ = address;
    return *this;
  }
  [[nodiscard]] std::uint64_t pc() const { return pc_; }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

  /// Return a source that gives `batch` instructions at a time. The program must outlive it.
  [[nodiscard]] std::unique_ptr<InstructionSource> source(std::size_t batch = 7) const {
    return std::make_unique<Source>(*this, batch);
  }

 private:
  struct Entry {
    Instruction what;
    std::uint64_t pc = 0;
    Access access;
    std::uint16_t messages = 0;
  };
  class Source final : public InstructionSource {
   public:
    Source(const Program& program, std::size_t batch) : program_(&program), batch_(batch) {}
    std::span<const Executed> next() override {
      executed_.clear();
      const auto& entries = program_->entries_;
      for (; position_ < entries.size() && executed_.size() < batch_; ++position_) {
        const Entry& entry = entries[position_];
        const bool accesses = entry.what.kind == Kind::kLoad || entry.what.kind == Kind::kStore;
        executed_.push_back({&entry.what, &entry.access, entry.pc,
                             position_ + 1 < entries.size() ? entries[position_ + 1].pc : entry.pc + 4, accesses ? 1U : 0U,
                             entry.messages});
      }
      return executed_;
    }
    void rewind() override { position_ = 0; }

   private:
    const Program* program_;
    std::size_t batch_;
    std::size_t position_ = 0;
    std::vector<Executed> executed_;
  };

  std::deque<Entry> entries_;
  std::uint64_t pc_ = 0x1000;
  std::uint16_t messages_ = 0;
};

/// Return the loads for a chip, one program per context.
inline std::vector<Load> loads(const std::vector<const Program*>& programs, const Extent& extent = {}) {
  std::vector<Load> all;
  for (const Program* program : programs) all.push_back({program->source(), extent, 0, 0});
  return all;
}

/// Return the result of a run of `programs`, one per context.
inline json run(const json& description, const std::vector<const Program*>& programs, const Extent& extent = {}) {
  Chip chip(parse_description(description, "/processor"), loads(programs, extent), {});
  chip.run({});
  return chip.result();
}
inline std::uint64_t cycles(const json& description, const Program& program) {
  return run(description, {&program})["cycles"];
}

}  // namespace dpubench::cores::test
