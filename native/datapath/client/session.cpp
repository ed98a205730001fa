#include "datapath/client/session.hpp"

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <set>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "datapath/client/check.hpp"
#include "datapath/memory.hpp"

namespace dpubench::datapath {
namespace {

using nlohmann::json;

/// Buffers for replies: as many as a port's rings hold, and more.
constexpr std::uint32_t kReceivePackets = 8192;
/// Time that a trial waits for the port's other side.
constexpr auto kPatience = std::chrono::seconds(10);
constexpr auto kStep = std::chrono::milliseconds(1);

const Workload& workload_of(const TrafficJob& job) {
  const Workload* const workload = find_workload(job.workload.name);
  if (workload != nullptr) return *workload;
  std::string names;
  for (const Workload* known : workloads()) names += (names.empty() ? "" : ", ") + known->info().name;
  throw Error("there is no workload '" + job.workload.name + "'; there are: " + names);
}

}  // namespace

ClientSession::ClientSession(const TrafficJob& job, const EngineCatalog& engines, const Progress& progress)
    : store_(std::make_unique<inputs::Store>(job.inputs, job.seed, job.cache_dir)) {
  const auto tell = [&progress](std::string_view phase) {
    if (progress) progress(phase);
  };
  tell("frames");
  prepare(job, engines);
  tell("ports");
  if (job.server) {
    server_ = std::make_unique<ServerSession>(*job.server, engines);
    for (const auto& warning : server_->warnings()) warnings_.push_back({warning.code, warning.message});
  }
  static std::atomic<unsigned> serial = 0;
  const std::uint32_t max_frame = std::max(traffic_->max_frame, job.max_frame);
  rte_mempool* const pool = make_pool("dpubench-client" + std::to_string(serial++), kReceivePackets, max_frame);
  port_ = open_port(job.port, {pool, 1, max_frame});
  if (port_->info().mtu_frame < traffic_->max_frame) {
    throw Error("port " + port_->info().kind + " carries frames of " + std::to_string(port_->info().mtu_frame) +
                " B at most, but the traffic has one of " + std::to_string(traffic_->max_frame) +
                " B; give smaller frame sizes, or a port with a larger MTU");
  }
  runner_ = std::make_unique<TrialRunner>(*port_, *traffic_, expectation_.get(), job);
  pin(job.cpu);
}

void ClientSession::prepare(const TrafficJob& job, const EngineCatalog& engines) {
  const Workload& workload = workload_of(job);
  workload_params_ = workload.complete(job.workload.params);
  traffic_ = job.traffic.source == "capture" ? captured_traffic(job, *store_) : model_traffic(job, *store_, engines);
  if (job.receive) expectation_ = workload.expect(workload_params_, *store_, engines, traffic_->templates);
  for (const std::string& note : traffic_->notes) warnings_.push_back({"input-skipped", note});
  for (const std::string& note : store_->notes()) warnings_.push_back({"input-skipped", note});
}

void ClientSession::pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(cpu), &set);
  if (pthread_setaffinity_np(pthread_self(), sizeof set, &set) != 0) {
    warnings_.push_back({"not-pinned", "the client could not be pinned to CPU " + std::to_string(cpu)});
  }
}

json ClientSession::ready() const {
  const PortInfo& info = port_->info();
  json event = {{"ports",
                 {{{"kind", info.kind},
                   {"driver", info.driver},
                   {"detail", info.detail},
                   {"is_virtual", info.is_virtual},
                   {"mtu", info.mtu_frame},
                   {"queue_packets", port_->queue_packets()}}}},
                {"stages", json::array()},
                {"templates", traffic_->templates.size()},
                {"flows", traffic_->slots}};
  if (server_) event["server"] = server_->ready();
  return event;
}

std::vector<ClientSession::Warning> ClientSession::take_warnings() {
  return std::exchange(warnings_, {});
}

void ClientSession::wait_until_up() const {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (!port_->is_up()) {
    if (std::chrono::steady_clock::now() > until) {
      throw Error("port " + port_->info().kind + " (" + port_->info().detail + "): the other side did not connect within " +
                  std::to_string(kPatience.count()) + " s; check that the server runs with the same arguments");
    }
    std::this_thread::sleep_for(kStep);
  }
}

json ClientSession::trial(const TrialSpec& spec, const std::atomic<bool>& stop) {
  wait_until_up();
  json event = runner_->run(spec, stop);
  if (!port_->is_up()) {
    warnings_.push_back({"link-down", "trial " + std::to_string(spec.number) + ": the other side of port " + port_->info().kind +
                                          " went away; the packets sent since then are lost"});
  }
  return event;
}

json ClientSession::fill(std::uint32_t trial) {
  wait_until_up();
  if (filler_ == nullptr) filler_ = std::make_unique<Filler>(*port_, *traffic_, workload_params_);
  return filler_->run(trial);
}

json ClientSession::check(std::uint32_t trial, const std::string& dump) {
  const auto& record = runner_->record();
  if (!record || record->spec.number != trial) {
    throw Error("trial " + std::to_string(trial) +
                " cannot be checked: " + (record ? "the last one was " + std::to_string(record->spec.number) : "there was none"));
  }
  return check_trial(*runner_, *traffic_, expectation_.get(), workload_params_, dump);
}

}  // namespace dpubench::datapath
