// Verification: nothing is timed that has not passed it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "inputs/random.hpp"
#include "operators/engines.hpp"

namespace dpubench {

/// Runs every item of a work once through a session and returns what came out. @throws Error on an item left
/// alone or overrun, or a lane that does not give its bursts back
std::vector<Output> run_once(const Work& work, Session& session, std::uint32_t burst);

/// Judges outputs of one configuration: owns the reference's answers and the inverse operation.
class Verifier {
 public:
  /// @param work  its `expected` is filled in from the reference engine where the operator's equivalence needs it
  /// @param seed  of the samples that are drawn of randomized outputs
  /// @throws Error when the reference disagrees with the operator's brute force
  Verifier(const Operator& op, Work& work, const EngineCatalog& engines, std::uint32_t burst, std::uint64_t seed = 1);

  struct Passed {
    std::size_t known_answers = 0;
    std::size_t compared = 0;
    std::optional<double> undecided_share;  ///< of the job's real input (Operator::undecided_share)
    std::string how;  ///< identical, inverse, inverse-sampled (of a window's randomized outputs only a sample is judged), checked
  };
  /// The whole verification of an engine before it is timed: known answers, then the job's real input (every distinct item).
  /// @param outputs  receives what the engine made of each item @throws Error with the first disagreement
  Passed verify(const Engine& engine, Session& session, std::vector<Output>& outputs);

  /// Judges outputs of items. @throws Error with the first disagreement
  void judge(std::span<const std::size_t> items, std::span<const Output> outputs);

  /// Judges outputs that a window left behind and that are not those accepted before. Randomized ones (Operator::randomized) all
  /// differ, and undoing them can take longer than the window: unless `all`, kWindowSample of them are judged, drawn anew for
  /// each window, and every one whose status or length no accepted output has. @throws Error with the first disagreement
  void judge_window(std::span<const std::size_t> items, std::span<const Output> outputs, std::span<const Output> accepted,
                    bool all);
  /// An engine that lies in one of four outputs goes unnoticed in a window with a probability of 0.0001.
  static constexpr std::size_t kWindowSample = 32;

 private:
  void known_answers(const Engine& engine, std::size_t& passed);
  void judge_inverse(std::span<const std::size_t> items, std::span<const Output> outputs, bool every_engine);

  const Operator& op_;
  Work& work_;
  const EngineCatalog& engines_;
  std::uint32_t burst_;
  inputs::Random random_;
};

}  // namespace dpubench
