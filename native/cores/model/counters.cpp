#include "cores/model/counters.hpp"

#include <nlohmann/json.hpp>
#include <string>

namespace dpubench::cores {

using nlohmann::json;

json to_json(const CacheCounters& c) {
  return {{"accesses", c.accesses},       {"misses", c.misses},         {"late", c.late},
          {"write_backs", c.write_backs}, {"prefetches", c.prefetches}, {"prefetch_hits", c.prefetch_hits}};
}

json to_json(const TlbCounters& c) {
  return {{"accesses", c.accesses}, {"misses", c.misses}, {"walks", c.walks}};
}

json to_json(const MemoryCounters& c) {
  return {{"lines_read", c.reads}, {"lines_written", c.writes}, {"waiting_cycles", c.waiting_cycles}};
}

json to_json(const DmaCounters& c) {
  return {{"frames", c.frames}, {"lost", c.lost}};
}

json to_json(const ContextCounters& c) {
  json kinds = json::object();
  for (std::size_t i = 0; i < kKinds; ++i) kinds[std::string(kKindNames.at(i))] = c.kinds.at(i);
  json stalls = json::object();
  for (std::size_t i = 1; i < kCauses; ++i) stalls[std::string(kCauseNames.at(i))] = c.stalls.at(i);
  return {{"instructions", c.instructions},
          {"messages", c.messages},
          {"kinds", kinds},
          {"stall_cycles", stalls},
          {"branches", c.branches},
          {"conditional_branches", c.conditional},
          {"mispredicted", c.mispredicted},
          {"late_targets", c.late_targets},
          {"loads", c.loads},
          {"stores", c.stores},
          {"forwarded_loads", c.forwarded}};
}

}  // namespace dpubench::cores
