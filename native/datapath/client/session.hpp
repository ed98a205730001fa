// The client: a port, the traffic, and the trials that a job's commands ask for.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "datapath/client/fill.hpp"
#include "datapath/client/trial.hpp"
#include "datapath/job.hpp"
#include "datapath/ports/port.hpp"
#include "datapath/server/serve.hpp"
#include "datapath/workloads/workload.hpp"
#include "inputs/store.hpp"
#include "operators/engines.hpp"

namespace dpubench::datapath {

/// A client at work. The EAL was started. Its methods are for the thread that constructs it, which is pinned to the job's CPU
/// from then on.
class ClientSession {
 public:
  /// Told what is begun: "frames", "ports".
  using Progress = std::function<void(std::string_view phase)>;
  struct Warning {
    std::string code;
    std::string message;
  };

  /// Prepares frames and expected answers, then opens the port; with a server in this process, that first. @throws Error
  ClientSession(const TrafficJob& job, const EngineCatalog& engines, const Progress& progress = {});
  ClientSession(const ClientSession&) = delete;
  ClientSession& operator=(const ClientSession&) = delete;

  /// Fields of the event `ready`.
  [[nodiscard]] nlohmann::json ready() const;
  /// What is to be told since the last call.
  std::vector<Warning> take_warnings();
  /// The server in this process; null when there is none.
  [[nodiscard]] ServerSession* server() { return server_.get(); }

  /// Runs a trial. @return fields of the event `trial` @throws Error when the port's other side is not there, or the traffic has
  /// no such trial
  nlohmann::json trial(const TrialSpec& spec, const std::atomic<bool>& stop);
  /// Sends one packet of each flow. @return fields of the event `filled` @throws Error when the port's other side is not there
  nlohmann::json fill(std::uint32_t trial);
  /// Locates the losses of the last trial and counts its flows. @param dump  folder that the server wrote
  /// @return fields of the event `checked` @throws Error when that was another trial, or the folder cannot be read
  nlohmann::json check(std::uint32_t trial, const std::string& dump);
  /// For another thread, while a trial is under way.
  [[nodiscard]] const TrialRunner& runner() const { return *runner_; }

 private:
  void prepare(const TrafficJob& job, const EngineCatalog& engines);
  void pin(int cpu);
  void wait_until_up() const;

  std::vector<Warning> warnings_;
  std::unique_ptr<inputs::Store> store_;
  std::unique_ptr<ServerSession> server_;
  std::unique_ptr<Traffic> traffic_;
  std::unique_ptr<Expectation> expectation_;
  Params workload_params_;
  std::unique_ptr<Port> port_;
  std::unique_ptr<TrialRunner> runner_;
  std::unique_ptr<Filler> filler_;  ///< once it was asked for
};

}  // namespace dpubench::datapath
