// Address translation of one core. It models only time: addresses stay as they are.
#pragma once

#include <optional>
#include <vector>

#include "cores/model/calendar.hpp"
#include "cores/model/counters.hpp"
#include "cores/model/sets.hpp"

namespace dpubench::cores {

/// A translation with first levels for instructions and data, a common second level, and a table walk of fixed length.
class Translation {
 public:
  Translation(const Tlbs& description);

  /// Return the additional cycles for the translation of an address.
  Cycle instruction(std::uint64_t address, Cycle at) { return look_up(instruction_, address, at); }
  Cycle data(std::uint64_t address, Cycle at) { return look_up(data_, address, at); }

  /// Leave the state that an access would leave, without time and without counting.
  void warm_instruction(std::uint64_t address, Cycle at) { warm(instruction_, address, at); }
  void warm_data(std::uint64_t address, Cycle at) { warm(data_, address, at); }

  [[nodiscard]] const TlbCounters& instruction_counters() const { return instruction_.counters; }
  [[nodiscard]] const TlbCounters& data_counters() const { return data_.counters; }
  void reset_counters();

 private:
  struct Entry {
    Cycle asked = 0;
    Cycle ready = 0;
  };
  struct First {
    Sets sets;
    std::vector<Entry> entries;
    std::uint64_t last_page = Sets::kFree;  ///< the page found last, with nothing left to wait for
    Cycle last_ready = 0;
    TlbCounters counters;
    explicit First(const TlbLevel& level)
        : sets(level.entries / level.ways, level.ways, Replacement::kLru), entries(level.entries) {}
  };
  Cycle look_up(First& first, std::uint64_t address, Cycle at) {
    const std::uint64_t page = address >> page_shift_;
    ++first.counters.accesses;
    return page == first.last_page && at >= first.last_ready ? 0 : look_up_page(first, page, at);
  }
  Cycle look_up_page(First& first, std::uint64_t page, Cycle at);
  void warm(First& first, std::uint64_t address, Cycle at);
  Cycle miss(First& first, std::uint64_t page);

  unsigned page_shift_;
  Cycle walk_cycles_;
  First instruction_;
  First data_;
  std::optional<Sets> second_;
  Cycle second_cycles_ = 0;
};

}  // namespace dpubench::cores
