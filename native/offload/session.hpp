// One rank of study offload at work. All ranks make the same calls in the same order.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "measure/memory_traffic.hpp"
#include "offload/compute.hpp"
#include "offload/data.hpp"
#include "offload/job.hpp"
#include "offload/mover.hpp"
#include "offload/plan.hpp"
#include "offload/transport.hpp"
#include "offload/wire.hpp"

namespace dpubench::offload {

/// A fault that all ranks know, after which they can go on together.
class Agreed : public Error {
 public:
  using Error::Error;
};

/// Whom a session tells its phases.
struct Stages {
  std::function<void(std::string_view phase)> begin;
  std::function<void()> end;
};

/// Iterations of a phase.
struct Timed {
  std::vector<double> ns;  ///< of each iteration: the maximum over ranks
  double total_ns = 0;     ///< the maximum over ranks of their sums
  /// Bytes of memory controllers in an iteration, on the nodes of each role; nothing where they were not counted.
  std::optional<double> host_bytes{};
  std::optional<double> worker_bytes{};
};

class Session {
 public:
  /// Bring the ranks together, map their windows and show whether transfers are one-sided. @param meter of this node's memory
  /// @throws Agreed
  Session(const OffloadJob& job, Role role, Wire& wire, Transport& transport, Stages stages, const measure::MemoryMeter& meter);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Return the fields of the event `opened`.
  [[nodiscard]] nlohmann::json opened() const;
  /// Measure one configuration. @return the fields of the event `trial` @throws Agreed
  nlohmann::json trial(const TrialSpec& spec);

 private:
  using Body = std::function<void(std::uint64_t sequence)>;
  /// A phase: who takes part, and what each role does in an iteration.
  struct Phase {
    const char* name;
    Group group;
    Body host;
    Body worker;
    bool moves = true;  ///< data, which are to be verified
  };
  struct Work {
    std::unique_ptr<Compute> compute;
    double unit_ns = 0;
  };

  void meet();
  void pin();
  /// Find out on which nodes memory is counted, and by which rank.
  void choose_meters();
  void open_windows();
  void prove_one_sided();
  [[nodiscard]] std::string refused_memory(std::uint64_t bytes) const;
  /// Wait until all ranks are here, without taking CPU time from others.
  void settle();
  /// Throw on all ranks if one has a fault. @throws Agreed
  void agree(const std::string& fault);
  /// Make a call that may throw, and agree on its fault.
  void together(const std::function<void()>& call);
  /// Look at the own memory until the rounds have ended, and compute meanwhile. @return whether they did before the limit
  bool look(const std::vector<Round::Wait>& waits, std::uint64_t sequence, double limit_ns);

  void admit(const TrialSpec& spec) const;
  void prepare(const TrialSpec& spec);
  void verify(const char* phase, bool moves);
  Timed repeat(const Phase& phase, std::uint32_t count);
  /// Run a phase. @param count of iterations; 0: from the first ones @param after more of the phase, before it is verified
  Timed run(const Phase& phase, const TrialSpec& spec, std::uint32_t& count, const std::function<void()>& after = {});
  std::uint64_t calibrate(const TrialSpec& spec, double reference_ns);
  std::uint64_t witness(const Plan& plan, const TrialSpec& spec, std::uint64_t units);

  [[nodiscard]] bool is_host() const { return role_ == Role::kHost; }
  [[nodiscard]] std::size_t place() const { return roster_.place_of(wire_.rank()); }
  [[nodiscard]] std::size_t rank() const { return static_cast<std::size_t>(wire_.rank()); }
  [[nodiscard]] std::byte* output() const { return window_ + layout_.output(); }

  OffloadJob job_;
  Role role_;
  Wire& wire_;
  Transport& transport_;
  Stages stages_;
  Wire::Idle idle_;
  Roster roster_;
  Layout layout_;
  std::vector<nlohmann::json> ranks_;
  std::vector<std::string> host_nodes_;
  std::vector<std::string> worker_nodes_;  ///< of the hosts that each worker is next to
  std::size_t sharing_ = 1;                ///< ranks on this node
  const measure::MemoryMeter& meter_;
  bool meters_ = false;           ///< this rank reads its node's counters
  bool hosts_counted_ = false;    ///< the nodes of all hosts have counters, and no worker
  bool workers_counted_ = false;  ///< likewise
  std::string no_counters_;       ///< why not both are counted
  std::byte* window_ = nullptr;
  std::unique_ptr<Mover> mover_;
  bool put_one_sided_ = false;
  bool get_one_sided_ = false;
  bool direct_ = false;
  Data data_;
  std::vector<Delivery> deliveries_;  ///< of the current trial to this host
  std::uint64_t used_ = 0;            ///< bytes of the output that the trial could use
  std::array<Work, kWork.size()> work_;
  Compute* computing_ = nullptr;  ///< of the current trial
  std::uint64_t sequence_ = 1;
  std::uint64_t verified_ = 0;  ///< bytes of the current trial
  std::uint64_t complete_ = 0;  ///< iterations whose data were there when the computation ended
};

/// Return the catalog: patterns, paths, assignments, kinds of work, and why some combinations do not exist.
nlohmann::json session_catalog();

}  // namespace dpubench::offload
