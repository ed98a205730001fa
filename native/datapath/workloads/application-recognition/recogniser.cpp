#include "datapath/workloads/application-recognition/recogniser.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

#include "base/byte_order.hpp"
#include "base/cache_line.hpp"
#include "operators/regex/work.hpp"

namespace dpubench::datapath::recognition {
namespace {

std::span<const std::byte> payload_of(const Subject& subject) noexcept {
  return subject.frame.subspan(subject.parsed->payload, std::size_t{subject.parsed->end} - subject.parsed->payload);
}

packet::FlowKey key_of(const Subject& subject) noexcept {
  const std::byte* const frame = subject.frame.data();
  const packet::Parsed& p = *subject.parsed;
  packet::FlowKey key;
  if (p.version == 4) {
    std::memcpy(key.bytes.data(), frame + p.ip + packet::ip4::kSource, 4);
    std::memcpy(key.bytes.data() + 16, frame + p.ip + packet::ip4::kDestination, 4);
  } else {
    std::memcpy(key.bytes.data(), frame + p.ip + packet::ip6::kAddresses, packet::ip6::kAddressBytes);
  }
  std::memcpy(key.bytes.data() + 32, frame + p.transport, 4);
  key.bytes[36] = std::byte{p.version};
  return key;
}

/// Return the first rule at or behind `from` whose bit is set, or `rules` when there is none.
std::size_t first_rule(const std::byte* bitmap, std::size_t rules, std::size_t from) noexcept {
  for (std::size_t i = from / 8; i * 8 < rules; ++i) {
    unsigned bits = std::to_integer<unsigned>(bitmap[i]);
    if (i == from / 8) bits &= 0xffU << from % 8;
    if (bits != 0) return i * 8 + static_cast<std::size_t>(std::countr_zero(bits));
  }
  return rules;
}

}  // namespace

Recogniser::Recogniser(std::unique_ptr<LaneRunner> lane, std::size_t rules, std::uint32_t longest,
                       const std::optional<packet::Reassembly::Limits>& reassembly)
    : lane_(std::move(lane)),
      rules_(rules),
      bitmap_bytes_(static_cast<std::uint32_t>(regex::bitmap_bytes(rules))),
      stride_(static_cast<std::uint32_t>(whole_lines(2 * bitmap_bytes_))),
      longest_(longest),
      outputs_(static_cast<std::byte*>(std::aligned_alloc(kCacheLine, std::size_t{LaneRunner::kCapacity} * stride_)), std::free) {
  if (outputs_ == nullptr) throw std::bad_alloc();
  if (!reassembly) return;
  // Other flows of the same batch must not evict a flow whose answer is awaited.
  if (reassembly->flows < LaneRunner::kCapacity) throw Error("reassembly: at least 256 flows are needed");
  reassembly_ = std::make_unique<packet::Reassembly>(*reassembly);
  lane_->attach(reassembly_->memory());
  asked_in_.resize(reassembly->flows);
}

void Recogniser::clear() noexcept {
  too_long_ = 0;
  if (reassembly_ != nullptr) reassembly_->clear();
}

void Recogniser::ask(std::uint32_t subject, const std::byte* text, std::uint32_t bytes) noexcept {
  const std::uint32_t item = lane_->size();
  asked_[item].subject = subject;
  asked_[item].has_window = false;
  lane_->add(text, bytes, output(item), 2 * bitmap_bytes_);
}

void Recogniser::ask_plain(std::uint32_t index, const Subject& subject) noexcept {
  const auto payload = payload_of(subject);
  if (payload.empty()) return;
  if (payload.size() > longest_) {
    ++too_long_;
    return;
  }
  ask(index, payload.data(), static_cast<std::uint32_t>(payload.size()));
}

bool Recogniser::ask_segment(std::uint32_t index, const Subject& subject) noexcept {
  const std::byte* const header = subject.frame.data() + subject.parsed->transport;
  const std::byte flags = header[packet::tcp::kFlags];
  const packet::TcpSegment segment{.sequence = wire::get32(header + packet::tcp::kSequence),
                                   .syn = (flags & packet::tcp::kSyn) != std::byte{},
                                   .rst = (flags & packet::tcp::kRst) != std::byte{},
                                   .payload = payload_of(subject)};
  // An acknowledgement alone says nothing about the flow, and is no reason to keep one.
  if (segment.payload.empty() && !segment.syn && !segment.rst) return true;
  const std::uint32_t flow = reassembly_->find(key_of(subject));
  if (asked_in_[flow] == round_) return false;
  const packet::Window window = reassembly_->add(flow, segment);
  if (window.bytes == 0) return true;
  if (window.bytes > longest_) {
    ++too_long_;
    return true;
  }
  const std::uint32_t item = lane_->size();
  ask(index, window.data, window.bytes);
  asked_[item].window = window;
  asked_[item].has_window = true;
  asked_in_[flow] = round_;
  return true;
}

void Recogniser::judge(Subject& subject, std::uint32_t item) const noexcept {
  subject.searched = true;
  if (lane_->status(item) != kStatusOk) {
    subject.failed = true;
    subject.lost = lane_->status(item) == kStatusLost;
    return;
  }
  const std::byte* const matched = output(item);
  const std::byte* const undecided = matched + bitmap_bytes_;
  const std::size_t rule = lane_->result(item) == 0 ? rules_ : first_rule(matched, rules_, 0);
  subject.verdict = rule == rules_ ? Class::kEcho : class_of_rule(rule);
  subject.possible = class_bit(subject.verdict);
  if (!doubts_.shared.empty()) subject.possible = possible(matched, undecided);
}

/// Return the classes of the rules that may match, up to the first rule that matches in every engine; with echo when there is
/// no such rule.
std::uint8_t Recogniser::possible(const std::byte* matched, const std::byte* undecided) const noexcept {
  std::uint8_t classes = 0;
  for (std::size_t rule = 0; rule < rules_; ++rule) {
    const bool matches = regex::bit({matched, bitmap_bytes_}, rule);
    const bool open = regex::bit({undecided, bitmap_bytes_}, rule) && !regex::bit(doubts_.shared, rule);
    if (matches || open) classes |= class_bit(class_of_rule(rule));
    if (matches && !regex::bit(doubts_.contested, rule)) return classes;
  }
  return classes | class_bit(Class::kEcho);
}

void Recogniser::answer(std::span<Subject> subjects) noexcept {
  ++round_;
  if (lane_->size() == 0) return;
  static_cast<void>(lane_->run());  // each item has a status of its own
  for (std::uint32_t item = 0; item < lane_->size(); ++item) {
    judge(subjects[asked_[item].subject], item);
    const bool hit = lane_->status(item) == kStatusOk && lane_->result(item) != 0;
    if (asked_[item].has_window && hit) reassembly_->spend(asked_[item].window);
  }
}

void Recogniser::run(std::span<Subject> subjects) noexcept {
  std::uint32_t waiting = 0;
  lane_->clear();
  for (std::uint32_t i = 0; i < subjects.size(); ++i) {
    const packet::Parsed& p = *subjects[i].parsed;
    if (p.kind != packet::Kind::kTransport || p.first_fragment) continue;
    if (p.protocol == packet::protocol::kTcp && reassembly_ != nullptr) {
      waiting_[waiting++] = i;
    } else if (p.protocol == packet::protocol::kTcp || p.protocol == packet::protocol::kUdp) {
      ask_plain(i, subjects[i]);
    }
  }
  // The result for a segment depends on earlier matches in its flow. So search one segment of each flow at a time, in order.
  while (waiting != 0) {
    std::uint32_t still = 0;
    for (std::uint32_t w = 0; w < waiting; ++w) {
      if (!ask_segment(waiting_[w], subjects[waiting_[w]])) waiting_[still++] = waiting_[w];
    }
    answer(subjects);
    lane_->clear();
    waiting = still;
  }
  answer(subjects);
}

}  // namespace dpubench::datapath::recognition
