// The costs of the harness itself, one round: windows of an empty lane, of the clock, and of one kernel as a lane and as a plain
// functor.
//
// Usage: overhead ROUND CYCLES. Prints one JSON object: clock {overhead_ns, resolution_ns}, empty {ns_per_operation, clock_share}
// with a value per window, and rates {lane, functor} of [first half, second half] per cycle in operations per second. Windows
// alternate lane, functor, functor, lane.

#include <array>
#include <charconv>
#include <cstring>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "measure/clock.hpp"
#include "measure/team.hpp"
#include "measure/window.hpp"
#include "operators/buffers.hpp"
#include "operators/driver.hpp"
#include "operators/lane.hpp"
#include "operators/operator.hpp"

namespace {

using namespace dpubench;
using measure::Clock;

constexpr std::uint32_t kBurst = 32;
constexpr std::size_t kBuffers = 32;  // as in the resident footprint
constexpr std::size_t kMessageBytes = 64;

struct Nothing {
  void operator()(Burst& burst) noexcept {
    measure::keep(&burst);  // the call must happen, though it does nothing
  }
};

/// The cheapest kernel that reads its input, because a lane's overhead shows most beside little work.
struct Fold {
  void operator()(Burst& burst) noexcept {
    for (std::uint32_t i = 0; i < burst.n; ++i) {
      std::array<std::uint64_t, kMessageBytes / 8> words;
      std::memcpy(words.data(), burst.in[i], kMessageBytes);
      std::uint64_t sum = 0;
      for (const std::uint64_t word : words) sum ^= word;
      burst.result[i] = sum;
      burst.out_len[i] = 0;
      burst.status[i] = kStatusOk;
    }
  }
};

/// Return a lane whose type the compiler cannot see, like the lane of an engine module.
template <class Kernel>
std::unique_ptr<Lane> open() {
  Lane* lane = new SyncLane<Kernel>(Kernel{});  // NOLINT(cppcoreguidelines-owning-memory): owned by what is returned
  asm volatile("" : "+r"(lane));
  return std::unique_ptr<Lane>(lane);
}

/// The kernel in the loop of a program without lanes.
template <class Kernel>
class FunctorStepper final : public measure::Stepper {
 public:
  explicit FunctorStepper(BufferSet& buffers) : bursts_(buffers.bursts()) {}

  std::uint64_t step(std::uint64_t bursts) noexcept override {
    std::uint64_t operations = 0;
    std::uint64_t sink = 0;
    for (std::uint64_t left = bursts; left != 0; --left) {
      Burst& burst = bursts_[next_];
      next_ = next_ + 1 == bursts_.size() ? 0 : next_ + 1;
      kernel_(burst);
      operations += burst.n;
      sink ^= burst.result[0];
    }
    measure::keep(sink);
    return operations;
  }

 private:
  std::span<Burst> bursts_;
  Kernel kernel_;
  std::size_t next_ = 0;
};

struct Point {
  measure::Stepper& stepper;
  std::uint64_t chunk;
};

measure::Window window(measure::ThreadTeam& team, const Point& point) {
  measure::Stepper* const steppers[] = {&point.stepper};
  return measure::run_window(team, steppers, point.chunk, measure::WindowSpec{}, Clock::instance());
}

double rate(const measure::Window& window) {
  return static_cast<double>(window.operations) / window.elapsed_ns * 1e9;
}

std::uint32_t number(const char* text) {
  std::uint32_t value = 0;
  const std::string_view all(text);
  const auto [end, error] = std::from_chars(all.data(), all.data() + all.size(), value);
  if (error != std::errc{} || end != all.data() + all.size()) throw Error(std::string(all) + ": is no number");
  return value;
}

nlohmann::json measure_round(std::uint32_t round, std::uint32_t cycles) {
  const Clock& clock = Clock::instance();
  Work work;
  for (std::size_t i = 0; i < kBuffers; ++i) work.items.push_back({std::vector<std::byte>(kMessageBytes, std::byte(i)), {}, 0});
  BufferSet buffers(work, kBuffers, kBurst, round);
  measure::ThreadTeam team(1, {});

  const auto nothing = open<Nothing>();
  const auto fold = open<Fold>();
  LaneStepper empty(*nothing, buffers);
  LaneStepper lane(*fold, buffers);
  FunctorStepper<Fold> functor(buffers);
  std::array<std::uint64_t, 3> chunks{};
  team.run([&](unsigned) {
    chunks = {measure::bursts_per_reading(empty, clock), measure::bursts_per_reading(lane, clock),
              measure::bursts_per_reading(functor, clock)};
  });
  const Point empty_point{empty, chunks[0]};
  const Point lane_point{lane, chunks[1]};
  const Point functor_point{functor, chunks[2]};

  nlohmann::json result = {{"clock", {{"overhead_ns", clock.overhead_ns()}, {"resolution_ns", clock.resolution_ns()}}}};
  for (std::uint32_t cycle = 0; cycle <= cycles; ++cycle) {
    const measure::Window alone = window(team, empty_point);
    const double lane_first = rate(window(team, lane_point));
    const double functor_first = rate(window(team, functor_point));
    const double functor_second = rate(window(team, functor_point));
    const double lane_second = rate(window(team, lane_point));
    if (cycle == 0) continue;  // warms up
    // A window begins with a reading, and each chunk ends with one.
    const auto readings = static_cast<double>(alone.bursts / empty_point.chunk + 1);
    result["empty"]["ns_per_operation"].push_back(alone.elapsed_ns / static_cast<double>(alone.operations));
    result["empty"]["clock_share"].push_back(readings * clock.overhead_ns() / alone.elapsed_ns);
    result["rates"]["lane"].push_back({lane_first, lane_second});
    result["rates"]["functor"].push_back({functor_first, functor_second});
  }
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 3) throw Error("usage: overhead ROUND CYCLES");
    std::cout << measure_round(number(argv[1]), number(argv[2])) << '\n';
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "overhead: " << error.what() << '\n';
    return 2;
  }
}
