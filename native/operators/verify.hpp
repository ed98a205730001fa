// Verification: the harness times an engine only after the engine passed it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "inputs/random.hpp"
#include "operators/engines.hpp"

namespace dpubench {

/// Run every item of a work once through a session and return the outputs. @throws Error on an item that the engine left alone or
/// overran, on a changed input, or on a lane that does not give its bursts back
std::vector<Output> run_once(const Work& work, Session& session, std::uint32_t burst);

/// The judge of one configuration's outputs. It owns the random numbers for samples; the work holds the reference's answers.
class Verifier {
 public:
  /// @param work  its `expected` is filled in from the reference engine if the operator's equivalence needs it
  /// @param seed  seed for the samples of randomized outputs
  /// @throws Error when the reference disagrees with the operator's brute force
  Verifier(const Operator& op, Work& work, const EngineCatalog& engines, std::uint32_t burst, std::uint64_t seed = 1);

  struct Passed {
    std::size_t known_answers = 0;
    std::size_t compared = 0;
    std::optional<double> undecided_share;  ///< share of the job's real input (Operator::undecided_share)
    std::string how;  ///< identical, inverse, checked, or inverse-sampled (a sample of a window's randomized outputs)
  };
  /// Verify an engine before it is timed: first known answers, then the job's real input (every distinct item).
  /// @param outputs  receives the engine's output for each item @throws Error with the first disagreement
  Passed verify(const Engine& engine, Session& session, std::vector<Output>& outputs);

  /// Judge the outputs of items. @throws Error with the first disagreement
  void judge(std::span<const std::size_t> items, std::span<const Output> outputs);

  /// Judge the outputs of a window that differ from those accepted before. Randomized outputs (Operator::randomized) all differ,
  /// and undoing them can take longer than the window. So, unless `all`, judge kWindowSample of them, drawn anew for each window,
  /// and also every output whose status or length no accepted output has. @throws Error with the first disagreement
  void judge_window(std::span<const std::size_t> items, std::span<const Output> outputs, std::span<const Output> accepted,
                    bool all);
  /// The sample size. If an engine gets one output in four wrong, a window misses this with a probability of 0.0001.
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
