#include "datapath/workloads/application-recognition/stages.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/cache_line.hpp"
#include "datapath/workloads/swapped.hpp"

namespace dpubench::datapath::recognition {
namespace {

/// Add a core's count to the sum of all cores.
void add(nlohmann::json& into, const std::string& name, std::uint64_t count) {
  const std::uint64_t before = into.contains(name) ? into[name].get<std::uint64_t>() : 0;
  into[name] = before + count;
}

/// Send a packet on whose class is known: back, to the next server with its mark, or to a later stage here.
void send_on(Batch& batch, std::uint32_t i, Class c, const Placement& placement) noexcept {
  batch.mark[i] = static_cast<std::uint32_t>(c);
  if (c == Class::kEcho) {
    swap_addresses(batch.data(i));
  } else if (!placement.has(c)) {
    if (placement.has_next) {
      mark(batch.data(i), batch.parsed[i], c);
      batch.fate[i] = Fate::kNext;
    } else {
      batch.fate[i] = Fate::kDropFailed;
    }
  }
}

/// Return whether a frame has a whole Ethernet header. Drop it if it has not.
bool has_addresses(Batch& batch, std::uint32_t i) noexcept {
  if (batch.packets[i]->data_len >= kEthernetBytes) return true;
  batch.fate[i] = Fate::kDropShort;
  return false;
}

}  // namespace

std::uint32_t ScanStage::run(Batch& batch) noexcept {
  std::uint32_t n = 0;
  for (std::uint32_t i = 0; i < batch.n; ++i) {
    if (batch.fate[i] != Fate::kForward || !has_addresses(batch, i)) continue;
    subjects_[n] = {.frame = batch.frame(i), .parsed = &batch.parsed[i]};
    packet_of_[n++] = i;
  }
  recogniser_->run(std::span(subjects_).first(n));
  for (std::uint32_t s = 0; s < n; ++s) {
    const Subject& subject = subjects_[s];
    const std::uint32_t i = packet_of_[s];
    searched_ += subject.searched ? 1 : 0;
    if (subject.failed) {
      if (subject.lost) LaneRunner::keep_lost(batch.packets[i]);
      batch.fate[i] = Fate::kDropFailed;
      continue;
    }
    if (subject.parsed->kind != packet::Kind::kTransport) ++unclassified_;
    ++classes_[static_cast<std::size_t>(subject.verdict)];
    send_on(batch, i, subject.verdict, placement_);
  }
  return n;
}

void ScanStage::begin(bool /*keeps_flows*/) {
  recogniser_->clear();
  classes_ = {};
  searched_ = unclassified_ = 0;
}

void ScanStage::collect(nlohmann::json& into, const std::string& /*dump_folder*/) {
  nlohmann::json& classes = into["classes"];
  for (std::size_t c = 0; c < kClasses; ++c) add(classes, class_name(static_cast<Class>(c)), classes_[c]);
  add(into, "searched", searched_);
  add(into, "unclassified", unclassified_);
  add(into, "too_long", recogniser_->too_long());
  const packet::Reassembly* const reassembly = recogniser_->reassembly();
  if (reassembly == nullptr) return;
  const packet::Reassembly::Counters& counters = reassembly->counters();
  nlohmann::json& stream = into["stream"];
  add(stream, "flows", counters.flows);
  add(stream, "evicted", counters.evicted);
  add(stream, "segments", counters.segments);
  add(stream, "repeated", counters.repeated);
  add(stream, "out_of_order", counters.out_of_order);
  add(stream, "old", counters.old);
  add(stream, "too_long", counters.too_long);
  add(stream, "forgotten_bytes", counters.forgotten_bytes);
}

AnswerStage::AnswerStage(std::unique_ptr<LaneRunner> lane, Class c, std::uint32_t longest, std::uint32_t room,
                         Placement placement, bool takes_marks)
    : lane_(std::move(lane)),
      class_(c),
      longest_(longest),
      room_(static_cast<std::uint32_t>(whole_lines(room))),
      placement_(placement),
      takes_marks_(takes_marks) {
  // A device maps whole pages.
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t bytes = (std::size_t{LaneRunner::kCapacity} * room_ + page - 1) / page * page;
  outputs_.reset(static_cast<std::byte*>(std::aligned_alloc(page, bytes)));
  if (outputs_ == nullptr) throw std::bad_alloc();
  lane_->attach({outputs_.get(), bytes});
}

/// Read the classes that a server before this one has found.
void AnswerStage::take_marks(Batch& batch) noexcept {
  for (std::uint32_t i = 0; i < batch.n; ++i) {
    if (batch.fate[i] != Fate::kForward || !has_addresses(batch, i)) continue;
    const std::optional<Class> c = unmark(batch.frame(i));
    if (c) batch.parsed[i] = packet::parse(batch.frame(i));
    // Anyone may send such a type, so only a packet that can be answered is answered.
    const bool whole = batch.parsed[i].kind == packet::Kind::kTransport && !batch.parsed[i].first_fragment;
    send_on(batch, i, whole ? c.value_or(Class::kEcho) : Class::kEcho, placement_);
  }
}

std::uint32_t AnswerStage::run(Batch& batch) noexcept {
  if (takes_marks_) take_marks(batch);
  lane_->clear();
  for (std::uint32_t i = 0; i < batch.n; ++i) {
    if (batch.fate[i] != Fate::kForward || batch.mark[i] != static_cast<std::uint32_t>(class_)) continue;
    const std::span<const std::byte> in = input(batch.frame(i), batch.parsed[i]);
    if (in.empty() || in.size() > longest_) {
      ++unchanged_;
      swap_addresses(batch.data(i));
      continue;
    }
    const std::uint32_t item = lane_->size();
    packet_of_[item] = i;
    in_bytes_[item] = static_cast<std::uint32_t>(in.size());
    lane_->add(in.data(), in_bytes_[item], output(item), room_);
  }
  if (lane_->size() == 0) return 0;
  static_cast<void>(lane_->run());  // each item has a status of its own
  for (std::uint32_t item = 0; item < lane_->size(); ++item) answer(batch, packet_of_[item], item);
  return lane_->size();
}

void AnswerStage::answer(Batch& batch, std::uint32_t i, std::uint32_t item) noexcept {
  rte_mbuf* const packet = batch.packets[i];
  if (lane_->status(item) != kStatusOk) {
    if (lane_->status(item) == kStatusLost) LaneRunner::keep_lost(packet);
    batch.fate[i] = Fate::kDropFailed;
    return;
  }
  const std::uint32_t bytes = lane_->out_len(item);
  if (!replaces(in_bytes_[item], bytes)) {
    ++unchanged_;
    swap_addresses(batch.data(i));
    return;
  }
  const packet::Parsed& parsed = batch.parsed[i];
  const std::optional<Trailer> trailer = read_trailer(batch.frame(i));
  const std::uint32_t length = frame_bytes(parsed.payload + bytes, trailer.has_value());
  if (length > std::uint32_t{packet->data_len} + rte_pktmbuf_tailroom(packet)) {
    batch.fate[i] = Fate::kDropNoRoom;
    return;
  }
  std::memcpy(batch.data(i) + parsed.payload, output(item), bytes);
  packet->data_len = static_cast<std::uint16_t>(length);
  packet->pkt_len = length;
  finish_reply(batch.frame(i), parsed, bytes, trailer);
  ++answered_;
}

void AnswerStage::collect(nlohmann::json& into, const std::string& /*dump_folder*/) {
  nlohmann::json& mine = into[class_name(class_)];
  add(mine, "answered", answered_);
  add(mine, "unchanged", unchanged_);
}

}  // namespace dpubench::datapath::recognition
