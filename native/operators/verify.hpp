// Verification: nothing is timed that has not passed it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "operators/engines.hpp"

namespace dpubench {

/// Runs every item of a work once through a session and returns what came out. @throws Error on an item left alone or overrun
std::vector<Output> run_once(const Work& work, Session& session, std::uint32_t burst);

/// Judges outputs of one configuration: owns the reference's answers and the inverse operation.
class Verifier {
 public:
  /// @param work  its `expected` is filled in from the reference engine where the operator's equivalence needs it
  /// @throws Error when the reference disagrees with the operator's brute force
  Verifier(const Operator& op, Work& work, const EngineCatalog& engines, std::uint32_t burst);

  struct Passed {
    std::size_t known_answers = 0;
    std::size_t compared = 0;
    std::string how;  ///< identical, inverse, checked
  };
  /// The whole verification of an engine before it is timed: known answers, then the job's real input (every distinct item).
  /// @param outputs  receives what the engine made of each item @throws Error with the first disagreement
  Passed verify(const Engine& engine, Session& session, std::vector<Output>& outputs);

  /// Judges outputs of items that a window left behind. @throws Error with the first disagreement
  void judge(std::span<const std::size_t> items, std::span<const Output> outputs);

 private:
  void known_answers(const Engine& engine, std::size_t& passed);
  void judge_inverse(std::span<const std::size_t> items, std::span<const Output> outputs, bool every_engine);

  const Operator& op_;
  Work& work_;
  const EngineCatalog& engines_;
  std::uint32_t burst_;
};

}  // namespace dpubench
