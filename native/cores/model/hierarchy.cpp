#include "cores/model/hierarchy.hpp"

#include <nlohmann/json.hpp>

namespace dpubench::cores {

namespace {

/// Return the line size of the level before memory. A description has the same size at all levels.
std::uint32_t memory_line_bytes(const Description& description) {
  std::size_t level = description.data_cache;
  while (description.caches[level].next != kMemory) level = description.caches[level].next;
  return description.caches[level].line_bytes;
}

void add(CacheCounters& sum, const CacheCounters& part) {
  sum.accesses += part.accesses;
  sum.misses += part.misses;
  sum.late += part.late;
  sum.write_backs += part.write_backs;
  sum.prefetches += part.prefetches;
  sum.prefetch_hits += part.prefetch_hits;
}

}  // namespace

Hierarchy::Hierarchy(const Description& description, const Now& now)
    : description_(description),
      line_bytes_(memory_line_bytes(description)),
      memory_(description, line_bytes_, now),
      caches_(description.caches.size()) {
  // Create the caches nearest to memory first, because every cache needs the one behind it.
  for (std::size_t made = 0; made < caches_.size();) {
    for (std::size_t level = 0; level < caches_.size(); ++level) {
      const CacheLevel& cache = description_.caches[level];
      if (!caches_[level].empty() || (cache.next != kMemory && caches_[cache.next].empty())) continue;
      for (std::uint32_t core = 0; core < description_.organisation.cores; core += cache.shared_by) {
        Level* const next = cache.next == kMemory ? static_cast<Level*>(&memory_) : &of_core(cache.next, core);
        caches_[level].push_back(std::make_unique<Cache>(cache, next, now));
      }
      ++made;
    }
  }
}

void Hierarchy::invalidate(std::uint64_t line) {
  for (const auto& level : caches_) {
    for (const auto& cache : level) cache->invalidate(line);
  }
}

void Hierarchy::reset_counters() {
  memory_.reset_counters();
  for (const auto& level : caches_) {
    for (const auto& cache : level) cache->reset_counters();
  }
}

nlohmann::json Hierarchy::counters() const {
  nlohmann::json levels = nlohmann::json::object();
  for (std::size_t level = 0; level < caches_.size(); ++level) {
    CacheCounters sum;
    for (const auto& cache : caches_[level]) add(sum, cache->counters());
    levels[description_.caches[level].name] = to_json(sum);
  }
  return {{"caches", levels}, {"memory", to_json(memory_.counters())}};
}

}  // namespace dpubench::cores
