#include "cores/model/tage.hpp"

#include <bit>
#include <cmath>

namespace dpubench::cores {

namespace {

constexpr double kShortestHistory = 4;
/// Number of branches between two agings of the useful counters (256 K in the paper).
constexpr std::uint64_t kAgingPeriod = 256 * 1024;

void train_counter(std::int8_t& counter, bool taken) {
  if (taken && counter < 3) ++counter;
  if (!taken && counter > -4) --counter;
}

}  // namespace

void Tage::Folded::push(bool newest, bool oldest) {
  value = value << 1 | (newest ? 1U : 0U);
  value ^= (oldest ? 1U : 0U) << (length % bits);
  value ^= value >> bits;
  value &= (1U << bits) - 1;
}

Tage::Tage(const Branches& branches, std::uint32_t contexts)
    : tables_(branches.tagged_tables),
      index_bits_(static_cast<std::uint32_t>(std::countr_zero(branches.tagged_entries))),
      base_(branches.entries, 1),
      entries_(branches.tagged_tables, std::vector<Entry>(branches.tagged_entries)),
      histories_(contexts) {
  // L(i) = shortest * (longest / shortest) ^ (i / (tables - 1)), section 3.1.
  const double ratio = branches.history / kShortestHistory;
  for (std::size_t i = 0; i < tables_; ++i) {
    const double exponent = static_cast<double>(i) / static_cast<double>(tables_ - 1);
    lengths_.at(i) = static_cast<std::uint32_t>(std::lround(kShortestHistory * std::pow(ratio, exponent)));
    for (History& history : histories_) {
      history.index.at(i) = {0, index_bits_, lengths_.at(i)};
      history.tag.at(i) = {0, kTagBits, lengths_.at(i)};
      history.tag2.at(i) = {0, kTagBits - 1, lengths_.at(i)};
    }
  }
}

Tage::Lookup Tage::look_up(const History& history, std::uint64_t pc) const {
  Lookup found;
  found.predicted = found.alternate = base(pc);
  const auto address = static_cast<std::uint32_t>(pc >> 2);
  for (std::size_t i = 0; i < tables_; ++i) {
    found.index[i] =
        (address ^ address >> (index_bits_ - std::min<std::uint32_t>(index_bits_ - 1, static_cast<std::uint32_t>(i))) ^
         history.index[i].value) &
        ((1U << index_bits_) - 1);
    found.tag[i] =
        static_cast<std::uint16_t>((address ^ history.tag[i].value ^ history.tag2[i].value << 1) & ((1U << kTagBits) - 1));
    const Entry& entry = entries_[i][found.index[i]];
    if (entry.tag != found.tag[i]) continue;
    found.provider = static_cast<int>(i);
    found.alternate = found.predicted;
    found.predicted = entry.counter >= 0;
    found.is_new = entry.useful == 0 && (entry.counter == 0 || entry.counter == -1);
  }
  return found;
}

void Tage::allocate(const Lookup& found, bool taken) {
  // Choose a longer table whose entry is not useful. Of two such tables, the shorter gets twice the probability (section 3.2.3).
  const auto first = static_cast<std::size_t>(found.provider) + 1;
  std::array<std::size_t, 2> candidates{};
  std::size_t count = 0;
  for (std::size_t i = first; i < tables_ && count < 2; ++i) {
    if (entries_[i][found.index[i]].useful == 0) candidates.at(count++) = i;
  }
  random_ = random_ * 1664525U + 1013904223U;  // linear congruential, so every run gives the same numbers
  if (count > 0) {
    const std::size_t chosen = count == 2 && (random_ >> 24) % 3 == 0 ? candidates[1] : candidates[0];
    entries_[chosen][found.index[chosen]] = {found.tag[chosen], static_cast<std::int8_t>(taken ? 0 : -1), 0};
    return;
  }
  for (std::size_t i = first; i < tables_; ++i) --entries_[i][found.index[i]].useful;
}

void Tage::train(const Lookup& found, std::uint64_t pc, bool taken, bool final_prediction) {
  if (final_prediction != taken && found.provider + 1 < static_cast<int>(tables_)) allocate(found, taken);
  if (found.provider < 0) {
    std::uint8_t& counter = base_[pc >> 2 & (base_.size() - 1)];
    if (taken && counter < 3) ++counter;
    if (!taken && counter > 0) --counter;
    return;
  }
  Entry& entry = entries_[static_cast<std::size_t>(found.provider)][found.index[static_cast<std::size_t>(found.provider)]];
  if (found.is_new && found.predicted != found.alternate) {
    if (found.alternate == taken && use_alternate_ < 15) ++use_alternate_;
    if (found.alternate != taken && use_alternate_ > 0) --use_alternate_;
  }
  if (found.predicted != found.alternate) {
    if (found.predicted == taken && entry.useful < 3) ++entry.useful;
    if (found.predicted != taken && entry.useful > 0) --entry.useful;
  }
  train_counter(entry.counter, taken);
}

void Tage::remember(History& history, bool taken) const {
  const std::size_t size = history.outcomes.size();
  for (std::size_t i = 0; i < tables_; ++i) {
    const bool oldest = history.outcomes[(history.newest + size - (lengths_[i] - 1)) % size];
    history.index[i].push(taken, oldest);
    history.tag[i].push(taken, oldest);
    history.tag2[i].push(taken, oldest);
  }
  history.newest = (history.newest + 1) % size;
  history.outcomes[history.newest] = taken;
}

bool Tage::predict(std::uint32_t context, std::uint64_t pc, bool taken) {
  History& history = histories_[context];
  const Lookup found = look_up(history, pc);
  const bool predicted = found.is_new && use_alternate_ >= 8 ? found.alternate : found.predicted;
  train(found, pc, taken, predicted);
  remember(history, taken);
  if (++branches_ % kAgingPeriod == 0) {
    for (auto& table : entries_) {
      for (Entry& entry : table) entry.useful >>= 1;
    }
  }
  return predicted;
}

}  // namespace dpubench::cores
