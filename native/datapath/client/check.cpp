#include "datapath/client/check.hpp"

#include "datapath/client/dump.hpp"
#include "datapath/client/flow_check.hpp"

namespace dpubench::datapath {
namespace {

using nlohmann::json;

/// The packets of the measured part, by the place where they were lost.
struct Lost {
  std::uint64_t client_transmit = 0;
  std::uint64_t server_receive = 0;
  std::uint64_t server_drop = 0;
  std::uint64_t server_transmit = 0;
  std::uint64_t client_receive = 0;
  std::uint64_t unlocated = 0;  ///< sent and not back, through a server that does not see its packets (XDP)
  std::uint64_t excused = 0;
};

/// The first contradiction between the two accounts of a trial, in words; empty if they agree.
class Contradictions {
 public:
  void add(std::uint64_t number, const char* what) {
    if (first_.empty()) first_ = "packet " + std::to_string(number) + " " + what;
  }
  [[nodiscard]] const std::string& first() const { return first_; }

 private:
  std::string first_;
};

class Locator {
 public:
  Locator(const TrialRunner& runner, const Traffic& traffic, const Expectation* expectation, const ServerDump& dump)
      : runner_(runner),
        expectation_(expectation),
        dump_(dump),
        record_(*runner.record()),
        elsewhere_(is_elsewhere(runner, dump)),
        cursor_(traffic) {}

  void run() {
    const bool is_flood = record_.spec.schedule == Schedule::kFlood;
    DueTimes due = runner_.due_times(record_.spec);
    for (std::uint64_t number = 0; number < record_.due; ++number) {
      const std::uint64_t due_ns = is_flood ? 0 : due.next();
      one(number, due_ns);
    }
    dump_.for_each_behind(
        record_.end, [this](std::uint64_t number) { contradictions_.add(number, "was received by the server, but never sent"); });
  }
  [[nodiscard]] const Lost& lost() const { return lost_; }
  [[nodiscard]] const std::string& contradiction() const { return contradictions_.first(); }

 private:
  void one(std::uint64_t number, std::uint64_t due_ns) {
    const bool offered = number < record_.end;
    const bool sent = offered && !runner_.unsent().test(number);
    const bool back = offered && runner_.seen().test(number);
    if (elsewhere_) {
      if (number >= record_.first && !back) ++(sent ? lost_.unlocated : lost_.client_transmit);
      return;
    }
    const bool arrived = dump_.received(number);
    const bool dropped = dump_.dropped(number);
    const bool refused = dump_.refused(number);
    if (arrived && !sent) contradictions_.add(number, "was received by the server, but the client's port did not take it");
    if (back && !arrived) contradictions_.add(number, "came back, but the server did not receive it");
    if (back && (dropped || refused)) contradictions_.add(number, "came back, but the server says that it did not send it");
    if ((dropped || refused) && !arrived) contradictions_.add(number, "was dropped by the server, which did not receive it");
    if (number < record_.first || back) return;
    if (!sent) {
      ++lost_.client_transmit;
    } else if (!arrived) {
      ++lost_.server_receive;
    } else if (dropped) {
      const bool may = expectation_ != nullptr && expectation_->may_drop(cursor_.at(number, due_ns).index);
      ++(may ? lost_.excused : lost_.server_drop);
    } else {
      ++(refused ? lost_.server_transmit : lost_.client_receive);
    }
  }

  const TrialRunner& runner_;
  const Expectation* expectation_;
  const ServerDump& dump_;
  const TrialRecord& record_;
  bool elsewhere_;  ///< the server does not see the packets
  Cursor cursor_;
  Lost lost_;
  Contradictions contradictions_;
};

}  // namespace

json check_trial(const TrialRunner& runner, const Traffic& traffic, const Expectation* expectation, const Params& workload,
                 const std::string& folder) {
  const ServerDump dump(folder);
  Locator locator(runner, traffic, expectation, dump);
  locator.run();
  const Lost& lost = locator.lost();
  const FlowCheck flows = check_flows(runner, traffic, workload, dump, folder);
  const std::string& first_wrong = locator.contradiction().empty() ? flows.first_wrong : locator.contradiction();
  return {{"trial", runner.record()->spec.number},
          {"lost",
           {{"client_transmit", lost.client_transmit},
            {"server_receive", lost.server_receive},
            {"server_drop", lost.server_drop},
            {"server_transmit", lost.server_transmit},
            {"client_receive", lost.client_receive}}},
          {"unlocated", lost.unlocated},
          {"excused", lost.excused},
          {"flows", flows.flows},
          {"flows_wrong", flows.wrong},
          {"first_wrong", first_wrong},
          {"agree", first_wrong.empty()}};
}

}  // namespace dpubench::datapath
