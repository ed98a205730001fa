#include "headroom/session.hpp"

#include <chrono>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "headroom/kernel.hpp"
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

/// Wait until packets can pass. @param is_up of a Link or Passage @throws Error when none can for long
template <class IsUp>
void wait_until_up(const BackendSpec& backend, IsUp is_up) {
  const auto given_up = std::chrono::steady_clock::now() + kPatience;
  while (!is_up()) {
    if (std::chrono::steady_clock::now() > given_up) {
      throw Error("port " + backend.port.kind +
                  ": its other side is not there: start the sink first, or see whether the link is up");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

std::unique_ptr<Link> open_link(const HeadroomJob& job) {
  return job.backend.kind == "udp" ? open_udp_link(job) : open_port_link(job);
}

/// Add what is known of a table that work walks through.
void add_table(json& fields, std::size_t bytes) {
  if (bytes == 0) return;
  fields["table_bytes"] = bytes;
  fields["beyond_caches"] = is_beyond_caches(bytes);
}

}  // namespace

HeadroomSession::HeadroomSession(const HeadroomJob& job, const EngineCatalog& engines, const Progress& progress) : job_(job) {
  if (job.operator_job && job.part != Part::kSink) {
    progress("verify");
    operator_ = std::make_unique<LoopOperator>(job, engines);
  }
  progress("ports");
  if (job.part == Part::kForwarder) {
    open_device();
    return;
  }
  if (job.backend.kind == "pktgen") {
    pktgen_ = std::make_unique<Pktgen>(job);
    return;
  }
  if (job.part == Part::kSink) {
    open_sink(link_, nullptr);
    return;
  }
  // The sink is there before whatever sends to it looks for it.
  if (job_.own_sink) open_sink(sink_link_, &*job_.own_sink);
  link_ = open_link(job);
  wait_until_up(job.backend, [&] { return link_->is_up(); });
  transmitter_ = std::make_unique<Transmitter>(job, *link_);
  give_operator(*transmitter_);
}

HeadroomSession::~HeadroomSession() = default;

void HeadroomSession::open_sink(std::unique_ptr<Link>& link, const OwnSink* own) {
  HeadroomJob job = job_;
  job.part = Part::kSink;
  if (own != nullptr) job.backend = own->backend;
  link = open_link(job);
  sink_ = std::make_unique<Sink>(*link, job.cpus.empty() ? -1 : job.cpus.back(), own);
}

void HeadroomSession::open_device() {
  if (job_.backend.kind == "kernel") {
    if (operator_ != nullptr) throw Error("backend kernel: an operator needs a forwarding loop: choose a port of DPDK");
    device_ = std::make_unique<KernelDevice>(job_);
    return;
  }
  passage_ = open_port_passage(job_);
  wait_until_up(job_.out, [&] { return passage_->is_up(); });
  auto forwarder = std::make_unique<Forwarder>(job_, *passage_);
  give_operator(*forwarder);
  device_ = std::move(forwarder);
}

void HeadroomSession::give_operator(Crew& crew) {
  if (operator_ == nullptr) return;
  for (unsigned thread = 0; thread < job_.threads; ++thread) {
    crew.on_thread(thread, [&] { crew.set_operator(thread, operator_->open()); });
  }
}

json HeadroomSession::ready() const {
  const auto port = [&] {
    if (device_ != nullptr) return device_->described();
    if (link_ != nullptr) return link_->described();
    return json{{"kind", "pktgen"},
                {"driver", "pktgen"},
                {"detail", "the kernel's packet generator on " + pktgen_->interface()},
                {"mtu", job_.max_packet}};
  };
  json fields = {{"port", port()}, {"cpus", job_.cpus}, {"threads", job_.threads}};
  const Pace pace = device_ != nullptr ? device_->pace() : transmitter_ != nullptr ? transmitter_->pace() : Pace{};
  if (pace.spin_step_ns > 0) {
    fields["pinned"] = pace.pinned;
    fields["spin_step_ns"] = pace.spin_step_ns;
    // A step of spinning is one dependent multiplication, whose latency in cycles is known for some processors.
    if (const double cycles = measure::CoreCanary::multiply_cycles(); cycles > 0) {
      fields["ghz_estimate"] = cycles / pace.spin_step_ns;
    }
    if (!pace.no_cycles.empty()) fields["no_cycles"] = pace.no_cycles;
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
    add_table(fields, transmitter_->work().table_of(spec.delay)->bytes());
  }
  return fields;
}

json HeadroomSession::forwarded(const CollectCommand& collect) {
  const Forwarded all = device_->collect(collect.trial, collect.expected);
  json fields = {
      {"event", "forwarded"},       {"trial", collect.trial}, {"received", all.received},       {"bytes", all.bytes},
      {"forwarded", all.forwarded}, {"dropped", all.dropped}, {"inserted_ns", all.inserted_ns}, {"elapsed_ns", all.elapsed_ns},
      {"cpu_ns", all.cpu_ns},       {"open_ns", all.open_ns}};
  if (all.polls) {
    fields["polls"] = all.polls->polls;
    fields["empty_polls"] = all.polls->empty;
    fields["bursts"] = all.polls->bursts;
    fields["busy_ns"] = all.polls->busy_ns;
    fields["idle_ns"] = all.polls->idle_ns;
    fields["waited_ns"] = all.polls->waited_ns;
  }
  if (all.numbers) {
    fields["numbered"] = all.numbers->packets;
    fields["number_sum"] = std::to_string(all.numbers->sum);
  }
  if (all.core_cycles) fields["core_cycles"] = *all.core_cycles;
  add_table(fields, all.table_bytes);
  return fields;
}

json HeadroomSession::obey(const Command& command) {
  return std::visit(Overload{[&](const TrialSpec& spec) -> json {
                               if (job_.part == Part::kSink)
                                 throw Error("a trial is for a sender, not for a sink: send begin and collect");
                               if (device_ != nullptr)
                                 throw Error("a trial is for a sender: send a forwarder forward and collect");
                               return sent(spec);
                             },
                             [&](const BeginCommand& begin) -> json {
                               if (sink_ == nullptr)
                                 throw Error("begin is for a sink: send a sender a trial, a forwarder forward");
                               sink_->begin(begin.trial);
                               return {{"event", "begun"}, {"trial", begin.trial}};
                             },
                             [&](const ForwardCommand& forward) -> json {
                               if (device_ == nullptr)
                                 throw Error("forward is for a forwarder: send a sender a trial, a sink begin");
                               device_->begin(forward.spec);
                               return {{"event", "begun"}, {"trial", forward.spec.number}};
                             },
                             [&](const CollectCommand& collect) -> json {
                               if (device_ != nullptr) return forwarded(collect);
                               if (sink_ == nullptr) throw Error("collect is for a sink or a forwarder: send a sender a trial");
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
                      entry("pktgen", "the kernel's packet generator", why),
                      entry("kernel", "the kernel's own forwarding between two interfaces, for a forwarder", {})});
}

}  // namespace dpubench::headroom
