// Predictors of branch directions and targets.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cores/instruction.hpp"
#include "cores/model/description.hpp"
#include "cores/model/sets.hpp"

namespace dpubench::cores {

/// A predictor of conditional branches. The contexts of a core share its tables, but each has its own history.
class DirectionPredictor {
 public:
  virtual ~DirectionPredictor() = default;
  /// Return the prediction, then learn the outcome. Histories contain the path that was really taken: a processor has the same
  /// history after it repairs a misprediction.
  virtual bool predict(std::uint32_t context, std::uint64_t pc, bool taken) = 0;
};

/// A predictor with two-bit counters by address (Smith, ISCA 1981).
class Bimodal final : public DirectionPredictor {
 public:
  explicit Bimodal(std::uint32_t entries) : counters_(entries, 1) {}
  bool predict(std::uint32_t context, std::uint64_t pc, bool taken) override;

 private:
  std::vector<std::uint8_t> counters_;
};

/// A predictor with two-bit counters by address xor global history (McFarling, WRL TN-36, 1993).
class Gshare final : public DirectionPredictor {
 public:
  Gshare(std::uint32_t entries, std::uint32_t history, std::uint32_t contexts)
      : history_mask_((std::uint64_t{1} << history) - 1), counters_(entries, 1), histories_(contexts) {}
  bool predict(std::uint32_t context, std::uint64_t pc, bool taken) override;

 private:
  std::uint64_t history_mask_;
  std::vector<std::uint8_t> counters_;
  std::vector<std::uint64_t> histories_;
};

/// The predictor of the Alpha 21264 (R. E. Kessler, The Alpha 21264 microprocessor, IEEE Micro 19(2), 1999): three-bit counters
/// by the branch's own history, two-bit counters by global history, and two-bit counters by global history that choose between
/// both.
class Tournament final : public DirectionPredictor {
 public:
  Tournament(const Branches& branches, std::uint32_t contexts)
      : history_mask_((std::uint64_t{1} << branches.history) - 1),
        local_mask_((std::uint64_t{1} << branches.local_history) - 1),
        local_histories_(branches.local_entries),
        local_(std::size_t{1} << branches.local_history, kWeaklyTakenLocal - 1),
        global_(branches.entries, 1),
        choices_(branches.entries, 1),
        histories_(contexts) {}
  bool predict(std::uint32_t context, std::uint64_t pc, bool taken) override;

 private:
  static constexpr std::uint8_t kWeaklyTakenLocal = 4;
  static constexpr std::uint8_t kStronglyTakenLocal = 7;

  std::uint64_t history_mask_;
  std::uint64_t local_mask_;
  std::vector<std::uint64_t> local_histories_;  ///< by address; the contexts of a core share them
  std::vector<std::uint8_t> local_;
  std::vector<std::uint8_t> global_;
  std::vector<std::uint8_t> choices_;  ///< the upper half of its values takes the global prediction
  std::vector<std::uint64_t> histories_;
};

/// Return a new predictor, or null for a perfect one.
std::unique_ptr<DirectionPredictor> make_direction_predictor(const Branches& branches, std::uint32_t contexts);

/// The quality of a prediction.
enum class Outcome : std::uint8_t {
  kRight,
  kLateTarget,  ///< a direct branch whose target only the decoder knows
  kWrong,       ///< the front end continues at the wrong address until the branch is executed
};

/// A predictor of directions, targets and return addresses for one core.
class BranchUnit {
 public:
  BranchUnit(const Branches& branches, std::uint32_t contexts);
  /// Predict a branch and learn its outcome. @param next_pc  the address to which it went
  Outcome predict(std::uint32_t context, const Instruction& branch, std::uint64_t pc, std::uint64_t next_pc);

 private:
  struct Returns {
    std::vector<std::uint64_t> stack;  ///< circular: the oldest address is overwritten, as in hardware
    std::size_t top = 0;
  };
  Outcome predict_target(std::uint64_t pc, std::uint64_t next_pc, bool direct);

  bool perfect_;
  std::unique_ptr<DirectionPredictor> direction_;
  Sets targets_;
  std::vector<std::uint64_t> target_of_;  ///< by slot of `targets_`
  std::vector<Returns> returns_;          ///< by context
};

}  // namespace dpubench::cores
