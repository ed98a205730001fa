#include "cores/model/description_memory.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

namespace dpubench::cores {

using nlohmann::json;

namespace {

constexpr std::size_t kMaxCaches = 8;
constexpr double kMostLatency = 1000;       // cycles
constexpr double kMostMemoryTime = 100000;  // ns, or cycles
constexpr double kMaxSizeBytes = 4.0 * (1U << 30);

/// Return a whole number of bytes as text for messages.
std::string bytes(std::uint64_t count) {
  return std::to_string(count) + " bytes";
}

void check_geometry(const Fields& fields, const CacheLevel& cache) {
  if (!fields.sound("size_bytes", "ways", "line_bytes")) return;
  if (!std::has_single_bit(cache.line_bytes))
    return fields.fault("line_bytes", bytes(cache.line_bytes) + " is not a power of two");
  const std::uint64_t way_bytes = std::uint64_t{cache.line_bytes} * cache.ways;
  if (cache.size_bytes % way_bytes != 0 || cache.size_bytes == 0) {
    return fields.fault("size_bytes", bytes(cache.size_bytes) + " cannot be divided into " + std::to_string(cache.ways) +
                                          " ways of lines of " + bytes(cache.line_bytes));
  }
  if (cache.replacement == Replacement::kPlru && !std::has_single_bit(cache.ways)) {
    fields.fault("replacement", "plru is a tree, so the number of ways must be a power of two");
  }
}

void read_prefetch(protocol::Reader& reader, const Fields& cache, CacheLevel& into) {
  if (!cache.has("prefetch")) return;
  const Fields fields(reader, cache.json()["prefetch"], cache.at("prefetch"));
  if (!reader.object(fields.json(), fields.where(), {"kind", "lines"})) return;
  fields.choice<Prefetch>("kind", into.prefetch, {{"next-line", Prefetch::kNextLine}, {"stride", Prefetch::kStride}});
  fields.number("lines", into.prefetch_lines, 1, 32);
}

/// Read a cache's latency in cycles of the core. A cache with its own clock gives it in ns, and this function converts it.
void read_latency(const Fields& fields, double clock_mhz, std::uint32_t& cycles) {
  if (!fields.has("latency_ns")) return fields.number("latency_cycles", cycles, 1, kMostLatency);
  if (fields.has("latency_cycles")) return fields.fault("latency_ns", "is given beside latency_cycles: give one of them");
  double ns = 0;
  fields.number("latency_ns", ns, 0.01, 1e6);
  if (!fields.sound("latency_ns")) return;
  const double rounded = std::max(1.0, std::round(ns * clock_mhz / 1000));
  if (rounded > kMostLatency) return fields.fault("latency_ns", "is more than 1000 cycles of the core");
  cycles = static_cast<std::uint32_t>(rounded);
}

void read_cache(protocol::Reader& reader, const Fields& fields, double clock_mhz, CacheLevel& into) {
  fields.maybe_boolean("ideal", into.ideal);
  if (into.ideal) {
    reader.object(fields.json(), fields.where(), {"ideal", "latency_cycles"});
    return fields.number("latency_cycles", into.latency_cycles, 1, kMostLatency);
  }
  if (!reader.object(fields.json(), fields.where(),
                     {"ideal", "size_bytes", "ways", "line_bytes", "latency_cycles", "latency_ns", "replacement",
                      "miss_registers", "shared_by", "bytes_per_cycle", "prefetch", "next"})) {
    return;
  }
  fields.number("size_bytes", into.size_bytes, 1, kMaxSizeBytes);
  fields.number("ways", into.ways, 1, 64);
  fields.number("line_bytes", into.line_bytes, 8, 1024);
  read_latency(fields, clock_mhz, into.latency_cycles);
  fields.choice<Replacement>("replacement", into.replacement,
                             {{"lru", Replacement::kLru}, {"plru", Replacement::kPlru}, {"random", Replacement::kRandom}});
  fields.number("miss_registers", into.miss_registers, 1, 256);
  fields.maybe_number("shared_by", into.shared_by, 1, kMaxCores);
  fields.maybe_number("bytes_per_cycle", into.bytes_per_cycle, 0, 4096);
  read_prefetch(reader, fields, into);
  check_geometry(fields, into);
}

/// Return the index of the cache called `name`, or nothing.
std::optional<std::size_t> index_of(const std::vector<CacheLevel>& caches, const std::string& name) {
  const auto found = std::find_if(caches.begin(), caches.end(), [&](const CacheLevel& cache) { return cache.name == name; });
  if (found == caches.end()) return std::nullopt;
  return static_cast<std::size_t>(found - caches.begin());
}

void link_caches(protocol::Reader& reader, const Fields& caches, Description& into) {
  for (CacheLevel& cache : into.caches) {
    const Fields fields(reader, caches.json()[cache.name], caches.at(cache.name.c_str()));
    if (cache.ideal || !fields.json().is_object()) continue;
    std::string next;
    fields.text("next", next);
    if (next.empty() || next == "memory") continue;
    const auto index = index_of(into.caches, next);
    if (!index) {
      fields.fault("next", "there is no cache '" + next + "': give the name of a cache, or memory");
    } else {
      cache.next = *index;
    }
  }
}

/// Return the caches on the way of `cache`'s misses to memory, itself first. If they form a circle, each cache is listed once.
std::vector<std::size_t> way_to_memory(const std::vector<CacheLevel>& caches, std::size_t cache) {
  std::vector<std::size_t> way;
  for (std::size_t level = cache; level != kMemory && std::find(way.begin(), way.end(), level) == way.end();
       level = caches.at(level).next) {
    way.push_back(level);
  }
  return way;
}

/// Return whether the misses of the cache `number` reach memory. Report a circle once, at the first of its caches.
bool reaches_memory(const Fields& cache, const std::vector<CacheLevel>& caches, std::size_t number) {
  const std::vector<std::size_t> way = way_to_memory(caches, number);
  const std::size_t behind = caches.at(way.back()).next;
  if (behind == kMemory) return true;
  if (behind == number && number == *std::min_element(way.begin(), way.end())) {
    std::string names;
    for (const std::size_t level : way) names += "'" + caches.at(level).name + "', ";
    cache.fault("next", "goes in a circle: " + names + "'" + caches.at(number).name + "': misses never reach memory");
  }
  return false;
}

/// Check the values on which a cache and the one behind it must agree.
void check_neighbours(protocol::Reader& reader, const Fields& whole, const Fields& caches, const Description& into) {
  for (std::size_t number = 0; number < into.caches.size(); ++number) {
    const CacheLevel& cache = into.caches.at(number);
    const Fields fields(reader, caches.json()[cache.name], caches.at(cache.name.c_str()));
    if (!reaches_memory(fields, into.caches, number)) continue;
    if (whole.sound("organisation/cores") && fields.sound("shared_by") && into.organisation.cores % cache.shared_by != 0) {
      fields.fault("shared_by", std::to_string(into.organisation.cores) + " cores cannot be divided into groups of " +
                                    std::to_string(cache.shared_by));
    }
    if (cache.next == kMemory) continue;
    const CacheLevel& next = into.caches.at(cache.next);
    const Fields behind(reader, caches.json()[next.name], caches.at(next.name.c_str()));
    if (next.ideal) continue;
    if (fields.sound("shared_by") && behind.sound("shared_by") && next.shared_by % cache.shared_by != 0) {
      fields.fault("shared_by", "is " + std::to_string(cache.shared_by) + ", but '" + next.name + "' behind it is shared by " +
                                    std::to_string(next.shared_by));
    }
    if (fields.sound("line_bytes") && behind.sound("line_bytes") && next.line_bytes != cache.line_bytes) {
      fields.fault("line_bytes", "is " + std::to_string(cache.line_bytes) + ", but that of '" + next.name + "' behind it is " +
                                     std::to_string(next.line_bytes));
    }
    if (fields.sound("latency_cycles", "latency_ns") && behind.sound("latency_cycles", "latency_ns") &&
        next.latency_cycles < cache.latency_cycles) {
      fields.fault("latency_cycles",
                   "is longer than that of '" + next.name + "' behind it: latencies are from the load to its data");
    }
  }
}

void read_first_levels(const Fields& whole, Description& into) {
  for (const auto& [key, index] : {std::pair{"instruction_cache", &into.instruction_cache}, {"data_cache", &into.data_cache}}) {
    std::string name;
    whole.text(key, name);
    const auto found = index_of(into.caches, name);
    if (!found) {
      if (whole.sound(key)) whole.fault(key, "there is no cache '" + name + "'");
    } else {
      *index = *found;
    }
  }
}

void read_caches(protocol::Reader& reader, const Fields& whole, Description& into) {
  if (!whole.has("caches")) return whole.fault("caches", "is missing");
  const Fields caches(reader, whole.json()["caches"], whole.at("caches"));
  if (!caches.json().is_object() || caches.json().empty() || caches.json().size() > kMaxCaches) {
    return whole.fault("caches", "must be an object of 1 to " + std::to_string(kMaxCaches) + " caches");
  }
  for (const auto& [name, value] : caches.json().items()) {
    CacheLevel cache;
    cache.name = name;
    if (name == "memory") {
      whole.fault("caches", "a cache must not be called memory");
    } else if (!value.is_object()) {
      caches.fault(name.c_str(), "must be an object");
    } else {
      read_cache(reader, Fields(reader, value, caches.at(name.c_str())), into.clock_mhz, cache);
    }
    into.caches.push_back(cache);
  }
  link_caches(reader, caches, into);
  read_first_levels(whole, into);
  check_neighbours(reader, whole, caches, into);
}

void read_tlb(protocol::Reader& reader, const Fields& tlbs, const char* key, bool second, TlbLevel& into) {
  if (!tlbs.has(key)) return tlbs.fault(key, "is missing");
  const Fields fields(reader, tlbs.json()[key], tlbs.at(key));
  std::set<std::string_view> known = {"entries", "ways"};
  if (second) known.insert("latency_cycles");
  if (!reader.object(fields.json(), fields.where(), known)) return;
  fields.number("entries", into.entries, 1, 1U << 16);
  fields.number("ways", into.ways, 1, 4096);
  if (second) fields.number("latency_cycles", into.latency_cycles, 0, 1000);
  if (fields.sound("entries", "ways") && into.entries % into.ways != 0) {
    fields.fault("entries",
                 std::to_string(into.entries) + " entries cannot be divided into " + std::to_string(into.ways) + " ways");
  }
}

void read_tlbs(protocol::Reader& reader, const Fields& whole, Description& into) {
  if (!whole.has("tlbs")) return;
  const Fields fields(reader, whole.json()["tlbs"], whole.at("tlbs"));
  if (!reader.object(fields.json(), fields.where(), {"page_bytes", "instruction", "data", "second", "walk_cycles"})) return;
  Tlbs tlbs;
  fields.number("page_bytes", tlbs.page_bytes, 1024, 1U << 30);
  if (fields.sound("page_bytes") && !std::has_single_bit(tlbs.page_bytes))
    fields.fault("page_bytes", bytes(tlbs.page_bytes) + " is not a power of two");
  read_tlb(reader, fields, "instruction", false, tlbs.instruction);
  read_tlb(reader, fields, "data", false, tlbs.data);
  if (fields.has("second")) read_tlb(reader, fields, "second", true, tlbs.second.emplace());
  fields.number("walk_cycles", tlbs.walk_cycles, 0, 10000);
  into.tlbs = tlbs;
}

/// Read a time of memory in ns, or in cycles of the core where the memory's clock follows the core's.
void read_time(const Fields& fields, const char* ns_key, const char* cycles_key, double clock_mhz, double least,
               std::uint64_t& cycles) {
  if (!fields.has(ns_key) && fields.has(cycles_key)) return fields.number(cycles_key, cycles, least, kMostMemoryTime);
  if (fields.has(cycles_key)) return fields.fault(ns_key, "is given beside " + std::string(cycles_key) + ": give one of them");
  double ns = 0;
  fields.number(ns_key, ns, least, kMostMemoryTime);
  if (fields.sound(ns_key)) cycles = static_cast<std::uint64_t>(std::ceil(ns * clock_mhz / 1000));
}

/// Read the bandwidth in Gb/s, or in bytes in a cycle of the core.
void read_bandwidth(const Fields& fields, double clock_mhz, double& bytes_per_cycle) {
  constexpr double kBytesPerUsPerGbps = 125;
  if (!fields.has("bandwidth_gbps") && fields.has("bytes_per_cycle")) {
    return fields.number("bytes_per_cycle", bytes_per_cycle, 0.001, 4096);
  }
  if (fields.has("bytes_per_cycle")) {
    return fields.fault("bandwidth_gbps", "is given beside bytes_per_cycle: give one of them");
  }
  double gbps = 0;
  fields.number("bandwidth_gbps", gbps, 0.01, 1e6);
  if (fields.sound("bandwidth_gbps")) bytes_per_cycle = gbps * kBytesPerUsPerGbps / clock_mhz;
}

void read_memory(protocol::Reader& reader, const Fields& whole, double clock_mhz, Memory& into) {
  if (!whole.has("memory")) return whole.fault("memory", "is missing");
  const Fields fields(reader, whole.json()["memory"], whole.at("memory"));
  if (!reader.object(
          fields.json(), fields.where(),
          {"latency_ns", "latency_cycles", "banks", "bank_busy_ns", "bank_busy_cycles", "bandwidth_gbps", "bytes_per_cycle"})) {
    return;
  }
  read_time(fields, "latency_ns", "latency_cycles", clock_mhz, 1, into.latency_cycles);
  fields.number("banks", into.banks, 1, 4096);
  read_time(fields, "bank_busy_ns", "bank_busy_cycles", clock_mhz, 0, into.bank_busy_cycles);
  read_bandwidth(fields, clock_mhz, into.bytes_per_cycle);
}

void read_dma(protocol::Reader& reader, const Fields& whole, Description& into) {
  if (!whole.has("dma")) return;
  const Fields fields(reader, whole.json()["dma"], whole.at("dma"));
  if (!reader.object(fields.json(), fields.where(), {"line_rate_gbps", "frame_bytes", "gap_bytes", "ring_frames", "deliver"}))
    return;
  Dma dma;
  std::string deliver;
  fields.number("line_rate_gbps", dma.line_rate_gbps, 0.001, 10000);
  fields.number("frame_bytes", dma.frame_bytes, 1, 65536);
  fields.maybe_number("gap_bytes", dma.gap_bytes, 0, 1024);
  fields.maybe_number("ring_frames", dma.ring_frames, 1, 1U << 20);
  fields.text("deliver", deliver);
  if (deliver != "memory" && !deliver.empty()) {
    const auto level = index_of(into.caches, deliver);
    if (!level) {
      fields.fault("deliver", "is '" + deliver + "', and must be memory or the name of a cache");
    } else if (into.caches.at(*level).ideal || *level == into.instruction_cache || *level == into.data_cache) {
      fields.fault("deliver", "frames cannot be delivered to '" + deliver + "': it is ideal, or a cache of the first level");
    } else {
      dma.level = *level;
    }
  }
  into.dma = dma;
}

}  // namespace

void read_memory_system(protocol::Reader& reader, const Fields& whole, Description& into) {
  read_caches(reader, whole, into);
  read_tlbs(reader, whole, into);
  read_memory(reader, whole, into.clock_mhz, into.memory);
  read_dma(reader, whole, into);
}

}  // namespace dpubench::cores
