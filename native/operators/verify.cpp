#include "operators/verify.hpp"

#include <algorithm>
#include <numeric>

#include "operators/buffers.hpp"
#include "operators/driver.hpp"

namespace dpubench {
namespace {

constexpr std::size_t kOracleItems = 64;  // brute force is slow; the reference is still compared with every item

/// Return the engines that can do `params` here, the reference first.
std::vector<const Engine*> able(const Operator& op, const EngineCatalog& engines, const Params& params) {
  std::vector<const Engine*> found;
  for (const EngineSlot* slot : engines.of(op)) {
    if (slot->reason.empty() && slot->engine->unsupported(params).empty()) found.push_back(slot->engine);
  }
  return found;
}

void judge_all(const Operator& op, const Work& work, std::span<const Output> outputs, const std::string& prefix) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string wrong = op.check(work, i, outputs[i], &work.expected.at(i));
    if (!wrong.empty()) throw Error(prefix + "item " + std::to_string(i) + ": " + wrong);
  }
}

}  // namespace

std::vector<Output> run_once(const Work& work, Session& session, std::uint32_t burst) {
  // A burst wider than the work would only repeat items, and known answers can be long.
  burst = std::min(burst, static_cast<std::uint32_t>(work.items.size()));
  BufferSet buffers(work, work.items.size(), burst, 0);
  const std::unique_ptr<Lane> lane = session.open();
  lane->attach(buffers.memory());
  LaneStepper stepper(*lane, buffers);
  stepper.step(buffers.bursts().size());
  stepper.finish();
  stepper.require_progress();
  stepper.take_touched();
  buffers.check_inputs();
  std::vector<Output> outputs;
  outputs.reserve(work.items.size());
  for (std::size_t i = 0; i < work.items.size(); ++i) outputs.push_back(buffers.output(i));
  return outputs;
}

Verifier::Verifier(const Operator& op, Work& work, const EngineCatalog& engines, std::uint32_t burst, std::uint64_t seed)
    : op_(op), work_(work), engines_(engines), burst_(burst), random_(seed) {
  if (op.equivalence(work.params) != Equivalence::kIdentical || !work.expected.empty()) return;
  const auto engines_here = able(op, engines, work.params);
  if (engines_here.empty()) return;  // every point of the group fails with its own reason
  const std::unique_ptr<Session> session = engines_here.front()->prepare(work);
  work.expected = run_once(work, *session, burst);
  for (std::size_t i = 0; i < std::min(kOracleItems, work.items.size()); ++i) {
    const std::optional<Output> answer = op.oracle(work, i);
    if (!answer) break;
    const std::string wrong = op.check(work, i, work.expected[i], &*answer);
    if (!wrong.empty()) {
      throw Error("the reference engine " + engines_here.front()->info().name + " disagrees with brute force on item " +
                  std::to_string(i) + ": " + wrong);
    }
  }
}

void Verifier::known_answers(const Engine& engine, std::size_t& passed) {
  for (const KnownAnswer& answer : op_.known_answers(work_.params)) {
    if (!engine.unsupported(answer.work->params).empty()) continue;
    const std::unique_ptr<Session> session = engine.prepare(*answer.work);
    judge_all(op_, *answer.work, run_once(*answer.work, *session, burst_), "known answer " + answer.name + ": ");
    ++passed;
  }
}

Verifier::Passed Verifier::verify(const Engine& engine, Session& session, std::vector<Output>& outputs) {
  Passed passed;
  passed.how = equivalence_name(op_.equivalence(work_.params));
  if (op_.randomized(work_.params)) passed.how += "-sampled";
  known_answers(engine, passed.known_answers);
  outputs = run_once(work_, session, burst_);
  std::vector<std::size_t> items(outputs.size());
  std::iota(items.begin(), items.end(), std::size_t{0});
  if (op_.equivalence(work_.params) == Equivalence::kInverse) {
    judge_inverse(items, outputs, true);
  } else {
    judge(items, outputs);
  }
  passed.compared = outputs.size();
  passed.undecided_share = op_.undecided_share(work_, outputs);
  return passed;
}

void Verifier::judge(std::span<const std::size_t> items, std::span<const Output> outputs) {
  if (op_.equivalence(work_.params) == Equivalence::kInverse) return judge_inverse(items, outputs, false);
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Output* want = work_.expected.empty() ? nullptr : &work_.expected.at(items[i]);
    const std::string wrong = op_.check(work_, items[i], outputs[i], want);
    if (!wrong.empty()) throw Error("item " + std::to_string(items[i]) + ": " + wrong);
  }
  if (const std::string wrong = op_.check_all(work_, items, outputs); !wrong.empty()) throw Error(wrong);
}

void Verifier::judge_window(std::span<const std::size_t> items, std::span<const Output> outputs, std::span<const Output> accepted,
                            bool all) {
  if (all || !op_.randomized(work_.params)) return judge(items, outputs);
  const auto like = [](const Output& a, const Output& b) { return a.status == b.status && a.bytes.size() == b.bytes.size(); };
  std::vector<std::size_t> drawn_items;
  std::vector<Output> drawn;
  std::size_t wanted = kWindowSample;
  for (std::size_t i = 0; i < items.size(); ++i) {
    // Selection sampling (Knuth, The Art of Computer Programming, section 3.4.2, algorithm S).
    const bool chosen = random_.below(items.size() - i) < wanted;
    if (chosen) --wanted;
    const bool usual = std::any_of(accepted.begin(), accepted.end(), [&](const Output& a) { return like(a, outputs[i]); });
    if (!chosen && usual) continue;
    drawn_items.push_back(items[i]);
    drawn.push_back(outputs[i]);
  }
  judge(drawn_items, drawn);
}

void Verifier::judge_inverse(std::span<const std::size_t> items, std::span<const Output> outputs, bool every_engine) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (outputs[i].status != kStatusOk) {
      throw Error("item " + std::to_string(items[i]) + ": status " + std::to_string(outputs[i].status));
    }
  }
  const std::unique_ptr<Work> inverse = op_.inverse(work_, items, outputs);
  if (inverse == nullptr) throw Error(op_.info().name + " has no inverse for " + work_.params.str());
  bool judged = false;
  for (const Engine* engine : able(op_, engines_, inverse->params)) {
    const std::unique_ptr<Session> session = engine->prepare(*inverse);
    judge_all(op_, *inverse, run_once(*inverse, *session, burst_), "inverse with " + engine->info().name + ": ");
    judged = true;
    if (!every_engine) break;
  }
  if (!judged) throw Error("no engine here can undo " + work_.params.str() + ": its output cannot be verified");
}

}  // namespace dpubench
