// A check that an operator has enough distinct messages: rates on its N messages and on 2N, one round of a job.
//
// Usage: repeats ENGINES <JOB. ENGINES is a folder of modules; the points of a group are engines. The windows of each engine
// process equally many messages in the same buffers with the same lane: the first N of 2N messages, all 2N, and the other N. Both
// rates are thus of the same messages in the same memory; they differ only in how soon a message comes again. Windows alternate
// first, all, all, other, all, other, first, all. The times of first and other together are the time for N. Prints `window`
// events, for the point with N messages and for "POINT twice" with 2N, and `failure` events. Engines with short windows get more
// cycles than the job asks for, until their ratio is known.
//
// Where once through all messages takes long, one cycle alternates first, all, other, other, all, first. The windows of first and
// other are then half as long, so that both rates are of each message once, and take half the time in sum.

#include <array>
#include <cmath>
#include <utility>

#include "measure/window.hpp"
#include "operators/driver.hpp"
#include "operators/footprint.hpp"
#include "protocol/machine.hpp"
#include "side.hpp"

namespace {

using namespace dpubench;
using benchmarks::Side;
using measure::Clock;

constexpr const char* kTwice = " twice";
// Timed milliseconds after which an engine gets no further cycle; with long windows half as many tell as much. Windows must
// alternate often, since a state of the machine lasts longer than one of them.
constexpr double kMostTimedMs = 500;
// Time limit in milliseconds: with many and quick messages, laying them out and checking them takes longer than the timed part.
constexpr double kMostMs = 2500;
// Cycles after which the ratio may be known, and the standard error of its logarithm that ends the cycles: small beside the
// limit of 2 % and beside what differs between processes. Only the error decides, not the ratio.
constexpr std::size_t kLeastCycles = 5;
constexpr double kKnownTo = 0.0025;
// Milliseconds of a pass through all messages from which windows are long: what their begin and end take is a thousandth at most
// then.
constexpr double kLongMs = 20;

/// The ratios of the cycles of an engine.
class Ratios {
 public:
  void add(double ratio) {
    const double log = std::log(ratio);
    ++n_;
    const double before = log - mean_;
    mean_ += before / static_cast<double>(n_);
    squares_ += before * (log - mean_);  // Welford 1962
  }
  /// Return whether further cycles would tell no more.
  [[nodiscard]] bool known() const {
    const auto n = static_cast<double>(n_);
    return n_ >= kLeastCycles && std::sqrt(squares_ / (n - 1) / n) <= kKnownTo;
  }

 private:
  std::size_t n_ = 0;
  double mean_ = 0;
  double squares_ = 0;
};

/// Engines of a group, one after the other, on one set of buffers.
class Repeats {
 public:
  Repeats(const protocol::Job& job, const protocol::JobGroup& spec, const EngineCatalog& engines, inputs::Store& store)
      : job_(job), spec_(spec), bed_(job, spec, engines, store, 2 * wanted(spec)) {
    const std::size_t all = bed_.work().items.size();
    if (all % 2 != 0) throw Error("the input yields " + std::to_string(all) + " messages: they cannot be halved");
    first_ = {0, all / 2};
    all_ = {0, all};
    other_ = {all / 2, all / 2};
    std::size_t least = kResidentBuffers;
    for (const protocol::JobPoint& point : spec.points) {
      if (const EngineSlot* const slot = engines.find(spec.op, point.engine); slot != nullptr && slot->engine != nullptr) {
        least = std::max<std::size_t>(least, slot->engine->info().in_flight);
      }
    }
    const RingSize ring = ring_size(benchmarks::Bed::operator_of(spec), bed_.work(), spec, least, 0, protocol::caches(), 0);
    bed_.team().run([&](unsigned) {
      buffers_.emplace(bed_.work(), ring.buffers, spec.burst, bed_.seed(), std::array{first_, other_});
    });
    if (buffers_->size() < all) throw Error("the footprint has no room for all " + std::to_string(all) + " messages");
  }

  void run(protocol::EventWriter& events) {
    for (const protocol::JobPoint& point : spec_.points) {
      try {
        run(point, events);
      } catch (const std::exception& error) {
        events.failure("measure", error.what(), spec_.id, point.id);
      }
    }
  }

 private:
  struct Stretch {
    std::uint64_t operations = 0;
    double elapsed_ns = 0;
    void add(const Stretch& other) {
      operations += other.operations;
      elapsed_ns += other.elapsed_ns;
    }
  };

  static std::uint32_t wanted(const protocol::JobGroup& spec) {
    const Operator& op = benchmarks::Bed::operator_of(spec);
    return distinct_messages(op, op.complete(spec.params), spec, 0);
  }

  void run(const protocol::JobPoint& point, protocol::EventWriter& events) {
    Side side = bed_.prepare(point);
    bed_.team().run([&](unsigned) {
      stepper_.reset();
      lane_ = side.session->open();
      lane_->attach(buffers_->memory());
      const std::size_t in_flight = std::min(side.slot->engine->info().in_flight, side.session->path().max_in_flight);
      stepper_.emplace(*lane_, *buffers_, std::max<std::size_t>(1, in_flight / spec_.burst));
    });
    // Whole cycles through all messages, so that every window processes each of its messages equally often.
    hold(all_);
    chunk_ = buffers_->cycle();
    double pass_ms = window(side, chunk_).elapsed_ns / 1e6;
    const bool is_long = pass_ms >= kLongMs && has_halves();
    while (pass_ms < job_.window.min_ms) {
      chunk_ *= 2;
      pass_ms = window(side, chunk_).elapsed_ns / 1e6;
    }
    double timed_ns = 0;
    Ratios ratios;
    const Clock& clock = Clock::instance();
    const std::uint64_t begun = clock.ticks();
    const auto goes_on = [&] {
      const double most_ms = is_long ? kMostTimedMs / 2 : kMostTimedMs;
      return !ratios.known() && timed_ns < most_ms * 1e6 && clock.to_ns(clock.ticks() - begun) < kMostMs * 1e6;
    };
    for (std::uint32_t cycle = 1; (cycle <= job_.cycles || goes_on()) && !events.closed(); ++cycle) {
      double log_ratio = 0;
      for (const int half : {0, 1}) {
        const auto [once, twice] = is_long ? long_half(side, half) : short_half(side, half);
        timed_ns += once.elapsed_ns + twice.elapsed_ns;
        log_ratio += std::log(once.elapsed_ns / twice.elapsed_ns) / 2;
        benchmarks::tell(events, job_, spec_, point.id, cycle, half, once.operations, once.elapsed_ns);
        benchmarks::tell(events, job_, spec_, point.id + kTwice, cycle, half, twice.operations, twice.elapsed_ns);
      }
      ratios.add(std::exp(log_ratio));
    }
  }

  /// Measure half of a cycle in windows of equal length. @return with N messages, and with 2N
  std::pair<Stretch, Stretch> short_half(Side& side, int half) {
    Stretch once;
    Stretch twice;
    // Both sides have as many windows: where times are skewed, a sum of two has another median than twice one of them.
    for (const BufferSet::Items items :
         half == 0 ? std::array{first_, all_, all_, other_} : std::array{all_, other_, first_, all_}) {
      hold(items);
      (items.count == all_.count ? twice : once).add(window(side, chunk_));
    }
    return {once, twice};
  }

  /// Return whether the ring holds all messages once, in whole bursts, so that either half of it holds the first or the other
  /// ones.
  [[nodiscard]] bool has_halves() const {
    return chunk_ * spec_.burst == buffers_->size() && chunk_ % 2 == 0 && first_.count % spec_.burst == 0;
  }

  /// Measure half of a cycle with each message once on either side. The untimed pass through N messages goes through one half of
  /// the memory and the timed one through the other half, which is the upper one in the first half of a cycle and the lower one
  /// in the second: all memory is used as often on both sides. @return with N messages, and with 2N
  std::pair<Stretch, Stretch> long_half(Side& side, int half) {
    Stretch once;
    Stretch twice;
    for (const BufferSet::Items items : half == 0 ? std::array{first_, all_, other_} : std::array{other_, all_, first_}) {
      hold(items);
      if (items.count == all_.count) {
        twice.add(window(side, chunk_));
      } else {
        once.add(window(side, chunk_ / 2, half == 0 ? 0 : chunk_ / 2));
      }
    }
    return {once, twice};
  }

  void hold(BufferSet::Items items) {
    buffers_->check_inputs();
    bed_.team().run([&](unsigned) { buffers_->hold(items); });
  }

  /// Run one verified window of `bursts` on the messages that the buffers hold. As many untimed bursts come before it, from burst
  /// `begin` on, because laying out and checking messages displaced caches and predictors.
  Stretch window(Side& side, std::uint64_t bursts, std::size_t begin = 0) {
    Stretch stretch;
    std::uint64_t touched = 0;
    bed_.team().run([&](unsigned) {
      stepper_->seek(begin);
      stepper_->step(bursts);
      stepper_->finish();
      const Clock& clock = Clock::instance();
      const std::uint64_t start = clock.ticks();
      stretch.operations = stepper_->step(bursts);
      stretch.operations += stepper_->finish();
      stretch.elapsed_ns = clock.to_ns(clock.ticks() - start);
      stepper_->require_progress();
      touched = stepper_->take_touched();
    });
    bed_.check(side, *buffers_, std::min<std::uint64_t>(touched, buffers_->bursts().size()));
    return stretch;
  }

  const protocol::Job& job_;
  const protocol::JobGroup& spec_;
  benchmarks::Bed bed_;
  BufferSet::Items first_{};
  BufferSet::Items all_{};
  BufferSet::Items other_{};
  std::optional<BufferSet> buffers_;
  std::unique_ptr<Lane> lane_;
  std::optional<LaneStepper> stepper_;
  std::uint64_t chunk_ = 1;
};

}  // namespace

int main(int argc, char** argv) {
  return benchmarks::run("repeats", std::span(argv, static_cast<std::size_t>(argc)).subspan(1),
                         [](const auto& job, const auto& group, const auto& engines, auto& store, auto& events) {
                           Repeats(job, group, engines, store).run(events);
                         });
}
