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

/// A client at work. Start the EAL first. Call its methods from the thread that constructs it; that thread is pinned to the
/// job's CPU from then on.
class ClientSession {
 public:
  /// A callback that is told which phase begins: "frames", "ports".
  using Progress = std::function<void(std::string_view phase)>;
  struct Warning {
    std::string code;
    std::string message;
  };

  /// Prepare frames and expected answers, then open the port. A server in this process is started before the port is opened.
  /// @throws Error
  ClientSession(const TrafficJob& job, const EngineCatalog& engines, const Progress& progress = {});
  ClientSession(const ClientSession&) = delete;
  ClientSession& operator=(const ClientSession&) = delete;

  /// Return the fields of the event `ready`.
  [[nodiscard]] nlohmann::json ready() const;
  /// Return the warnings since the last call.
  std::vector<Warning> take_warnings();
  /// Return the server in this process, or null when there is none.
  [[nodiscard]] ServerSession* server() { return server_.get(); }

  /// Run a trial. @return fields of the event `trial` @throws Error when the port's other side is not there, or the traffic has
  /// no such trial
  nlohmann::json trial(const TrialSpec& spec, const std::atomic<bool>& stop);
  /// Send one packet of each flow. @return fields of the event `filled` @throws Error when the port's other side is not there
  nlohmann::json fill(std::uint32_t trial);
  /// Locate the losses of the last trial and check the counts of its flows. @param dump  folder that the server wrote
  /// @return fields of the event `checked` @throws Error when the last trial was another one, or the folder cannot be read
  nlohmann::json check(std::uint32_t trial, const std::string& dump);
  /// Return the runner, for another thread while a trial is under way.
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
  std::unique_ptr<Filler> filler_;  ///< made when it is first asked for
};

}  // namespace dpubench::datapath
