#include "offload/mover.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "offload/data.hpp"

namespace dpubench::offload {
namespace {

constexpr std::uint64_t kMostRounds = 8;

/// Return the value of the flag at the end of a round.
std::uint64_t flag_value(std::uint64_t sequence, std::uint64_t round) {
  return sequence * kMostRounds + round + 1;
}

}  // namespace

void Mover::finish(Transport::Ticket ticket) {
  for (Patience patience; ticket != nullptr && !transport_.done(ticket); patience.wait()) transport_.progress();
}

void Mover::carry_out(const std::vector<Step>& batch) {
  tickets_.clear();
  for (const Step& step : batch) {
    for (const Copy& in : step.in) {
      if (in.rank == rank_) {
        std::memcpy(window_ + in.here, window_ + in.there, in.bytes);
      } else {
        tickets_.push_back(transport_.get(in.rank, in.there, window_ + in.here, in.bytes));
      }
    }
  }
  auto ticket = tickets_.begin();
  for (const Step& step : batch) {
    for (const Copy& in : step.in) {
      if (in.rank != rank_) finish(*ticket++);
    }
    for (std::size_t i = 1; i < step.sums.size(); ++i) {
      add_bytes(window_ + step.sums[0], window_ + step.sums[i], step.sum_bytes);
    }
    const std::byte* const from = step.source < 0 ? window_ : transport_.reach(step.source);
    for (const Copy& out : step.out) {
      if (out.rank == rank_) {
        std::memcpy(window_ + out.there, from + out.here, out.bytes);
      } else {
        transport_.put(out.rank, out.there, from + out.here, out.bytes);
      }
    }
  }
}

void Mover::signal(const Round& round, std::uint64_t value) {
  // Nobody writes the own flag in the own window: the value that is put to others begins there.
  std::byte* const own = window_ + layout_.flag(rank_);
  std::memcpy(own, &value, sizeof value);
  transport_.fence();
  for (const int told : round.signals) transport_.put(told, layout_.flag(rank_), own, sizeof value);
}

void Mover::run(const Script& script, std::uint64_t sequence) {
  for (std::size_t r = 0; r < script.size(); ++r) {
    const Round& round = script[r];
    wait(round.waits, sequence, true);
    for (std::size_t b = 0; b < round.batches.size(); ++b) {
      if (b > 0) finish(transport_.flush());
      carry_out(round.batches[b]);
    }
    if (!round.signals.empty()) signal(round, flag_value(sequence, r));
    finish(transport_.flush());
  }
}

bool Mover::ended(const std::vector<Round::Wait>& waits, std::uint64_t sequence) const noexcept {
  return std::all_of(waits.begin(), waits.end(), [&](const Round::Wait& wait) {
    auto& flag = *reinterpret_cast<std::uint64_t*>(window_ + layout_.flag(wait.rank));
    return std::atomic_ref(flag).load(std::memory_order_acquire) >= flag_value(sequence, wait.round);
  });
}

void Mover::wait(const std::vector<Round::Wait>& waits, std::uint64_t sequence, bool calls) {
  for (Patience patience; !ended(waits, sequence); patience.wait()) {
    if (calls) transport_.progress();
  }
}

}  // namespace dpubench::offload
