#include "cores/model/memory.hpp"

namespace dpubench::cores {

MainMemory::MainMemory(const Description& description, std::uint32_t line_bytes, const Now& now)
    : line_bytes_(line_bytes),
      latency_cycles_(description.memory.latency_cycles),
      bank_busy_cycles_(description.memory.bank_busy_cycles),
      banks_(description.memory.banks, Places(1, now)),
      bus_(description.memory.bytes_per_cycle, now) {}

Cycle MainMemory::book(std::uint64_t line, Cycle at) {
  if (before_) before_(at);
  Cycle waiting = 0;
  if (bank_busy_cycles_ > 0) {
    Places& bank = banks_[line % banks_.size()];
    const Cycle begin = bank.first_gap(at, bank_busy_cycles_);
    bank.take(begin, begin + bank_busy_cycles_);
    waiting = begin - at;
  }
  return waiting + bus_.take(at + waiting, line_bytes_);
}

Cycle MainMemory::read(std::uint64_t line, Cycle at, bool /*demand*/) {
  const Cycle waiting = book(line, at);
  ++counters_.reads;
  counters_.waiting_cycles += waiting;
  return at + waiting + latency_cycles_;
}

void MainMemory::write_back(std::uint64_t line, Cycle at) {
  book(line, at);
  ++counters_.writes;
}

}  // namespace dpubench::cores
