// The server: ports, a workload's stages and a loop for each CPU, and the accounts of its trials.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "datapath/job.hpp"
#include "datapath/ports/port.hpp"
#include "datapath/server/loop.hpp"
#include "datapath/server/setting.hpp"
#include "datapath/workloads/workload.hpp"
#include "inputs/store.hpp"
#include "operators/engines.hpp"

namespace dpubench::datapath {

/// A server that works from its construction to its destruction. Start the EAL first. Call its methods from one thread.
class ServerSession {
 public:
  /// A callback that is told which phase begins: "ports", "build" (prepares and verifies everything).
  using Progress = std::function<void(std::string_view phase)>;
  struct Warning {
    std::string code;
    std::string message;
  };

  /// Open the ports, then prepare and verify the workload, then start the loops. @throws Error
  ServerSession(const ServerJob& job, const EngineCatalog& engines, const Progress& progress = {});
  ~ServerSession();
  ServerSession(const ServerSession&) = delete;
  ServerSession& operator=(const ServerSession&) = delete;

  /// Return the fields of the event `ready`: `ports`, `stages`, `cpus`.
  [[nodiscard]] nlohmann::json ready() const;
  [[nodiscard]] const std::vector<Warning>& warnings() const { return warnings_; }
  [[nodiscard]] std::span<const std::unique_ptr<Port>> ports() const { return ports_; }

  /// Begin a trial: expect its packets from now on. Counters start empty, and so do tables unless they keep their flows.
  /// @return fields of the event `begun` @throws Error
  nlohmann::json begin(std::uint32_t trial, const Beginning& how = {});
  /// End a trial and return the fields of the event `served`. @param dump  folder for the packets that were processed, one by
  /// one; empty: none
  /// @throws Error when this trial is not under way, or the folder cannot be written
  nlohmann::json collect(std::uint32_t trial, const std::string& dump);

 private:
  void open_ports(const ServerJob& job);
  void open_loops(const ServerJob& job);

  std::vector<int> cpus_;
  std::vector<std::unique_ptr<Port>> ports_;
  std::unique_ptr<inputs::Store> store_;
  Setting setting_;
  std::unique_ptr<Pipeline> pipeline_;
  std::vector<StageReport> reports_;
  TrialStart start_;
  std::vector<std::unique_ptr<Loop>> loops_;  ///< destroyed first: they use all of the above
  std::vector<Warning> warnings_;

  /// A thread's use of its CPU, to be compared with its value at a trial's begin.
  struct ThreadUse {
    std::uint64_t cpu_ns = 0;
    std::uint64_t voluntary_switches = 0;
    std::uint64_t involuntary_switches = 0;
  };
  static ThreadUse thread_use();
  std::vector<ThreadUse> cpu_before_;
  std::vector<std::map<std::string, std::uint64_t>> ports_before_;
  std::optional<std::uint32_t> trial_;
  std::uint64_t begun_ticks_ = 0;
  std::uint64_t begun_ns_ = 0;
};

}  // namespace dpubench::datapath
