#include "cores/model/cache.hpp"

#include <algorithm>

namespace dpubench::cores {

namespace {
/// Prefetchers see physical addresses. Therefore they stay within the smallest page.
constexpr std::uint64_t kPrefetchPageBytes = 4096;
constexpr std::uint32_t kSure = 2;
}  // namespace

Cache::Cache(const CacheLevel& description, Level* next, const Now& now)
    : description_(description),
      next_(next),
      sets_(description.ideal ? 1 : description.sets(), description.ideal ? 1 : description.ways, description.replacement),
      lines_(sets_.size()),
      now_(&now),
      registers_(description.miss_registers, now),
      port_(description.bytes_per_cycle, now),
      page_lines_(std::max<std::uint64_t>(1, kPrefetchPageBytes / description.line_bytes)) {}

Cycle Cache::on_its_way(Line& line, Cycle at) {
  const Cycle hit = at + description_.latency_cycles;
  if (at < line.asked) {
    // This access is younger in program order but earlier in time, so it would have been the miss.
    const Cycle ready = at + (line.ready - line.asked);
    line.asked = at;
    line.ready = ready;
    return std::max(hit, ready);
  }
  if (line.ready > hit) ++counters_.late;
  return std::max(hit, line.ready);
}

std::size_t Cache::fill(std::uint64_t line, Cycle asked, Cycle ready) {
  std::uint64_t evicted = Sets::kFree;
  const std::size_t slot = sets_.insert(line, evicted);
  if (evicted != Sets::kFree && lines_[slot].dirty) {
    ++counters_.write_backs;
    next_->write_back(evicted, asked);
  }
  lines_[slot] = {asked, ready, false, false};
  return slot;
}

Cycle Cache::access(std::uint64_t line, Cycle at, bool is_store, bool& prefetch) {
  std::size_t slot = sets_.find(line);
  Cycle ready = 0;
  if (slot != Sets::kNone) {
    sets_.touch(slot);
    Line& found = lines_[slot];
    ready = on_its_way(found, at);
    prefetch = found.prefetched;
    if (found.prefetched) ++counters_.prefetch_hits;
    found.prefetched = false;
  } else {
    ++counters_.misses;
    prefetch = true;
    const Cycle begin = registers_.first_free(at);
    ready = next_->read(line, begin, true);
    registers_.take(begin, ready);
    slot = fill(line, at, ready);
  }
  if (is_store) lines_[slot].dirty = true;
  return ready;
}

Cycle Cache::read(std::uint64_t line, Cycle at, bool demand) {
  if (description_.ideal) return at + description_.latency_cycles;
  at += port_.take(at, description_.line_bytes);
  bool worth_prefetching = false;
  if (demand) {
    ++counters_.accesses;
    const Cycle ready = access(line, at, false, worth_prefetching);
    if (worth_prefetching && description_.prefetch == Prefetch::kNextLine) prefetch_next(line, at);
    return ready;
  }
  // A prefetch of a level above brings the line here too. It does not count as an access.
  if (const std::size_t slot = sets_.find(line); slot != Sets::kNone) return on_its_way(lines_[slot], at);
  const Cycle begin = registers_.first_free(at);
  const Cycle ready = next_->read(line, begin, false);
  registers_.take(begin, ready);
  lines_[fill(line, at, ready)].prefetched = true;
  return ready;
}

void Cache::write_back(std::uint64_t line, Cycle at) {
  if (description_.ideal) return;
  port_.take(at, description_.line_bytes);
  std::size_t slot = sets_.find(line);
  if (slot == Sets::kNone) slot = fill(line, at, at);
  lines_[slot].dirty = true;
}

void Cache::warm(std::uint64_t line, bool is_store) {
  if (description_.ideal) return;
  std::size_t slot = sets_.find(line);
  if (slot != Sets::kNone) {
    sets_.touch(slot);
  } else {
    next_->warm(line, false);
    std::uint64_t evicted = Sets::kFree;
    slot = sets_.insert(line, evicted);
    if (evicted != Sets::kFree && lines_[slot].dirty) next_->warm(evicted, true);
    lines_[slot] = {now_->cycle, now_->cycle, false, false};
  }
  if (is_store) lines_[slot].dirty = true;
}

Cycle Cache::load(std::uint64_t line, std::uint64_t pc, Cycle at) {
  ++counters_.accesses;
  if (description_.ideal) return at + description_.latency_cycles;
  bool worth_prefetching = false;
  const Cycle ready = access(line, at, false, worth_prefetching);
  if (description_.prefetch == Prefetch::kStride) {
    prefetch_stride(line, pc, at);
  } else if (worth_prefetching && description_.prefetch == Prefetch::kNextLine) {
    prefetch_next(line, at);
  }
  return ready;
}

Cycle Cache::store(std::uint64_t line, Cycle at) {
  ++counters_.accesses;
  if (description_.ideal) return at;
  bool worth_prefetching = false;
  const Cycle ready = access(line, at, true, worth_prefetching);
  if (worth_prefetching && description_.prefetch == Prefetch::kNextLine) prefetch_next(line, at);
  return ready == at + description_.latency_cycles ? at : ready;
}

void Cache::prefetch(std::uint64_t line, Cycle at) {
  // Drop a prefetch that would have to wait for a miss register.
  if (sets_.find(line) != Sets::kNone || registers_.first_free(at) != at) return;
  const Cycle ready = next_->read(line, at, false);
  registers_.take(at, ready);
  lines_[fill(line, at, ready)].prefetched = true;
  ++counters_.prefetches;
}

void Cache::prefetch_next(std::uint64_t line, Cycle at) {
  for (std::uint64_t i = 1; i <= description_.prefetch_lines; ++i) {
    if ((line + i) / page_lines_ != line / page_lines_) return;
    prefetch(line + i, at);
  }
}

// Learn a stride per load address (Baer and Chen, Supercomputing 1991).
void Cache::prefetch_stride(std::uint64_t line, std::uint64_t pc, Cycle at) {
  Stride& entry = strides_[pc / 4 % kStrides];
  if (entry.pc != pc) {
    entry = {pc, line, 0, 0};
    return;
  }
  const auto stride = static_cast<std::int64_t>(line - entry.last);
  if (stride == 0) return;
  entry.confidence = stride == entry.stride ? std::min(entry.confidence + 1, kSure) : 0;
  entry.stride = stride;
  entry.last = line;
  if (entry.confidence < kSure) return;
  for (std::uint32_t i = 1; i <= description_.prefetch_lines; ++i) {
    const std::uint64_t ahead = line + static_cast<std::uint64_t>(stride * static_cast<std::int64_t>(i));
    if (ahead / page_lines_ != line / page_lines_) return;
    prefetch(ahead, at);
  }
}

void Cache::deliver(std::uint64_t line, Cycle at) {
  port_.take(at, description_.line_bytes);
  std::size_t slot = sets_.find(line);
  if (slot == Sets::kNone) slot = fill(line, at, at);
  sets_.touch(slot);
  lines_[slot] = {at, at, true, false};
}

bool Cache::fetch_for_device(std::uint64_t line, Cycle at) {
  if (sets_.find(line) == Sets::kNone) return false;
  port_.take(at, description_.line_bytes);
  return true;
}

void Cache::invalidate(std::uint64_t line) {
  if (description_.ideal) return;
  if (const std::size_t slot = sets_.find(line); slot != Sets::kNone) {
    sets_.remove(slot);
    lines_[slot] = {};
  }
}

}  // namespace dpubench::cores
