#include "offload/plan.hpp"

#include <algorithm>
#include <utility>

namespace dpubench::offload {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kMostInFlight = 16;  // blocks of a worker

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

/// A writer of the script of one rank.
class Writer {
 public:
  Writer(int rank, Script& script) : rank_(rank), script_(script) {}

  /// Begin a round that waits for the end of a round of others.
  void round(std::vector<Round::Wait> waits = {}) { script_.push_back({std::move(waits), {{}}, {}}); }
  /// Add a step. Steps that use the same slot do not come into one batch.
  void step(Step step, std::uint64_t at_once = ~std::uint64_t{0}) {
    auto& batches = script_.back().batches;
    if (batches.back().size() >= at_once) batches.emplace_back();
    batches.back().push_back(std::move(step));
  }
  void put(int rank, std::uint64_t there, std::uint64_t here, std::uint64_t bytes) {
    step({{}, {}, 0, {{rank, there, here, bytes}}, -1});
  }
  /// Tell a rank the end of the round; never itself.
  void signal(int rank) {
    auto& signals = script_.back().signals;
    if (rank != rank_ && std::find(signals.begin(), signals.end(), rank) == signals.end()) signals.push_back(rank);
  }
  void signal_all(const std::vector<int>& ranks) {
    for (const int rank : ranks) signal(rank);
  }
  [[nodiscard]] int rank() const { return rank_; }

 private:
  int rank_;
  Script& script_;
};

/// What the workers' scripts of one collective share.
struct Offloaded {
  const Roster& roster;
  const Layout& layout;
  std::uint64_t bytes;
  std::vector<std::vector<std::size_t>> hosts_of;  ///< by worker

  [[nodiscard]] int host(std::size_t place) const { return roster.hosts[place]; }
  [[nodiscard]] int root() const { return roster.hosts[0]; }
  [[nodiscard]] int first() const { return roster.workers[0]; }
  [[nodiscard]] std::uint64_t all_bytes() const { return bytes * roster.hosts.size(); }
  /// Return how many slots of `size` there are, as far as they are used.
  [[nodiscard]] std::uint64_t at_once(std::uint64_t size) const {
    return std::clamp<std::uint64_t>(layout.area() / round_up(size, Layout::kLine), 1, kMostInFlight);
  }
  [[nodiscard]] std::uint64_t slot(std::size_t number, std::uint64_t size) const {
    return layout.slots() + number % at_once(size) * round_up(size, Layout::kLine);
  }
  [[nodiscard]] std::vector<Round::Wait> others(std::size_t worker, std::uint32_t round) const {
    std::vector<Round::Wait> waits;
    for (std::size_t w = 0; w < roster.workers.size(); ++w) {
      if (w != worker) waits.push_back({roster.workers[w], round});
    }
    return waits;
  }
  void signal_hosts(Writer& writer, std::size_t worker) const {
    for (const std::size_t h : hosts_of[worker]) writer.signal(host(h));
  }
  /// Put `size` bytes at `here` to the outputs of the worker's hosts, and tell them.
  void put_to_hosts(Writer& writer, std::size_t worker, std::vector<Copy> in, std::uint64_t here, std::uint64_t size) const {
    if (hosts_of[worker].empty()) return;
    Step step{std::move(in), {}, 0, {}, -1};
    for (const std::size_t h : hosts_of[worker]) step.out.push_back({host(h), layout.output(), here, size});
    writer.step(std::move(step));
    signal_hosts(writer, worker);
  }
};

void broadcast(const Offloaded& all, Writer& writer, std::size_t worker) {
  writer.round();
  all.put_to_hosts(writer, worker, {{all.root(), all.layout.input(), all.layout.slots(), all.bytes}}, all.layout.slots(),
                   all.bytes);
  writer.signal(all.root());
}

void scatter_or_gather(const Offloaded& all, Writer& writer, std::size_t worker, bool scatter) {
  writer.round();
  std::size_t number = 0;
  for (const std::size_t h : all.hosts_of[worker]) {
    const std::uint64_t slot = all.slot(number++, all.bytes);
    const int from = scatter ? all.root() : all.host(h);
    const int to = scatter ? all.host(h) : all.root();
    const std::uint64_t place = h * all.bytes;
    writer.step({{{from, all.layout.input() + (scatter ? place : 0), slot, all.bytes}},
                 {},
                 0,
                 {{to, all.layout.output() + (scatter ? 0 : place), slot, all.bytes}},
                 -1},
                all.at_once(all.bytes));
  }
  all.signal_hosts(writer, worker);
  writer.signal(all.root());
}

/// Worker 0 gathers all blocks; then every worker has all of them from there, and puts them to its hosts.
void allgather(const Offloaded& all, Writer& writer, std::size_t worker) {
  const std::uint64_t gathered = all.layout.gathered();
  writer.round();
  std::size_t number = 0;
  for (const std::size_t h : all.hosts_of[worker]) {
    const std::uint64_t place = gathered + h * all.bytes;
    if (worker == 0) {
      writer.step({{{all.host(h), all.layout.input(), place, all.bytes}}, {}, 0, {}, -1});
      continue;
    }
    const std::uint64_t slot = all.slot(number++, all.bytes);
    writer.step({{{all.host(h), all.layout.input(), slot, all.bytes}}, {}, 0, {{all.first(), place, slot, all.bytes}}, -1},
                all.at_once(all.bytes));
  }
  if (worker != 0) {
    writer.signal(all.first());
    writer.round({{all.first(), 1}});
    all.put_to_hosts(writer, worker, {{all.first(), gathered, gathered, all.all_bytes()}}, gathered, all.all_bytes());
    return;
  }
  writer.round(all.others(0, 0));
  writer.signal_all(all.roster.workers);
  writer.round();
  all.put_to_hosts(writer, 0, {}, gathered, all.all_bytes());
}

void allgather_shared(const Offloaded& all, Writer& writer, std::size_t worker) {
  const std::uint64_t gathered = all.layout.gathered();
  writer.round();
  for (const std::size_t h : all.hosts_of[worker]) {
    const std::uint64_t place = gathered + h * all.bytes;
    Step step{{{all.host(h), all.layout.input(), place, all.bytes}}, {}, 0, {}, -1};
    for (const int other : all.roster.workers) {
      if (other != writer.rank()) step.out.push_back({other, place, place, all.bytes});
    }
    writer.step(std::move(step));
  }
  writer.signal_all(all.roster.workers);
  writer.round(all.others(worker, 0));
  all.put_to_hosts(writer, worker, {}, gathered, all.all_bytes());
}

void all_to_all(const Offloaded& all, Writer& writer, std::size_t worker) {
  writer.round();
  std::size_t number = 0;
  for (const std::size_t h : all.hosts_of[worker]) {
    const std::uint64_t row = all.slot(number++, all.all_bytes());
    Step step{{{all.host(h), all.layout.input(), row, all.all_bytes()}}, {}, 0, {}, -1};
    for (std::size_t to = 0; to < all.roster.hosts.size(); ++to) {
      step.out.push_back({all.host(to), all.layout.output() + h * all.bytes, row + to * all.bytes, all.bytes});
    }
    writer.step(std::move(step), all.at_once(all.all_bytes()));
  }
  if (!all.hosts_of[worker].empty()) writer.signal_all(all.roster.hosts);
}

/// Each worker adds the blocks of its hosts. Worker 0 adds these sums.
void reduce(const Offloaded& all, Writer& writer, std::size_t worker, bool to_all) {
  const std::uint64_t gathered = all.layout.gathered();
  writer.round();
  Step add{{}, {}, all.bytes, {}, -1};
  for (std::size_t i = 0; i < all.hosts_of[worker].size(); ++i) {
    // The blocks lie side by side in the slots. The sum of worker 0 has its place among the workers' sums.
    const std::uint64_t place = i == 0 && worker == 0 ? gathered : all.layout.slots() + i * all.bytes;
    add.in.push_back({all.host(all.hosts_of[worker][i]), all.layout.input(), place, all.bytes});
    add.sums.push_back(place);
  }
  if (worker != 0 && !add.in.empty()) {
    add.out.push_back({all.first(), gathered + worker * all.bytes, all.layout.slots(), all.bytes});
  }
  writer.step(std::move(add));
  all.signal_hosts(writer, worker);
  if (worker != 0) {
    writer.signal(all.first());
    if (!to_all) return;
    writer.round({{all.first(), 1}});
    const std::uint64_t slot = all.layout.slots();
    all.put_to_hosts(writer, worker, {{all.first(), gathered, slot, all.bytes}}, slot, all.bytes);
    return;
  }
  writer.round(all.others(0, 0));
  Step total{{}, {}, all.bytes, {}, -1};
  for (std::size_t w = 0; w < all.roster.workers.size(); ++w) {
    if (w == 0 || !all.hosts_of[w].empty()) total.sums.push_back(gathered + w * all.bytes);
  }
  if (!to_all) {
    total.out.push_back({all.root(), all.layout.output(), gathered, all.bytes});
    writer.step(std::move(total));
    writer.signal(all.root());
    return;
  }
  writer.step(std::move(total));
  writer.signal_all(all.roster.workers);
  writer.round();
  all.put_to_hosts(writer, 0, {}, gathered, all.bytes);
}

/// A worker's copies from host to host.
void direct(Pattern pattern, const Offloaded& all, Writer& writer, std::size_t worker) {
  writer.round();
  const std::uint64_t input = all.layout.input();
  const std::uint64_t output = all.layout.output();
  const auto copy = [&](int from, std::uint64_t place, int to, std::uint64_t there) {
    writer.step({{}, {}, 0, {{to, output + there, input + place, all.bytes}}, from});
    writer.signal(from);
    writer.signal(to);
  };
  for (const std::size_t h : all.hosts_of[worker]) {
    const std::uint64_t place = h * all.bytes;
    if (pattern == Pattern::kBroadcast) copy(all.root(), 0, all.host(h), 0);
    if (pattern == Pattern::kScatter) copy(all.root(), place, all.host(h), 0);
    if (pattern == Pattern::kGather) copy(all.host(h), 0, all.root(), place);
    if (pattern != Pattern::kAllgatherShared && pattern != Pattern::kAllToAll) continue;
    for (std::size_t to = 0; to < all.roster.hosts.size(); ++to) {
      copy(all.host(h), pattern == Pattern::kAllToAll ? to * all.bytes : 0, all.host(to), place);
    }
  }
}

void staged(Pattern pattern, const Offloaded& all, Writer& writer, std::size_t worker) {
  switch (pattern) {
    case Pattern::kBroadcast:
      if (!all.hosts_of[worker].empty()) broadcast(all, writer, worker);
      break;
    case Pattern::kScatter:
    case Pattern::kGather:
      if (!all.hosts_of[worker].empty()) scatter_or_gather(all, writer, worker, pattern == Pattern::kScatter);
      break;
    case Pattern::kAllgather:
      allgather(all, writer, worker);
      break;
    case Pattern::kAllgatherShared:
      allgather_shared(all, writer, worker);
      break;
    case Pattern::kAllToAll:
      all_to_all(all, writer, worker);
      break;
    case Pattern::kReduce:
    case Pattern::kAllreduce:
      reduce(all, writer, worker, pattern == Pattern::kAllreduce);
      break;
  }
}

bool is_sum(Pattern pattern) {
  return pattern == Pattern::kReduce || pattern == Pattern::kAllreduce;
}

/// The sum of a reference: all put their block to the root, which adds.
void reference_sum(Pattern pattern, const Roster& roster, const Layout& layout, std::uint64_t bytes, Writer& writer,
                   std::size_t host) {
  const int root = roster.hosts[0];
  writer.round();
  writer.put(root, layout.scratch() + host * bytes, layout.input(), bytes);
  writer.signal(root);
  if (host != 0) return;
  std::vector<Round::Wait> others;
  for (std::size_t h = 1; h < roster.hosts.size(); ++h) others.push_back({roster.hosts[h], 0});
  writer.round(std::move(others));
  Step add{{}, {}, bytes, {}, -1};
  for (std::size_t h = 0; h < roster.hosts.size(); ++h) add.sums.push_back(layout.scratch() + h * bytes);
  for (const int to : roster.hosts) {
    if (to != root && pattern != Pattern::kAllreduce) continue;
    add.out.push_back({to, layout.output(), layout.scratch(), bytes});
    writer.signal(to);
  }
  writer.step(std::move(add));
}

/// Puts of a reference from host to host.
void reference_puts(Pattern pattern, const Roster& roster, const Layout& layout, std::uint64_t bytes, Writer& writer,
                    std::size_t host) {
  const bool from_root = pattern == Pattern::kBroadcast || pattern == Pattern::kScatter;
  if (from_root && host != 0) return;
  writer.round();
  for (std::size_t to = 0; to < roster.hosts.size(); ++to) {
    if (pattern == Pattern::kGather && to != 0) continue;
    const bool own_block = pattern == Pattern::kScatter || pattern == Pattern::kAllToAll;
    writer.put(roster.hosts[to], layout.output() + (from_root ? 0 : host * bytes), layout.input() + (own_block ? to * bytes : 0),
               bytes);
    writer.signal(roster.hosts[to]);
  }
}

}  // namespace

std::size_t Roster::place_of(int rank) const {
  const auto& ranks = is_host(rank) ? hosts : workers;
  return static_cast<std::size_t>(std::find(ranks.begin(), ranks.end(), rank) - ranks.begin());
}

bool Roster::is_host(int rank) const {
  return std::find(hosts.begin(), hosts.end(), rank) != hosts.end();
}

Layout::Layout(std::size_t hosts, std::size_t workers, std::uint64_t largest_bytes)
    : flags_(round_up((hosts + workers) * kLine, kPage)), area_(round_up(hosts * largest_bytes, kPage) + kGuard) {}

std::string_view impossible(Pattern pattern, Path path) {
  if (path == Path::kStaged) return "";
  if (pattern == Pattern::kAllgather) return "worker 0 gathers all blocks in its memory";
  return is_sum(pattern) ? "the worker adds in its memory" : "";
}

std::vector<std::size_t> assign(Assignment assignment, const std::vector<std::string>& host_nodes,
                                const std::vector<std::string>& worker_nodes) {
  const std::size_t hosts = host_nodes.size();
  const std::size_t workers = worker_nodes.size();
  std::vector<std::size_t> worker_of(hosts);
  std::vector<std::size_t> load(workers);
  for (std::size_t h = 0; h < hosts; ++h) {
    std::size_t best = assignment == Assignment::kCyclic ? h % workers : h * workers / hosts;
    if (assignment == Assignment::kTopology) {
      // The worker next to the host before all others, and of several the one with the least to do.
      const auto cost = [&](std::size_t w) { return std::pair(worker_nodes[w] != host_nodes[h], load[w]); };
      best = 0;
      for (std::size_t w = 1; w < workers; ++w) {
        if (cost(w) < cost(best)) best = w;
      }
    }
    worker_of[h] = best;
    ++load[best];
  }
  return worker_of;
}

void find_ends(Plan& plan) {
  plan.ends.assign(plan.scripts.size(), {});
  for (std::size_t rank = 0; rank < plan.scripts.size(); ++rank) {
    std::vector<int> last(plan.scripts.size(), -1);
    for (std::size_t r = 0; r < plan.scripts[rank].size(); ++r) {
      for (const int told : plan.scripts[rank][r].signals) last[static_cast<std::size_t>(told)] = static_cast<int>(r);
    }
    for (std::size_t told = 0; told < last.size(); ++told) {
      if (last[told] >= 0) plan.ends[told].push_back({static_cast<int>(rank), static_cast<std::uint32_t>(last[told])});
    }
  }
}

Plan plan_offloaded(Pattern pattern, Path path, const Roster& roster, const Layout& layout,
                    const std::vector<std::size_t>& worker_of, std::uint64_t bytes) {
  Plan plan;
  plan.scripts.resize(roster.ranks());
  Offloaded all{roster, layout, bytes, std::vector<std::vector<std::size_t>>(roster.workers.size())};
  for (std::size_t h = 0; h < worker_of.size(); ++h) all.hosts_of[worker_of[h]].push_back(h);
  for (std::size_t w = 0; w < roster.workers.size(); ++w) {
    Writer writer(roster.workers[w], plan.scripts[static_cast<std::size_t>(roster.workers[w])]);
    if (path == Path::kDirect) {
      direct(pattern, all, writer, w);
    } else {
      staged(pattern, all, writer, w);
    }
  }
  find_ends(plan);
  return plan;
}

Plan plan_reference(Pattern pattern, const Roster& roster, const Layout& layout, std::uint64_t bytes) {
  Plan plan;
  plan.scripts.resize(roster.ranks());
  for (std::size_t h = 0; h < roster.hosts.size(); ++h) {
    Writer writer(roster.hosts[h], plan.scripts[static_cast<std::size_t>(roster.hosts[h])]);
    if (is_sum(pattern)) {
      reference_sum(pattern, roster, layout, bytes, writer, h);
    } else {
      reference_puts(pattern, roster, layout, bytes, writer, h);
    }
  }
  find_ends(plan);
  return plan;
}

std::vector<Delivery> deliveries(Pattern pattern, std::size_t hosts, std::size_t host, std::uint64_t bytes) {
  std::vector<Delivery> found;
  const bool is_root = host == 0;
  switch (pattern) {
    case Pattern::kBroadcast:
      found.push_back({0, bytes, 0, 0});
      break;
    case Pattern::kScatter:
      found.push_back({0, bytes, 0, host * bytes});
      break;
    case Pattern::kGather:
    case Pattern::kAllgather:
    case Pattern::kAllgatherShared:
      for (std::size_t h = 0; h < hosts && (is_root || pattern != Pattern::kGather); ++h) {
        found.push_back({h * bytes, bytes, h, 0});
      }
      break;
    case Pattern::kAllToAll:
      for (std::size_t h = 0; h < hosts; ++h) found.push_back({h * bytes, bytes, h, host * bytes});
      break;
    case Pattern::kReduce:
    case Pattern::kAllreduce:
      if (is_root || pattern == Pattern::kAllreduce) found.push_back({0, bytes, 0, 0, true});
      break;
  }
  return found;
}

std::uint64_t input_bytes(Pattern pattern, std::size_t hosts, std::size_t host, std::uint64_t bytes) {
  if (pattern == Pattern::kBroadcast) return host == 0 ? bytes : 0;
  if (pattern == Pattern::kScatter) return host == 0 ? hosts * bytes : 0;
  return pattern == Pattern::kAllToAll ? hosts * bytes : bytes;
}

MemoryTraffic traffic_of(const Plan& plan, const Roster& roster) {
  MemoryTraffic traffic;
  const auto of = [&](int rank) -> std::uint64_t& { return roster.is_host(rank) ? traffic.host : traffic.worker; };
  for (std::size_t rank = 0; rank < plan.scripts.size(); ++rank) {
    std::uint64_t& own = of(static_cast<int>(rank));
    for (const Round& round : plan.scripts[rank]) {
      for (const auto& batch : round.batches) {
        for (const Step& step : batch) {
          for (const Copy& in : step.in) {
            of(in.rank) += in.bytes;
            own += in.bytes;
          }
          // An addition reads both blocks and writes one.
          if (step.sums.size() > 1) own += 3 * step.sum_bytes * (step.sums.size() - 1);
          for (const Copy& out : step.out) {
            of(step.source < 0 ? static_cast<int>(rank) : step.source) += out.bytes;
            of(out.rank) += out.bytes;
          }
        }
      }
    }
  }
  return traffic;
}

std::uint64_t communicated_bytes(Pattern pattern, std::size_t hosts, std::uint64_t bytes) {
  std::uint64_t sum = 0;
  for (std::size_t h = 0; h < hosts; ++h) {
    for (const Delivery& delivery : deliveries(pattern, hosts, h, bytes)) sum += delivery.sum ? 0 : delivery.bytes;
  }
  if (is_sum(pattern)) sum = (pattern == Pattern::kAllreduce ? 2 : 1) * hosts * bytes;
  return sum;
}

}  // namespace dpubench::offload
