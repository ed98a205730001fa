#include "cores/model/predictors.hpp"

#include "cores/model/tage.hpp"

namespace dpubench::cores {

namespace {

constexpr std::uint64_t kInstructionBytes = 4;
constexpr std::uint8_t kWeaklyTaken = 2;
constexpr std::uint8_t kStronglyTaken = 3;

/// Return the prediction of a two-bit counter, then train the counter.
bool predict_and_train(std::uint8_t& counter, bool taken) {
  const bool predicted = counter >= kWeaklyTaken;
  if (taken && counter < kStronglyTaken) ++counter;
  if (!taken && counter > 0) --counter;
  return predicted;
}

}  // namespace

bool Bimodal::predict(std::uint32_t /*context*/, std::uint64_t pc, bool taken) {
  return predict_and_train(counters_[pc / kInstructionBytes & (counters_.size() - 1)], taken);
}

bool Gshare::predict(std::uint32_t context, std::uint64_t pc, bool taken) {
  std::uint64_t& history = histories_[context];
  const bool predicted = predict_and_train(counters_[(pc / kInstructionBytes ^ history) & (counters_.size() - 1)], taken);
  history = (history << 1 | (taken ? 1U : 0U)) & history_mask_;
  return predicted;
}

bool Tournament::predict(std::uint32_t context, std::uint64_t pc, bool taken) {
  std::uint64_t& history = histories_[context];
  std::uint64_t& own = local_histories_[pc / kInstructionBytes & (local_histories_.size() - 1)];
  std::uint8_t& local = local_[own];
  const std::size_t index = history & (global_.size() - 1);
  const bool local_taken = local >= kWeaklyTakenLocal;
  if (taken && local < kStronglyTakenLocal) ++local;
  if (!taken && local > 0) --local;
  const bool global_taken = predict_and_train(global_[index], taken);
  const bool takes_global = choices_[index] >= kWeaklyTaken;
  // The choice learns only where the two disagree.
  if (local_taken != global_taken) predict_and_train(choices_[index], global_taken == taken);
  own = (own << 1 | (taken ? 1U : 0U)) & local_mask_;
  history = (history << 1 | (taken ? 1U : 0U)) & history_mask_;
  return takes_global ? global_taken : local_taken;
}

std::unique_ptr<DirectionPredictor> make_direction_predictor(const Branches& branches, std::uint32_t contexts) {
  switch (branches.predictor) {
    case Predictor::kPerfect:
      return nullptr;
    case Predictor::kBimodal:
      return std::make_unique<Bimodal>(branches.entries);
    case Predictor::kGshare:
      return std::make_unique<Gshare>(branches.entries, branches.history, contexts);
    case Predictor::kTournament:
      return std::make_unique<Tournament>(branches, contexts);
    case Predictor::kTage:
      return std::make_unique<Tage>(branches, contexts);
  }
  return nullptr;
}

BranchUnit::BranchUnit(const Branches& branches, std::uint32_t contexts)
    : perfect_(branches.predictor == Predictor::kPerfect),
      direction_(make_direction_predictor(branches, contexts)),
      targets_(branches.target_entries / branches.target_ways, branches.target_ways, Replacement::kLru),
      target_of_(branches.target_entries),
      returns_(contexts) {
  for (Returns& returns : returns_) returns.stack.resize(branches.returns);
}

Outcome BranchUnit::predict_target(std::uint64_t pc, std::uint64_t next_pc, bool direct) {
  const std::uint64_t key = pc / kInstructionBytes;
  std::size_t slot = targets_.find(key);
  bool known = false;
  if (slot == Sets::kNone) {
    std::uint64_t evicted = 0;
    slot = targets_.insert(key, evicted);
  } else {
    targets_.touch(slot);
    known = target_of_[slot] == next_pc;
  }
  target_of_[slot] = next_pc;
  if (known) return Outcome::kRight;
  return direct ? Outcome::kLateTarget : Outcome::kWrong;
}

Outcome BranchUnit::predict(std::uint32_t context, const Instruction& branch, std::uint64_t pc, std::uint64_t next_pc) {
  if (perfect_) return Outcome::kRight;
  const std::uint64_t behind = pc + kInstructionBytes;
  Returns& returns = returns_[context];
  if (branch.branch == Branch::kCall || branch.branch == Branch::kIndirectCall) {
    returns.top = (returns.top + 1) % returns.stack.size();
    returns.stack[returns.top] = behind;
  }
  switch (branch.branch) {
    case Branch::kNone:
      return Outcome::kRight;
    case Branch::kConditional: {
      const bool taken = next_pc != behind;
      if (direction_->predict(context, pc, taken) != taken) return Outcome::kWrong;
      return taken ? predict_target(pc, next_pc, true) : Outcome::kRight;
    }
    case Branch::kDirect:
    case Branch::kCall:
      return predict_target(pc, next_pc, true);
    case Branch::kIndirect:
    case Branch::kIndirectCall:
      return predict_target(pc, next_pc, false);
    case Branch::kReturn: {
      const std::uint64_t predicted = returns.stack[returns.top];
      returns.top = (returns.top + returns.stack.size() - 1) % returns.stack.size();
      return predicted == next_pc ? Outcome::kRight : Outcome::kWrong;
    }
  }
  return Outcome::kRight;
}

}  // namespace dpubench::cores
