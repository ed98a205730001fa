#include "offload/session.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "measure/clock.hpp"
#include "protocol/machine.hpp"

namespace dpubench::offload {
namespace {

using nlohmann::json;

constexpr std::uint32_t kWarmUp = 2;
constexpr std::uint64_t kProofBytes = std::uint64_t{256} << 10;
constexpr std::size_t kProofTable = 16384;
constexpr std::uint64_t kProofUnits = 64;
constexpr double kCalibrationNs = 3e5;
constexpr int kStretches = 5;

double now_ns() {
  const auto& clock = measure::Clock::instance();
  return clock.to_ns(clock.ticks());
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

json told(const Timed& timed) {
  json phase{{"ns", timed.ns}, {"total_ns", timed.total_ns}};
  if (timed.host_bytes) phase["counted_host_memory"] = std::llround(*timed.host_bytes);
  if (timed.worker_bytes) phase["counted_worker_memory"] = std::llround(*timed.worker_bytes);
  return phase;
}

void add_traffic(json& phase, const MemoryTraffic& traffic) {
  phase["host_memory"] = traffic.host;
  phase["worker_memory"] = traffic.worker;
}

/// Return the bytes of a trial: counted where both roles are, else by the algorithm.
json bytes_of(const json& overlapped, std::uint64_t communicated) {
  const bool counted = overlapped.contains("counted_host_memory") && overlapped.contains("counted_worker_memory");
  const std::string prefix = counted ? "counted_" : "";
  return {{"communicated", communicated},
          {"host_memory", overlapped.at(prefix + "host_memory")},
          {"worker_memory", overlapped.at(prefix + "worker_memory")},
          {"origin", counted ? "counted" : "algorithm"}};
}

/// Return whether blocks of the launcher's command contradict the roles. One block for all roles says nothing: some launchers
/// number no blocks.
std::string contradiction(const std::vector<json>& ranks) {
  std::map<int, std::size_t> first;
  for (const json& rank : ranks) {
    if (rank.at("block").is_number()) first.emplace(rank.at("block").get<int>(), rank.at("rank").get<std::size_t>());
  }
  if (first.size() < 2) return "";
  for (const json& rank : ranks) {
    if (!rank.at("block").is_number()) continue;
    const json& other = ranks.at(first.at(rank.at("block").get<int>()));
    if (other.at("role") == rank.at("role")) continue;
    return "ranks " + other.at("rank").dump() + " and " + rank.at("rank").dump() +
           " are of one block of the launcher (MPI_APPNUM " + rank.at("block").dump() + "), but have roles " +
           other.at("role").get<std::string>() + " and " + rank.at("role").get<std::string>() + ": give each block one --role";
  }
  return "";
}

}  // namespace

Session::Session(const OffloadJob& job, Role role, Wire& wire, Transport& transport, Stages stages,
                 const measure::MemoryMeter& meter)
    : job_(job),
      role_(role),
      wire_(wire),
      transport_(transport),
      stages_(std::move(stages)),
      idle_([this] { transport_.progress(); }),
      layout_(job.hosts, job.workers, job.largest_bytes),
      meter_(meter),
      data_(job.seed, job.hosts) {
  stages_.begin("wire-up");
  meet();
  stages_.begin("register");
  open_windows();
  stages_.begin("one-sided");
  prove_one_sided();
  stages_.end();
}

void Session::settle() {
  wire_.barrier(Group::kAll, true, idle_);
}

void Session::agree(const std::string& fault) {
  settle();
  const auto faults = wire_.gather_all(fault);
  for (std::size_t r = 0; r < faults.size(); ++r) {
    if (!faults[r].empty()) throw Agreed("rank " + std::to_string(r) + ": " + faults[r]);
  }
}

void Session::together(const std::function<void()>& call) {
  std::string fault;
  try {
    call();
  } catch (const Error& error) {
    fault = error.what();
  }
  agree(fault);
}

void Session::meet() {
  const std::string node = wire_.node();
  const auto block = wire_.block();
  json own = {{"cores", sysconf(_SC_NPROCESSORS_ONLN)},
              {"meter", meter_.fault().reason},
              {"rank", wire_.rank()},
              {"role", word_of(kRoles, role_)},
              {"node", node},
              {"pid", getpid()},
              {"block", nullptr},
              {"available", protocol::available_memory()}};
  if (block) own["block"] = *block;
  for (const std::string& text : wire_.gather_all(own.dump())) ranks_.push_back(json::parse(text));
  for (const json& one : ranks_) {
    const bool host = one.at("role") == "host";
    (host ? roster_.hosts : roster_.workers).push_back(one.at("rank").get<int>());
    const auto name = one.at("node").get<std::string>();
    const auto attached = job_.attached.find(name);
    (host ? host_nodes_ : worker_nodes_).push_back(host || attached == job_.attached.end() ? name : attached->second);
  }
  sharing_ =
      static_cast<std::size_t>(std::count_if(ranks_.begin(), ranks_.end(), [&](const json& r) { return r.at("node") == node; }));
  if (roster_.hosts.size() != job_.hosts || roster_.workers.size() != job_.workers) {
    throw Agreed("the launcher started " + std::to_string(roster_.hosts.size()) + " ranks with --role host and " +
                 std::to_string(roster_.workers.size()) + " with --role worker, but the job has hosts " +
                 std::to_string(job_.hosts) + " and workers " + std::to_string(job_.workers) + ": make them agree");
  }
  if (roster_.hosts.front() != 0) throw Agreed("rank 0 has --role worker: put the block of hosts first");
  if (const std::string fault = contradiction(ranks_); !fault.empty()) throw Agreed(fault);
  wire_.split(is_host());
  pin();
  choose_meters();
}

void Session::choose_meters() {
  // Counters are those of a whole node. They tell a role's bytes where no rank of the other role is on its nodes.
  std::map<std::string, std::set<std::string>> roles_of;
  std::map<std::string, int> first;
  for (const json& one : ranks_) {
    roles_of[one.at("node")].insert(one.at("role").get<std::string>());
    first.emplace(one.at("node").get<std::string>(), one.at("rank").get<int>());
  }
  hosts_counted_ = workers_counted_ = true;
  for (const json& one : ranks_) {
    auto why = one.at("meter").get<std::string>();
    if (roles_of[one.at("node")].size() > 1) {
      why = "hosts and workers share node " + one.at("node").get<std::string>() + ", whose counters do not tell them apart";
    }
    if (why.empty()) continue;
    (one.at("role") == "host" ? hosts_counted_ : workers_counted_) = false;
    if (no_counters_.empty()) no_counters_ = why;
  }
  meters_ = (is_host() ? hosts_counted_ : workers_counted_) && first.at(wire_.node()) == wire_.rank();
}

void Session::pin() {
  const auto& cpus = is_host() ? job_.host_cpus : job_.worker_cpus;
  std::size_t before = 0;  // ranks of the same role on this node
  for (const json& one : ranks_) {
    const bool same = one.at("node") == ranks_[rank()].at("node") && one.at("role") == ranks_[rank()].at("role");
    if (same && one.at("rank") < wire_.rank()) ++before;
  }
  together([&] {
    if (cpus.empty()) return;
    const int cpu = cpus[before % cpus.size()];
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(cpu), &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) {
      throw Error("cannot run on CPU " + std::to_string(cpu) + " of node " + wire_.node() + ": " + std::strerror(errno) +
                  ": name CPUs in cpus/" + word_of(kRoles, role_) + " that this process may use (taskset -p)");
    }
  });
  cpu_set_t now;
  CPU_ZERO(&now);
  (void)sched_getaffinity(0, sizeof now, &now);
  const bool pinned = CPU_COUNT(&now) == 1;
  const auto answers = wire_.gather_all(json(pinned ? sched_getcpu() : -1).dump());
  for (std::size_t r = 0; r < answers.size(); ++r) {
    const int cpu = std::stoi(answers[r]);
    ranks_[r]["pinned"] = cpu >= 0;
    ranks_[r]["cpu"] = cpu >= 0 ? json(cpu) : json(nullptr);
  }
}

std::string Session::refused_memory(std::uint64_t bytes) const {
  std::uint64_t needed = 0;
  for (const json& one : ranks_) {
    if (one.at("node") == wire_.node()) needed += layout_.window(one.at("role") == "host" ? Role::kHost : Role::kWorker);
  }
  const auto available = ranks_[rank()].at("available").get<std::uint64_t>();
  if (available == 0 || needed <= available) return "";
  return "the windows of the ranks on node " + wire_.node() + " take " + std::to_string(needed >> 20) + " MiB (this one " +
         std::to_string(bytes >> 20) + "), of which " + std::to_string(available >> 20) +
         " MiB are available: lower largest_bytes or the number of ranks";
}

void Session::open_windows() {
  const std::uint64_t bytes = layout_.window(role_);
  together([&] {
    if (const std::string fault = refused_memory(bytes); !fault.empty()) throw Error(fault);
    window_ = transport_.map(bytes);
    std::fill_n(window_, bytes, std::byte{0});
  });
  const auto addresses = wire_.gather_all(transport_.address());
  together([&] { transport_.connect(addresses, wire_.rank()); });
  mover_ = std::make_unique<Mover>(transport_, window_, layout_, wire_.rank());
  // One signal to everyone makes the connections, while all ranks help.
  Script greeting{{{}, {{}}, {}}};
  for (int r = 0; r < wire_.size(); ++r) {
    if (r != wire_.rank()) greeting.front().signals.push_back(r);
  }
  mover_->run(greeting, sequence_++);
  settle();
  bool reached = true;
  for (const int host : roster_.hosts) reached = reached && (is_host() || transport_.reach(host) != nullptr);
  std::vector<double> unreached{reached ? 0.0 : 1.0};
  wire_.combine(unreached, false);
  direct_ = unreached[0] == 0;
}

bool Session::look(const std::vector<Round::Wait>& waits, std::uint64_t sequence, double limit_ns) {
  Compute compute(kProofTable);
  const double begin = now_ns();
  while (!mover_->ended(waits, sequence)) {
    if (now_ns() - begin > limit_ns) return false;
    compute.run(kProofUnits);
    sched_yield();  // the worker may have the same CPU
  }
  return true;
}

void Session::prove_one_sided() {
  // Each worker writes a block to each host, and then reads one of each. Hosts make no call until they see it in their memory.
  const std::uint64_t bytes = std::min(job_.largest_bytes, kProofBytes);
  Plan puts;
  puts.scripts.resize(roster_.ranks());
  Plan gets = puts;
  deliveries_.clear();
  for (std::size_t w = 0; w < roster_.workers.size(); ++w) {
    const auto worker = static_cast<std::size_t>(roster_.workers[w]);
    Step put{{}, {}, 0, {}, -1};
    Step get{{}, {}, 0, {}, -1};
    for (std::size_t h = 0; h < roster_.hosts.size(); ++h) {
      put.out.push_back({roster_.hosts[h], layout_.output() + w * bytes, layout_.slots(), bytes});
      get.in.push_back({roster_.hosts[h], layout_.input(), layout_.gathered() + h * bytes, bytes});
    }
    puts.scripts[worker] = {{{}, {{put}}, roster_.hosts}};
    gets.scripts[worker] = {{{}, {{get}}, roster_.hosts}};
    deliveries_.push_back({w * bytes, bytes, w, 0});
  }
  find_ends(puts);
  find_ends(gets);
  used_ = bytes * roster_.hosts.size();

  const auto shown = [&](const Plan& plan) {
    settle();
    const std::uint64_t sequence = sequence_++;
    wire_.barrier(Group::kAll, false, idle_);
    std::vector<double> unseen{0};
    if (is_host()) {
      unseen[0] = look(plan.ends[rank()], sequence, job_.proof_limit_s * 1e9) ? 0 : 1;
      if (&plan == &puts && unseen[0] == 0) {
        const Checked checked = check(data_, deliveries_, output(), used_);
        if (checked.wrong != 0) unseen[0] = 2;
      }
    } else {
      mover_->run(plan.scripts[rank()], sequence);
    }
    settle();
    wire_.combine(unseen, false);
    if (unseen[0] == 2) throw Agreed("data came after the flag that announces them: transfers are not in order");
    return unseen[0] == 0;
  };
  data_.next_epoch();
  if (is_host()) {
    poison(data_, deliveries_, output(), used_);
    data_.write(place(), 0, window_ + layout_.input(), bytes);
  } else {
    data_.write(place(), 0, window_ + layout_.slots(), bytes);
  }
  put_one_sided_ = shown(puts);
  if (put_one_sided_) get_one_sided_ = shown(gets);
  std::string fault;
  if (!is_host() && get_one_sided_) {
    std::vector<std::byte> expected(bytes);
    for (std::size_t h = 0; h < roster_.hosts.size(); ++h) {
      data_.write(h, 0, expected.data(), bytes);
      if (!std::equal(expected.begin(), expected.end(), window_ + layout_.gathered() + h * bytes)) {
        fault = "a get from host " + std::to_string(h) + " brought wrong bytes";
      }
    }
  }
  agree(fault);
  if (!get_one_sided_ && !job_.allow_emulated) {
    throw Agreed(std::string(put_one_sided_ ? "gets" : "puts") + " do not complete while hosts compute, over " +
                 transport_.lanes() +
                 ": they are emulated. Use a transport that is one-sided (shared memory, RDMA), or allow it with \"emulated\": "
                 "\"allow\"");
  }
}

json Session::opened() const {
  json ranks = json::array();
  for (const json& one : ranks_) {
    ranks.push_back({{"rank", one.at("rank")},
                     {"role", one.at("role")},
                     {"node", one.at("node")},
                     {"pid", one.at("pid")},
                     {"cores", one.at("cores")},
                     {"cpu", one.at("cpu")},
                     {"pinned", one.at("pinned")}});
  }
  json tables = json::object();
  for (const WorkKind kind : {WorkKind::kCache, WorkKind::kMemory}) {
    const std::size_t bytes = table_bytes(kind, sharing_);
    tables[word_of(kWork, kind)] = {{"bytes", bytes}, {"beyond_caches", is_beyond_caches(bytes)}};
  }
  return {{"ranks", std::move(ranks)},
          {"one_sided",
           {{"put", put_one_sided_},
            {"get", get_one_sided_},
            {"emulated", !get_one_sided_},
            {"direct", direct_},
            {"transports", transport_.lanes()}}},
          {"memory_counters", {{"host", hosts_counted_}, {"worker", workers_counted_}, {"reason", no_counters_}}},
          {"work", std::move(tables)},
          {"mpi", wire_.version()},
          {"ucx", transport_.version()}};
}

void Session::admit(const TrialSpec& spec) const {
  if (spec.bytes > job_.largest_bytes) {
    throw Agreed("/bytes: " + std::to_string(spec.bytes) + " is more than the job's largest_bytes, " +
                 std::to_string(job_.largest_bytes));
  }
  if (const auto why = impossible(spec.pattern, spec.path); !why.empty()) {
    throw Agreed("/path: pattern " + word_of(kPatterns, spec.pattern) + " has no path direct: " + std::string(why));
  }
  if (spec.path == Path::kDirect && !direct_) {
    throw Agreed("/path: direct needs memory of hosts that workers can map, which " + transport_.lanes() +
                 " does not offer: take path staged");
  }
}

void Session::prepare(const TrialSpec& spec) {
  data_.next_epoch();
  if (!is_host()) return;
  data_.write(place(), 0, window_ + layout_.input(), input_bytes(spec.pattern, job_.hosts, place(), spec.bytes));
  poison(data_, deliveries_, output(), used_);
}

void Session::verify(const char* phase, bool moves) {
  std::string fault;
  if (is_host() && moves) {
    const Checked checked = check(data_, deliveries_, output(), used_);
    verified_ += checked.right;
    if (checked.wrong != 0) {
      fault = "phase " + std::string(phase) + ": host " + std::to_string(place()) + " has " + std::to_string(checked.wrong) +
              " wrong bytes: " + checked.first;
    }
  }
  if (is_host() && fault.empty()) fault = computing_->check();
  agree(fault);
}

Timed Session::repeat(const Phase& phase, std::uint32_t count) {
  settle();
  const auto& clock = measure::Clock::instance();
  std::vector<double> ns(count + 1);
  const Body& body = is_host() ? phase.host : phase.worker;
  const auto before = meters_ ? meter_.read() : std::vector<measure::CycleReading>{};
  if (is_host() || phase.group == Group::kAll) {
    for (std::uint32_t i = 0; i < count; ++i) {
      wire_.barrier(phase.group, false, idle_);
      const std::uint64_t begin = clock.ticks();
      body(sequence_ + i);
      ns[i] = std::max(clock.to_ns(clock.ticks() - begin), clock.resolution_ns());
      ns[count] += ns[i];
    }
  }
  settle();
  // Counted bytes of hosts and workers, and whether a counter failed.
  std::vector<double> counted(3);
  if (meters_) {
    const auto bytes = meter_.bytes_between(before, meter_.read());
    counted[is_host() ? 0 : 1] = bytes.value_or(0) / count;
    counted[2] = bytes ? 0 : 1;
  }
  sequence_ += count;
  wire_.combine(ns, false);
  wire_.combine(counted, true);
  Timed timed;
  timed.total_ns = ns.back();
  ns.pop_back();
  timed.ns = std::move(ns);
  if (hosts_counted_ && counted[2] == 0) timed.host_bytes = counted[0];
  if (workers_counted_ && counted[2] == 0) timed.worker_bytes = counted[1];
  return timed;
}

Timed Session::run(const Phase& phase, const TrialSpec& spec, std::uint32_t& count, const std::function<void()>& after) {
  stages_.begin(phase.name);
  if (phase.moves) prepare(spec);
  const Timed first = repeat(phase, kWarmUp);
  if (count == 0) {
    const double wanted = spec.window_ms * 1e6 / std::max(1.0, *std::min_element(first.ns.begin(), first.ns.end()));
    count = static_cast<std::uint32_t>(std::clamp(wanted, 3.0, static_cast<double>(kMostCalibrated)));
  }
  complete_ = 0;
  Timed timed = repeat(phase, count);
  if (after) after();
  verify(phase.name, phase.moves);
  stages_.end();
  return timed;
}

std::uint64_t Session::calibrate(const TrialSpec& spec, double reference_ns) {
  stages_.begin("calibrate");
  settle();
  Work& work = work_.at(static_cast<std::size_t>(spec.work));
  const auto timed = [&](std::uint64_t units) {
    const double begin = now_ns();
    if (is_host()) computing_->run(units);
    return now_ns() - begin;
  };
  if (work.unit_ns == 0) {
    std::vector<double> unit_ns{0};
    if (is_host()) {
      std::uint64_t units = 64;
      while (timed(units) < kCalibrationNs) units *= 2;
      std::vector<double> taken;
      for (int i = 0; i < kStretches; ++i) taken.push_back(timed(units) / static_cast<double>(units));
      unit_ns[0] = median(taken);
    }
    settle();
    wire_.combine(unit_ns, false);
    work.unit_ns = unit_ns[0];
  }
  const double wanted_ns = reference_ns * spec.compute_ratio;
  auto units = std::max<double>(1, std::round(wanted_ns / work.unit_ns));
  // Once more at this length: a short stretch costs more for each unit than a long one.
  std::vector<double> taken;
  for (int i = 0; i < kStretches; ++i) taken.push_back(timed(static_cast<std::uint64_t>(units)));
  settle();
  wire_.combine(taken, false);
  if (const double ns = median(taken); ns > 0) units = std::max<double>(1, std::round(units * wanted_ns / ns));
  stages_.end();
  return static_cast<std::uint64_t>(units);
}

std::uint64_t Session::witness(const Plan& plan, const TrialSpec& spec, std::uint64_t units) {
  prepare(spec);
  settle();
  const std::uint64_t sequence = sequence_++;
  wire_.barrier(Group::kAll, false, idle_);
  std::vector<double> arrived{0};
  if (is_host()) {
    computing_->run(units);
    if (get_one_sided_) (void)look(plan.ends[rank()], sequence, job_.proof_limit_s * 1e9);
    arrived[0] = static_cast<double>(check(data_, deliveries_, output(), used_).right);
    mover_->wait(plan.ends[rank()], sequence, !get_one_sided_);
  } else {
    mover_->run(plan.scripts[rank()], sequence);
  }
  settle();
  wire_.combine(arrived, true);
  return static_cast<std::uint64_t>(arrived[0]);
}

json Session::trial(const TrialSpec& spec) {
  admit(spec);
  const auto worker_of = assign(spec.assignment, host_nodes_, worker_nodes_);
  const Plan offloaded = plan_offloaded(spec.pattern, spec.path, roster_, layout_, worker_of, spec.bytes);
  const Plan reference = plan_reference(spec.pattern, roster_, layout_, spec.bytes);
  deliveries_ = is_host() ? deliveries(spec.pattern, job_.hosts, place(), spec.bytes) : std::vector<Delivery>{};
  used_ = spec.bytes * job_.hosts;
  verified_ = 0;
  Work& work = work_.at(static_cast<std::size_t>(spec.work));
  if (is_host() && work.compute == nullptr) work.compute = std::make_unique<Compute>(table_bytes(spec.work, sharing_));
  computing_ = work.compute.get();

  const bool calls = !get_one_sided_;  // emulated transfers need the hosts' calls
  const auto wait = [&](std::uint64_t sequence) { mover_->wait(offloaded.ends[rank()], sequence, calls); };
  const auto move = [&](std::uint64_t sequence) { mover_->run(offloaded.scripts[rank()], sequence); };
  std::uint32_t count = spec.iterations;
  json phases;
  const auto moved_by_hosts = [&](std::uint64_t sequence) {
    mover_->run(reference.scripts[rank()], sequence);
    mover_->wait(reference.ends[rank()], sequence, true);
  };
  const Timed by_hosts = run({"reference", Group::kHosts, moved_by_hosts, {}}, spec, count);
  phases["reference"] = told(by_hosts);
  phases["communication"] = told(run({"communication", Group::kAll, wait, move}, spec, count));
  const std::uint64_t units = calibrate(spec, median(by_hosts.ns));
  const auto compute = [&](std::uint64_t /*sequence*/) { computing_->run(units); };
  phases["compute"] = told(run({"compute", Group::kHosts, compute, {}, false}, spec, count));
  const auto overlap = [&](std::uint64_t sequence) {
    computing_->run(units);
    if (mover_->ended(offloaded.ends[rank()], sequence)) ++complete_;
    wait(sequence);
  };
  std::uint64_t arrived = 0;
  std::vector<double> complete;
  phases["overlapped"] = told(run({"overlapped", Group::kAll, overlap, move}, spec, count, [&] {
    complete = {static_cast<double>(complete_)};
    arrived = witness(offloaded, spec, units);
  }));
  const auto collective = [&](const std::function<void()>& between) {
    wire_.collective(spec.pattern, window_ + layout_.input(), output(), spec.bytes, between);
  };
  phases["mpi_blocking"] = told(run({"mpi_blocking", Group::kHosts, [&](std::uint64_t) { collective({}); }, {}}, spec, count));
  const std::function<void()> between = [&] { computing_->run(units); };
  phases["mpi_nonblocking"] =
      told(run({"mpi_nonblocking", Group::kHosts, [&](std::uint64_t) { collective(between); }, {}}, spec, count));

  complete.push_back(static_cast<double>(verified_));
  wire_.combine(complete, true);
  const MemoryTraffic moved = traffic_of(offloaded, roster_);
  const std::uint64_t computed = spec.work == WorkKind::kMemory ? 2 * units * Compute::kUnitBytes * job_.hosts : 0;
  add_traffic(phases["reference"], traffic_of(reference, roster_));
  add_traffic(phases["communication"], moved);
  add_traffic(phases["compute"], {computed, 0});
  add_traffic(phases["overlapped"], {moved.host + computed, moved.worker});
  json bytes = bytes_of(phases["overlapped"], communicated_bytes(spec.pattern, job_.hosts, spec.bytes));
  std::vector<std::size_t> served(roster_.workers.size());
  for (const std::size_t w : worker_of) ++served[w];
  return {{"pattern", word_of(kPatterns, spec.pattern)},
          {"path", word_of(kPaths, spec.path)},
          {"assignment", word_of(kAssignments, spec.assignment)},
          {"work", word_of(kWork, spec.work)},
          {"message_bytes", spec.bytes},
          {"iterations", count},
          {"compute_ratio", spec.compute_ratio},
          {"compute_units", units},
          {"phases", std::move(phases)},
          {"served", std::move(served)},
          {"complete_at_compute_end", complete[0] / static_cast<double>(count) / job_.hosts},
          {"arrived_during_compute_bytes", arrived},
          {"bytes", std::move(bytes)},
          {"verified_bytes", static_cast<std::uint64_t>(complete[1])}};
}

json session_catalog() {
  json combinations = json::array();
  for (std::size_t p = 0; p < kPatterns.size(); ++p) {
    for (std::size_t path = 0; path < kPaths.size(); ++path) {
      combinations.push_back({{"pattern", kPatterns.at(p)},
                              {"path", kPaths.at(path)},
                              {"reason", impossible(static_cast<Pattern>(p), static_cast<Path>(path))}});
    }
  }
  return {
      {"patterns", kPatterns}, {"paths", kPaths}, {"assignments", kAssignments}, {"work", kWork}, {"combinations", combinations}};
}

}  // namespace dpubench::offload
