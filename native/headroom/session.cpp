#include "headroom/session.hpp"

#include <chrono>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "measure/canary.hpp"

namespace dpubench::headroom {
namespace {

using nlohmann::json;

/// Time for the other side of a port to come.
constexpr std::chrono::seconds kPatience{20};

template <class... Cases>
struct Overload : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overload(Cases...) -> Overload<Cases...>;

}  // namespace

HeadroomSession::HeadroomSession(const HeadroomJob& job, const EngineCatalog& engines, const Progress& progress) : job_(job) {
  if (job.operator_job && !job.sink) {
    progress("verify");
    operator_ = std::make_unique<LoopOperator>(job, engines);
  }
  progress("ports");
  if (job.backend.kind == "pktgen") {
    pktgen_ = std::make_unique<Pktgen>(job);
    return;
  }
  link_ = job.backend.kind == "udp" ? open_udp_link(job) : open_port_link(job);
  if (job.sink) {
    sink_ = std::make_unique<Sink>(job, *link_);
    return;
  }
  wait_until_up();
  transmitter_ = std::make_unique<Transmitter>(job, *link_);
  if (operator_ == nullptr) return;
  for (unsigned thread = 0; thread < job.threads; ++thread) {
    transmitter_->on_thread(thread, [&] { transmitter_->set_operator(thread, operator_->open()); });
  }
}

HeadroomSession::~HeadroomSession() = default;

void HeadroomSession::wait_until_up() const {
  const auto given_up = std::chrono::steady_clock::now() + kPatience;
  while (!link_->is_up()) {
    if (std::chrono::steady_clock::now() > given_up) {
      throw Error("port " + job_.backend.port.kind +
                  ": its other side is not there: start the sink first, or see whether the link is up");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

json HeadroomSession::ready() const {
  json fields = {{"port", link_ != nullptr ? link_->described()
                                           : json{{"kind", "pktgen"},
                                                  {"driver", "pktgen"},
                                                  {"detail", "the kernel's packet generator on " + pktgen_->interface()},
                                                  {"mtu", job_.max_packet}}},
                 {"cpus", job_.cpus},
                 {"threads", job_.threads}};
  if (transmitter_ != nullptr) {
    fields["pinned"] = transmitter_->pinned();
    fields["spin_step_ns"] = transmitter_->spin_step_ns();
    // A step of spinning is one dependent multiplication, whose latency in cycles is known for some processors.
    if (const double cycles = measure::CoreCanary::multiply_cycles(); cycles > 0) {
      fields["ghz_estimate"] = cycles / transmitter_->spin_step_ns();
    }
    if (const auto& fault = transmitter_->cycles_fault(); !fault.reason.empty()) fields["no_cycles"] = fault.reason;
  }
  if (operator_ != nullptr) {
    const datapath::StageReport& report = operator_->report();
    fields["operator"] = {{"engine", report.engine}, {"verified", report.verified}, {"item_bytes", operator_->item_bytes()}};
  }
  return fields;
}

json HeadroomSession::sent(const TrialSpec& spec) {
  const Sent all = pktgen_ != nullptr ? pktgen_->trial(spec) : transmitter_->trial(spec);
  json fields = {{"event", "sent"},
                 {"trial", spec.number},
                 {"size", spec.size},
                 {"threads", spec.threads},
                 {"burst", spec.burst},
                 {"reuse", spec.reuse},
                 {"delay", word_of(spec.delay)},
                 {"delay_ns", spec.delay_ns},
                 {"packets", all.packets},
                 {"bursts", all.bursts},
                 {"refusals", all.refusals},
                 {"number_sum", std::to_string(all.number_sum)},
                 {"elapsed_ns", all.elapsed_ns},
                 {"burst_ns", all.burst_ns},
                 {"blocked_ns", all.blocked_ns},
                 {"waited_ns", all.waited_ns},
                 {"inserted_ns", all.inserted_ns},
                 {"cpu_ns", all.cpu_ns}};
  if (all.core_cycles) fields["core_cycles"] = *all.core_cycles;
  if (spec.delay == Delay::kCache || spec.delay == Delay::kMemory) {
    const std::size_t bytes = transmitter_->work().table_of(spec.delay)->bytes();
    fields["table_bytes"] = bytes;
    fields["beyond_caches"] = is_beyond_caches(bytes);
  }
  return fields;
}

json HeadroomSession::obey(const Command& command) {
  return std::visit(Overload{[&](const TrialSpec& spec) -> json {
                               if (job_.sink) throw Error("a trial is for a sender, not for a sink: send begin and collect");
                               return sent(spec);
                             },
                             [&](const BeginCommand& begin) -> json {
                               if (sink_ == nullptr) throw Error("begin is for a sink, not for a sender: send a trial");
                               sink_->begin(begin.trial);
                               return {{"event", "begun"}, {"trial", begin.trial}};
                             },
                             [&](const CollectCommand& collect) -> json {
                               if (sink_ == nullptr) throw Error("collect is for a sink, not for a sender: send a trial");
                               const Received got = sink_->collect(collect.trial, collect.expected);
                               return {{"event", "counted"},
                                       {"trial", collect.trial},
                                       {"packets", got.tally.packets},
                                       {"bytes", got.tally.bytes},
                                       {"number_sum", std::to_string(got.tally.number_sum)},
                                       {"other", got.tally.other},
                                       {"stale", got.tally.stale},
                                       {"dropped", got.dropped},
                                       {"busy_ns", got.busy_ns},
                                       {"elapsed_ns", got.elapsed_ns}};
                             },
                             [](const EndCommand&) -> json { return nullptr; }},
                    command);
}

json backend_catalog() {
  const auto why = pktgen_unavailable();
  const auto entry = [](const char* name, const char* summary, const datapath::PortKind::Reason& reason) {
    return json{{"name", name},
                {"summary", summary},
                {"available", reason.reason.empty()},
                {"reason", reason.reason},
                {"remedy", reason.remedy}};
  };
  return json::array({entry("port", "a port of DPDK, of any kind that study end-to-end has", {}),
                      entry("udp", "UDP sockets of the kernel (sendmmsg, with GSO if wanted)", {}),
                      entry("pktgen", "the kernel's packet generator", why)});
}

}  // namespace dpubench::headroom
