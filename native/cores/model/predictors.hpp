// Predictors of branch directions and targets.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cores/instruction.hpp"
#include "cores/model/description.hpp"
#include "cores/model/sets.hpp"

namespace dpubench::cores {

/// Says whether conditional branches are taken. Tables are shared by the contexts of a core, histories are their own.
class DirectionPredictor {
 public:
  virtual ~DirectionPredictor() = default;
  /// The prediction, after which it learns what happened: histories hold the path that was taken, which is what a processor
  /// has again after it repaired them.
  virtual bool predict(std::uint32_t context, std::uint64_t pc, bool taken) = 0;
};

/// Two-bit counters by address (Smith, ISCA 1981).
class Bimodal final : public DirectionPredictor {
 public:
  explicit Bimodal(std::uint32_t entries) : counters_(entries, 1) {}
  bool predict(std::uint32_t context, std::uint64_t pc, bool taken) override;

 private:
  std::vector<std::uint8_t> counters_;
};

/// Two-bit counters by address and global history, xored (McFarling, WRL TN-36, 1993).
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

/// @returns null for a perfect predictor
std::unique_ptr<DirectionPredictor> make_direction_predictor(const Branches& branches, std::uint32_t contexts);

/// What the front end makes of a branch.
enum class Outcome : std::uint8_t {
  kRight,
  kLateTarget,  ///< direct, and only the decoder knows where it goes
  kWrong,       ///< the front end goes on at the wrong address until it is executed
};

/// Direction, targets and return addresses of the branches of one core.
class BranchUnit {
 public:
  BranchUnit(const Branches& branches, std::uint32_t contexts);
  /// @param next_pc  where it went
  Outcome predict(std::uint32_t context, const Instruction& branch, std::uint64_t pc, std::uint64_t next_pc);

 private:
  struct Returns {
    std::vector<std::uint64_t> stack;  ///< round: the oldest address is overwritten, as in hardware
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
