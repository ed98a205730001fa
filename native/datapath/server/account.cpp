#include "datapath/server/account.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace dpubench::datapath {
namespace {

using nlohmann::json;

void add_cost(StageCost& into, const StageCost& cost) {
  into.packets += cost.packets;
  into.sampled_packets += cost.sampled_packets;
  into.sampled_ticks += cost.sampled_ticks;
}

void add_packets(PacketCounts& into, const PacketCounts& counts) {
  into.received += counts.received;
  into.transmitted += counts.transmitted;
  into.tx_full += counts.tx_full;
  into.held += counts.held;
  into.away += counts.away;
  for (std::size_t i = 0; i < kFates; ++i) into.dropped[i] += counts.dropped[i];
}

json packets_json(const PacketCounts& counts) {
  json dropped = json::object();
  for (std::size_t i = 0; i < kFates; ++i) {
    if (counts.dropped[i] != 0) dropped[drop_name(static_cast<Fate>(i))] = counts.dropped[i];
  }
  return {{"received", counts.received}, {"transmitted", counts.transmitted},
          {"tx_full", counts.tx_full},   {"dropped", dropped},
          {"held", counts.held},         {"away", counts.away}};
}

class DumpFile {
 public:
  explicit DumpFile(std::filesystem::path path) : path_(std::move(path)), out_(path_, std::ios::binary | std::ios::trunc) {}
  template <class T>
  void write(std::span<const T> values) {
    static_assert(std::endian::native == std::endian::little);
    out_.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size_bytes()));
  }
  /// Close the file. @throws Error when it could not be written
  void close() {
    out_.close();
    if (!out_) throw Error("dump " + path_.string() + ": cannot be written (" + std::strerror(errno) + ")");
  }

 private:
  std::filesystem::path path_;
  std::ofstream out_;
};

}  // namespace

void Account::add(const LoopCounts& counts, const measure::Histogram& residence, std::uint64_t not_noted) {
  add_packets(total_.ours, counts.ours);
  add_packets(total_.others, counts.others);
  total_.stale += counts.stale;
  total_.foreign += counts.foreign;
  total_.duplicates += counts.duplicates;
  total_.polls.busy_ticks += counts.polls.busy_ticks;
  total_.polls.idle_ticks += counts.polls.idle_ticks;
  total_.polls.busy_polls += counts.polls.busy_polls;
  total_.polls.idle_polls += counts.polls.idle_polls;
  if (counts.first_ticks != 0) {
    total_.first_ticks = total_.first_ticks == 0 ? counts.first_ticks : std::min(total_.first_ticks, counts.first_ticks);
    total_.last_ticks = std::max(total_.last_ticks, counts.last_ticks);
  }
  add_cost(total_.noting, counts.noting);
  add_cost(total_.transmitting, counts.transmitting);
  total_.stages.resize(counts.stages.size());
  for (std::size_t i = 0; i < counts.stages.size(); ++i) add_cost(total_.stages[i], counts.stages[i]);
  total_.gaps.insert(total_.gaps.end(), counts.gaps.begin(), counts.gaps.end());
  residence_.merge(residence);
  not_noted_ += not_noted;
}

void Account::add(const MeasuredPart::Account& part, bool knows_receive_work) {
  const auto receive_work_ns = static_cast<double>(part.reading.receive_work_ns);
  const CpuUse use = cpu_use(part.polls, knows_receive_work ? clock_.from_ns(receive_work_ns) : 0);
  measured_.from_ticks = measured_.cores == 0 ? part.from_ticks : std::min(measured_.from_ticks, part.from_ticks);
  ++measured_.cores;
  measured_.core_ticks += part.length_ticks;
  measured_.packets += part.reading.received;
  measured_.knows_receive_work = measured_.knows_receive_work || knows_receive_work;
  measured_.use.application_ticks += use.application_ticks;
  measured_.use.receive_work_ticks += use.receive_work_ticks;
  measured_.use.idle_ticks += use.idle_ticks;
}

void Account::write(json& served, std::span<const std::string> stages, std::uint64_t begun_ticks, std::uint64_t begun_ns) const {
  const auto ns = [this](std::uint64_t ticks) { return static_cast<std::uint64_t>(clock_.to_ns(ticks)); };
  const auto cost = [&ns](const StageCost& one) -> json {
    return {{"packets", one.packets}, {"sampled_packets", one.sampled_packets}, {"sampled_ns", ns(one.sampled_ticks)}};
  };
  served.update(packets_json(total_.ours));
  served["others"] = packets_json(total_.others);
  served["stale"] = total_.stale;
  served["foreign"] = total_.foreign;
  served["duplicates"] = total_.duplicates;
  served["not_noted"] = not_noted_;
  served["busy_ns"] = ns(total_.polls.busy_ticks);
  served["idle_ns"] = ns(total_.polls.idle_ticks);
  served["busy_polls"] = total_.polls.busy_polls;
  served["idle_polls"] = total_.polls.idle_polls;
  if (measured_.cores != 0) served["measured"] = measured_json(begun_ticks);
  served["active_ns"] = ns(total_.last_ticks - total_.first_ticks);
  served["residence_ns"] = residence_.json();
  served["loop"] = {{"note", cost(total_.noting)}, {"transmit", cost(total_.transmitting)}};
  served["stages"] = json::object();
  for (std::size_t i = 0; i < stages.size(); ++i) {
    served["stages"][stages[i]] = cost(i < total_.stages.size() ? total_.stages[i] : StageCost{});
  }
  // Keep the longest gaps of all loops, in order of time.
  auto gaps = total_.gaps;
  std::sort(gaps.begin(), gaps.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  gaps.resize(std::min(gaps.size(), Loop::kMostGaps));
  std::sort(gaps.begin(), gaps.end());
  served["gaps"] = json::array();
  for (const auto& [start, length] : gaps) {
    // A gap may have begun before the trial.
    const std::uint64_t from_ns = start > begun_ticks ? ns(start - begun_ticks) : 0;
    served["gaps"].push_back({begun_ns + from_ns, ns(length)});
  }
}

json Account::measured_json(std::uint64_t begun_ticks) const {
  const auto ns = [this](std::uint64_t ticks) { return static_cast<std::uint64_t>(clock_.to_ns(ticks)); };
  json measured = {{"cores", measured_.cores},
                   {"from_ns", measured_.from_ticks > begun_ticks ? ns(measured_.from_ticks - begun_ticks) : 0},
                   {"core_ns", ns(measured_.core_ticks)},
                   {"application_ns", ns(measured_.use.application_ticks)},
                   {"idle_ns", ns(measured_.use.idle_ticks)},
                   {"packets", measured_.packets}};
  if (measured_.knows_receive_work) measured["receive_work_ns"] = ns(measured_.use.receive_work_ticks);
  return measured;
}

void dump_records(std::span<const PacketRecord* const> records, const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw Error("dump " + folder.string() + ": cannot be made (" + error.message() + ")");
  std::uint64_t end = 0;
  DumpFile dropped(folder / "dropped.u64");
  DumpFile reasons(folder / "dropped.reason");
  DumpFile tx_full(folder / "tx_full.u64");
  for (const PacketRecord* record : records) {
    end = std::max(end, record->end());
    dropped.write(record->dropped());
    reasons.write(record->reasons());
    tx_full.write(record->tx_full());
  }
  dropped.close();
  reasons.close();
  tx_full.close();
  DumpFile bitmap(folder / "received.bitmap");
  constexpr std::size_t kWords = 1U << 16;
  std::vector<std::uint64_t> merged(kWords);
  const std::size_t words = (end + 63) / 64;
  for (std::size_t first = 0; first < words; first += kWords) {
    const std::size_t n = std::min(kWords, words - first);
    std::fill_n(merged.begin(), n, 0);
    for (const PacketRecord* record : records) {
      const auto received = record->received();
      for (std::size_t i = first; i < std::min(first + n, received.size()); ++i) merged[i - first] |= received[i];
    }
    // Write whole bytes, only as far as packet numbers go.
    const std::size_t bytes = std::min<std::size_t>(n * 8, (end + 7) / 8 - first * 8);
    bitmap.write(std::span<const std::byte>(reinterpret_cast<const std::byte*>(merged.data()), bytes));
  }
  bitmap.close();
}

}  // namespace dpubench::datapath
