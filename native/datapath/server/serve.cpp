#include "datapath/server/serve.hpp"

#include <rte_mbuf.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <set>

#include "base/error.hpp"
#include "datapath/memory.hpp"
#include "datapath/server/account.hpp"
#include "measure/team.hpp"
#include "measure/thread_time.hpp"

namespace dpubench::datapath {
namespace {

using measure::Clock;
using nlohmann::json;

/// Packet buffers for each queue of each port. They fill the rings of drivers, the stages that keep packets, and the caches of
/// pools.
constexpr std::uint32_t kPacketsPerQueue = 16'384;
constexpr std::uint32_t kLeastPackets = 2'048;
constexpr std::uint64_t kPoolPercent = 60;  ///< most that a pool takes of the job's memory

std::uint32_t pool_packets(const ServerJob& job, std::size_t queues) {
  const std::uint64_t element = std::uint64_t{job.max_frame} + RTE_PKTMBUF_HEADROOM + sizeof(rte_mbuf) + 1024;
  const std::uint64_t fitting = (std::uint64_t{job.memory.mb} << 20) * kPoolPercent / 100 / element;
  return std::max(kLeastPackets, static_cast<std::uint32_t>(std::min<std::uint64_t>(fitting, kPacketsPerQueue * queues)));
}

json path_json(const PathInfo& path) {
  json event = {{"isa", path.isa}, {"detail", path.detail}, {"is_hardware", path.is_hardware}};
  if (!path.driver.empty()) event["driver"] = path.driver;
  if (!path.device.empty()) event["device"] = path.device;
  return event;
}

/// Return a driver's counters since the trial's begin, without those that did not change. Some counters start anew when their
/// peer leaves.
json since(const std::map<std::string, std::uint64_t>& now, const std::map<std::string, std::uint64_t>& before) {
  json counters = json::object();
  for (const auto& [name, value] : now) {
    const auto was = before.find(name);
    const std::uint64_t base = was == before.end() || was->second > value ? 0 : was->second;
    if (value != base) counters[name] = value - base;
  }
  return counters;
}

}  // namespace

ServerSession::ServerSession(const ServerJob& job, const EngineCatalog& engines, const Progress& progress) : cpus_(job.cpus) {
  const auto tell = [&progress](std::string_view phase) {
    if (progress) progress(phase);
  };
  if (cpus_.empty()) cpus_.push_back(measure::allowed_cpus().back());
  const Workload& workload = require_workload(job.workload.name);
  setting_ = complete_setting(workload, job, engines);
  setting_.cores = static_cast<std::uint32_t>(cpus_.size());
  tell("ports");
  open_ports(job);
  setting_.ports = ports_;
  tell("build");
  store_ = std::make_unique<inputs::Store>(job.inputs, job.seed, job.cache_dir);
  pipeline_ = workload.open(setting_, *store_, engines);
  reports_ = pipeline_->report();
  for (const std::string& note : store_->notes()) warnings_.push_back({"input-skipped", note});
  open_loops(job);
}

ServerSession::~ServerSession() = default;

void ServerSession::open_ports(const ServerJob& job) {
  static std::atomic<unsigned> serial = 0;
  rte_mempool* const pool =
      make_pool("dpubench-server" + std::to_string(serial++), pool_packets(job, cpus_.size() * job.ports.size()), job.max_frame);
  for (const PortSpec& spec : job.ports) {
    ports_.push_back(open_port(spec, {pool, static_cast<std::uint16_t>(cpus_.size()), job.max_frame}));
  }
}

void ServerSession::open_loops(const ServerJob& job) {
  std::vector<Port*> ports;
  for (const auto& port : ports_) ports.push_back(port.get());
  const std::set<int> distinct(cpus_.begin(), cpus_.end());
  const bool shares_cpu = distinct.size() < cpus_.size();
  if (shares_cpu) {
    warnings_.push_back(
        {"oversubscribed", std::to_string(cpus_.size()) + " loops share " + std::to_string(distinct.size()) + " CPUs"});
  }
  for (std::size_t i = 0; i < cpus_.size(); ++i) {
    LoopSpec spec{ports, static_cast<std::uint16_t>(i), cpus_[i], job.burst, job.sample_every, shares_cpu, &start_};
    loops_.push_back(
        std::make_unique<Loop>(std::move(spec), [this, i] { return pipeline_->open(static_cast<std::uint32_t>(i)); }));
    if (!loops_.back()->pinned()) {
      warnings_.push_back({"not-pinned", "the loop for CPU " + std::to_string(cpus_[i]) + " could not be pinned to it"});
    }
  }
  cpu_before_.resize(loops_.size());
}

json ServerSession::ready() const {
  json ports = json::array();
  for (const auto& port : ports_) {
    const PortInfo& info = port->info();
    ports.push_back({{"kind", info.kind},
                     {"driver", info.driver},
                     {"detail", info.detail},
                     {"is_virtual", info.is_virtual},
                     {"mtu", info.mtu_frame},
                     {"kernel_receives", kernel_receives(info.kind)},
                     {"queue_packets", port->queue_packets()}});
  }
  json stages = json::array();
  for (const StageReport& report : reports_) {
    stages.push_back({{"name", report.name},
                      {"engine", report.engine},
                      {"path", path_json(report.path)},
                      {"verified", report.verified},
                      {"build_ns", report.build_ns},
                      {"memory_bytes", report.memory_bytes}});
  }
  return {{"ports", ports}, {"stages", stages}, {"cpus", cpus_}};
}

ServerSession::ThreadUse ServerSession::thread_use() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return {measure::thread_cpu_ns(), static_cast<std::uint64_t>(usage.ru_nvcsw), static_cast<std::uint64_t>(usage.ru_nivcsw)};
}

json ServerSession::begin(std::uint32_t trial, const Beginning& how) {
  trial_.reset();
  ReceiveWork receive_work(how.receive_work);
  start_.clear();
  ports_before_.clear();
  for (const auto& port : ports_) ports_before_.push_back(port->counters());
  begun_ticks_ = Clock::instance().ticks();
  begun_ns_ = Clock::monotonic_raw_ns();
  std::optional<Stage::Flows> known;
  for (std::size_t i = 0; i < loops_.size(); ++i) {
    loops_[i]->call([&] {
      loops_[i]->begin(trial, how, i == 0 ? std::move(receive_work) : ReceiveWork());
      cpu_before_[i] = thread_use();
      for (const auto& stage : loops_[i]->stages()) {
        const std::optional<Stage::Flows> flows = stage->flows();
        if (!flows) continue;
        known = {.known = known.value_or(Stage::Flows{}).known + flows->known,
                 .room = known.value_or(Stage::Flows{}).room + flows->room};
      }
    });
  }
  trial_ = trial;
  json begun = {{"trial", trial}};
  if (known) begun["flows"] = {{"known", known->known}, {"room", known->room}};
  return begun;
}

json ServerSession::collect(std::uint32_t trial, const std::string& dump) {
  if (trial_ != trial) {
    throw Error("trial " + std::to_string(trial) +
                " cannot be collected: " + (trial_ ? "trial " + std::to_string(*trial_) + " is under way" : "none was begun"));
  }
  trial_.reset();
  const Clock& clock = Clock::instance();
  const std::uint64_t elapsed_ticks = clock.ticks() - begun_ticks_;
  Account account(clock);
  json served = {
      {"trial", trial}, {"elapsed_ns", static_cast<std::uint64_t>(clock.to_ns(elapsed_ticks))}, {"begun_ns", begun_ns_}};
  json workload = json::object();
  json cores = json::array();
  std::uint64_t cpu_ns = 0;
  std::vector<const PacketRecord*> records;
  for (std::size_t i = 0; i < loops_.size(); ++i) {
    Loop& loop = *loops_[i];
    loop.call([&] {
      loop.end();
      const ThreadUse use = thread_use();
      const ThreadUse& before = cpu_before_[i];
      const LoopCounts& counts = loop.counts();
      account.add(counts, loop.residence(), loop.record().not_noted());
      if (loop.measured()) account.add(*loop.measured(), loop.knows_receive_work());
      cores.push_back({{"cpu", loop.cpu()},
                       {"received", counts.ours.received},
                       {"busy_ns", static_cast<std::uint64_t>(clock.to_ns(counts.polls.busy_ticks))},
                       {"idle_ns", static_cast<std::uint64_t>(clock.to_ns(counts.polls.idle_ticks))},
                       {"cpu_ns", use.cpu_ns - before.cpu_ns},
                       {"voluntary_switches", use.voluntary_switches - before.voluntary_switches},
                       {"involuntary_switches", use.involuntary_switches - before.involuntary_switches}});
      cpu_ns += use.cpu_ns - before.cpu_ns;
      for (const auto& stage : loop.stages()) stage->collect(workload, dump);
    });
    records.push_back(&loop.record());
  }
  std::vector<std::string> names;
  for (const StageReport& report : reports_) names.push_back(report.name);
  account.write(served, names, begun_ticks_, begun_ns_);
  served["cpu_ns"] = cpu_ns;
  served["cores"] = std::move(cores);
  json ports = json::array();
  for (std::size_t i = 0; i < ports_.size(); ++i) ports.push_back(since(ports_[i]->counters(), ports_before_[i]));
  served["pool_empty"] = ports[0].value("rx_mbuf_allocation_errors", std::uint64_t{0});
  served["port"] = ports[0];
  if (ports_.size() > 1) served["next_port"] = ports[1];
  if (!workload.empty()) served["workload"] = std::move(workload);
  if (!dump.empty()) dump_records(records, dump);
  return served;
}

}  // namespace dpubench::datapath
