#include "datapath/client/schedule.hpp"

#include <algorithm>
#include <cmath>

#include "inputs/random.hpp"

namespace dpubench::datapath {
namespace {

constexpr std::size_t kPoissonCycle = std::size_t{1} << 18;
constexpr double kNsPerSecond = 1e9;

}  // namespace

DueCycle DueCycle::poisson(std::uint64_t seed) {
  inputs::Random random(seed);
  DueCycle cycle;
  cycle.at.reserve(kPoissonCycle);
  double sum = 0;
  for (std::size_t i = 0; i < kPoissonCycle; ++i) {
    cycle.at.push_back(sum);
    sum -= std::log1p(-random.uniform());
  }
  cycle.period = static_cast<double>(kPoissonCycle);
  for (double& at : cycle.at) at *= cycle.period / sum;
  return cycle;
}

DueCycle DueCycle::recorded(std::span<const std::uint64_t> times_ns) {
  DueCycle cycle;
  std::uint64_t latest = times_ns.front();
  for (const std::uint64_t time : times_ns) {
    latest = std::max(latest, time);
    cycle.at.push_back(static_cast<double>(latest - times_ns.front()));
  }
  const auto n = static_cast<double>(times_ns.size());
  // One packet, or packets all at one time, get a microsecond each: a period must have a length.
  const double span = std::max(cycle.at.back(), 1e3 * n);
  cycle.period = span + (n > 1 ? span / (n - 1) : 0);
  return cycle;
}

DueTimes::DueTimes(const TrialSpec& trial, const DueCycle& poisson, const DueCycle& recorded) {
  switch (trial.schedule) {
    case Schedule::kFlood:
      return;
    case Schedule::kRecorded:
      cycle_ = &recorded;
      interval_ns_ = 1;
      return;
    case Schedule::kPoisson:
      cycle_ = &poisson;
      break;
    case Schedule::kBurst:
      together_ = trial.burst_packets;
      break;
    case Schedule::kConstant:
    case Schedule::kInterval:
      break;
  }
  interval_ns_ = kNsPerSecond / trial.rate_pps * together_;
}

double DueTimes::next_due() noexcept {
  if (cycle_ == nullptr) {
    const double due = static_cast<double>(index_) * interval_ns_;
    if (++in_group_ == together_) {
      in_group_ = 0;
      ++index_;
    }
    return due;
  }
  const double due = base_ns_ + cycle_->at[index_] * interval_ns_;
  if (++index_ == cycle_->at.size()) {
    index_ = 0;
    base_ns_ = static_cast<double>(++cycles_) * cycle_->period * interval_ns_;
  }
  return due;
}

void DueTimes::refill() noexcept {
  std::copy(times_.begin() + next_, times_.begin() + filled_, times_.begin());
  filled_ -= next_;
  next_ = 0;
  while (filled_ < times_.size()) times_[filled_++] = static_cast<std::uint64_t>(next_due());
}

std::uint64_t DueTimes::at_most_before(std::uint64_t end_ns) const {
  if (interval_ns_ <= 0) return 0;
  const auto end = static_cast<double>(end_ns);
  if (cycle_ == nullptr) return (static_cast<std::uint64_t>(end / interval_ns_) + 1) * together_;
  return (static_cast<std::uint64_t>(end / (cycle_->period * interval_ns_)) + 1) * cycle_->at.size();
}

}  // namespace dpubench::datapath
