// A process of study headroom at work: its link, and a transmitter or a sink.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/device.hpp"
#include "headroom/forward.hpp"
#include "headroom/job.hpp"
#include "headroom/lane.hpp"
#include "headroom/pktgen.hpp"
#include "headroom/sink.hpp"
#include "headroom/transmit.hpp"
#include "operators/engines.hpp"

namespace dpubench::headroom {

class HeadroomSession {
 public:
  using Progress = std::function<void(std::string_view phase)>;

  /// Open the link, and the threads of the role. Start the EAL before if the back-end is a port, or the job has an operator whose
  /// engine uses DPDK. @throws Error
  HeadroomSession(const HeadroomJob& job, const EngineCatalog& engines, const Progress& progress);
  HeadroomSession(const HeadroomSession&) = delete;
  HeadroomSession& operator=(const HeadroomSession&) = delete;
  ~HeadroomSession();

  /// Return the fields of the event `ready`.
  [[nodiscard]] nlohmann::json ready() const;
  /// Obey a command. @return an event, complete but for its time @throws Error when the command is not for this role, or the
  /// trial failed
  nlohmann::json obey(const Command& command);

 private:
  nlohmann::json sent(const TrialSpec& spec);
  nlohmann::json forwarded(const CollectCommand& collect);
  void open_device();
  /// Give each thread of a crew the job's operator, if it names one.
  void give_operator(Crew& crew);
  void open_sink(std::unique_ptr<Link>& link, const OwnSink* own);

  HeadroomJob job_;
  std::unique_ptr<Link> link_;
  std::unique_ptr<Link> sink_link_;  ///< of the sink in a sender's process
  std::unique_ptr<LoopOperator> operator_;
  std::unique_ptr<Transmitter> transmitter_;
  std::unique_ptr<Pktgen> pktgen_;
  std::unique_ptr<Sink> sink_;
  std::unique_ptr<Passage> passage_;
  std::unique_ptr<Device> device_;
};

/// Return the catalog of back-ends: name, summary, available, reason, remedy of each.
nlohmann::json backend_catalog();

}  // namespace dpubench::headroom
