#include "datapath/workloads/application-recognition/expectation.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "base/byte_order.hpp"
#include "inputs/digest.hpp"

namespace dpubench::datapath::recognition {
namespace {

constexpr std::uint8_t kEvery = 7;
constexpr std::size_t kMostPredecessors = 32;

std::span<const std::byte> payload_of(std::span<const std::byte> frame, const packet::Parsed& parsed) {
  return frame.subspan(parsed.payload, std::size_t{parsed.end} - parsed.payload);
}

std::uint32_t sequence_of(std::span<const std::byte> frame, const packet::Parsed& parsed) {
  return wire::be32(frame, parsed.transport + packet::tcp::kSequence);
}

void set_sequence(std::span<std::byte> frame, const packet::Parsed& parsed, std::uint32_t sequence) {
  wire::put32(frame.data() + parsed.transport + packet::tcp::kSequence, sequence);
}

/// Set the source address to the flow's number. This tells flows apart that have the same addresses until they are sent.
void set_flow(std::span<std::byte> frame, const packet::Parsed& parsed, std::uint32_t flow) {
  std::memcpy(frame.data() + parsed.ip + (parsed.version == 4 ? packet::ip4::kSource : packet::ip6::kSource), &flow, sizeof flow);
}

/// Return whether two frames have the same addresses, ports and sequence number, which a client may patch.
bool same_place(std::span<const std::byte> a, std::span<const std::byte> b, const packet::Parsed& parsed) {
  const std::size_t addresses = parsed.version == 4 ? packet::ip4::kAddresses : packet::ip6::kAddresses;
  const std::size_t begin = parsed.ip + addresses;
  const std::size_t end = parsed.transport + 8U;
  return a.size() == b.size() &&
         std::equal(a.begin() + static_cast<std::ptrdiff_t>(begin), a.begin() + static_cast<std::ptrdiff_t>(end),
                    b.begin() + static_cast<std::ptrdiff_t>(begin));
}

std::string names_of(std::uint8_t classes) {
  std::string names;
  for (const Class c : {Class::kEcho, Class::kHash, Class::kCompress}) {
    if ((classes & class_bit(c)) != 0) names += (names.empty() ? "" : " or ") + std::string(class_name(c));
  }
  return names;
}

}  // namespace

RecognitionExpectation::RecognitionExpectation(PreparedOperator& scan, std::size_t rules, const Recogniser::Doubts& doubts,
                                               const std::optional<packet::Reassembly::Limits>& reassembly,
                                               std::span<const FrameTemplate> templates)
    : recogniser_(std::make_unique<Recogniser>(scan.open(), rules, scan.most_in_bytes(), reassembly)),
      stream_(reassembly.has_value()) {
  recogniser_->tell_possible(doubts);
  std::vector<std::size_t> order;
  std::map<std::uint32_t, bool> flows;
  for (const FrameTemplate& t : templates) {
    Known known;
    known.frame = t.frame;
    known.parsed = packet::parse(known.frame);
    known.flow = t.flow;
    known.in_stream = stream_ && known.parsed.kind == packet::Kind::kTransport && !known.parsed.first_fragment &&
                      known.parsed.protocol == packet::protocol::kTcp;
    if (known.in_stream) flows[t.flow] = true;
    order.push_back(templates_.size());
    templates_.push_back(std::move(known));
  }
  may_evict_ = stream_ && flows.size() > reassembly->flows;
  recogniser_->clear();
  recognise(order, 0, &Known::first);
  if (!stream_) return;
  recognise(order, 0, &Known::again);
  recognise_followers();
}

void RecognitionExpectation::run(std::span<Subject> subjects) {
  for (std::size_t at = 0; at < subjects.size(); at += LaneRunner::kCapacity) {
    recogniser_->run(subjects.subspan(at, std::min<std::size_t>(LaneRunner::kCapacity, subjects.size() - at)));
  }
  for (const Subject& subject : subjects) {
    if (subject.failed) throw Error("application-recognition: the reference engine failed on a template");
  }
}

/// Recognise the templates in the order in which they are sent, and write the possible classes of each to `into`.
void RecognitionExpectation::recognise(std::span<const std::size_t> order, std::uint32_t flow_offset, std::uint8_t Known::*into) {
  std::vector<std::vector<std::byte>> frames;
  std::vector<Subject> subjects;
  for (const std::size_t i : order) {
    const Known& known = templates_[i];
    frames.push_back(known.frame);
    if (known.in_stream) set_flow(frames.back(), known.parsed, known.flow + flow_offset);
    subjects.push_back({.frame = frames.back(), .parsed = &known.parsed});
  }
  run(subjects);
  for (std::size_t i = 0; i < order.size(); ++i) templates_[order[i]].*into = subjects[i].possible;
}

/// Return how many bytes these segments of a message move their stream on. The first segment comes first. Bytes may come twice.
std::uint32_t RecognitionExpectation::length_of(std::span<const std::size_t> segments) const {
  std::uint32_t length = 0;
  const Known& first = templates_[segments.front()];
  for (const std::size_t i : segments) {
    const Known& known = templates_[i];
    const std::uint32_t at = sequence_of(known.frame, known.parsed) - sequence_of(first.frame, first.parsed);
    length = std::max(length, at + static_cast<std::uint32_t>(payload_of(known.frame, known.parsed).size()));
  }
  return length;
}

/// Find the possible classes of messages that follow another message. In a traffic model a flow sends one message after the
/// other, and the search of a message begins with the end of the message before it, whichever that was.
void RecognitionExpectation::recognise_followers() {
  std::map<std::uint32_t, std::vector<std::size_t>> messages;
  for (std::size_t i = 0; i < templates_.size(); ++i) {
    templates_[i].follows = templates_[i].first;
    if (templates_[i].in_stream) messages[templates_[i].flow].push_back(i);
  }
  if (messages.empty()) return;
  // Flows with addresses of their own are those of a capture. No message follows them.
  const Known& one = templates_[messages.begin()->second.front()];
  const Known& other = templates_[messages.rbegin()->second.front()];
  const auto tuple = [](const Known& k) {
    return payload_of(
        k.frame, packet::Parsed{.payload = static_cast<std::uint16_t>(
                                    k.parsed.ip + (k.parsed.version == 4 ? packet::ip4::kAddresses : packet::ip6::kAddresses)),
                                .end = static_cast<std::uint16_t>(k.parsed.transport + 4)});
  };
  if (!std::ranges::equal(tuple(one), tuple(other))) return;
  const std::size_t step = (messages.size() + kMostPredecessors - 1) / kMostPredecessors;
  std::size_t number = 0;
  for (const auto& [before, segments_before] : messages) {
    if (number++ % step != 0) continue;
    const std::uint32_t length = length_of(segments_before);
    for (const auto& [after, segments_after] : messages) {
      recogniser_->clear();
      std::vector<std::vector<std::byte>> frames;
      std::vector<Subject> subjects;
      const auto add = [&](std::size_t i, std::uint32_t offset) {
        const Known& known = templates_[i];
        frames.push_back(known.frame);
        set_sequence(frames.back(), known.parsed, sequence_of(known.frame, known.parsed) + offset);
        subjects.push_back({.frame = frames.back(), .parsed = &known.parsed});
      };
      for (const std::size_t i : segments_before) add(i, 0);
      for (const std::size_t i : segments_after) add(i, length);
      run(subjects);
      for (std::size_t s = 0; s < segments_after.size(); ++s) {
        templates_[segments_after[s]].follows |= subjects[segments_before.size() + s].possible;
      }
    }
  }
  recogniser_->clear();
}

std::uint8_t RecognitionExpectation::possible(const Known& known, std::span<const std::byte> sent) const {
  if (!known.in_stream) return known.first;
  if (!same_place(known.frame, sent, known.parsed)) return known.follows;
  const std::optional<Trailer> trailer = read_trailer(sent);
  if (trailer && trailer->number < templates_.size()) return known.first;
  return known.first | known.again;
}

std::array<std::byte, 32> RecognitionExpectation::digest(Known& known, std::span<const std::byte> sent) const {
  const std::span<const std::byte> packet = sent.first(known.parsed.end);
  if (!std::ranges::equal(packet, std::span<const std::byte>(known.frame).first(known.parsed.end)))
    return inputs::Sha256::of(packet);
  if (!known.has_digest) known.digest = inputs::Sha256::of(packet);
  known.has_digest = true;
  return known.digest;
}

bool RecognitionExpectation::is_echo(std::span<const std::byte> sent, std::span<const std::byte> reply) const {
  constexpr std::size_t kAddress = 6;
  if (reply.size() != sent.size() || sent.size() < kEthernetBytes) return false;
  return std::memcmp(reply.data(), sent.data() + kAddress, kAddress) == 0 &&
         std::memcmp(reply.data() + kAddress, sent.data(), kAddress) == 0 &&
         std::memcmp(reply.data() + 2 * kAddress, sent.data() + 2 * kAddress, sent.size() - 2 * kAddress) == 0;
}

/// Return whether a reply has the headers that were sent, this payload, lengths and checksums that fit, and the trailer at the
/// end.
bool RecognitionExpectation::is_reply(const Known& known, std::span<const std::byte> sent, std::span<const std::byte> reply,
                                      std::span<const std::byte> payload) {
  const packet::Parsed& parsed = known.parsed;
  const auto bytes = static_cast<std::uint32_t>(payload.size());
  const std::optional<Trailer> trailer = read_trailer(sent);
  const std::uint32_t length = frame_bytes(parsed.payload + bytes, trailer.has_value());
  if (reply.size() != length) return false;
  scratch_.assign(length, std::byte{});
  std::copy_n(sent.begin(), parsed.payload, scratch_.begin());
  std::ranges::copy(payload, scratch_.begin() + parsed.payload);
  finish_reply(scratch_, parsed, bytes, trailer);
  if (!std::ranges::equal(scratch_, reply)) return false;
  // Check the lengths with the parser, so that this does not rely on finish_reply().
  const packet::Parsed got = packet::parse(reply);
  return got.kind == packet::Kind::kTransport && got.payload == parsed.payload && got.end == parsed.payload + bytes &&
         packet::ip_checksum_valid(reply, got) && packet::transport_checksum_valid(reply, got);
}

bool RecognitionExpectation::is_hash(Known& known, std::span<const std::byte> sent, std::span<const std::byte> reply) {
  if (known.parsed.kind != packet::Kind::kTransport || reply.size() < known.parsed.payload + 32U) return false;
  return is_reply(known, sent, reply, digest(known, sent));
}

/// Return whether a payload may come back as it is, because the reference gains little or nothing on it.
bool RecognitionExpectation::may_stay(std::span<const std::byte> payload) {
  constexpr std::size_t kMargin = 16;
  plain_.resize(deflate::bound(payload.size()));
  const std::size_t bytes = compressor_.compress(payload, plain_, {});
  return bytes + bytes / 8 + kMargin >= payload.size();
}

bool RecognitionExpectation::is_compressed(Known& known, std::span<const std::byte> sent, std::span<const std::byte> reply) {
  if (known.parsed.kind != packet::Kind::kTransport) return false;
  const std::span<const std::byte> payload = payload_of(sent, known.parsed);
  if (is_echo(sent, reply)) return may_stay(payload);
  const packet::Parsed got = packet::parse(reply);
  if (got.kind != packet::Kind::kTransport || got.payload != known.parsed.payload) return false;
  const std::span<const std::byte> stream = payload_of(reply, got);
  if (stream.size() >= payload.size() || !is_reply(known, sent, reply, stream)) return false;
  const bool is_template = std::ranges::equal(payload, payload_of(known.frame, known.parsed));
  if (is_template && !known.stream.empty() && std::ranges::equal(stream, known.stream)) return true;
  plain_.resize(payload.size());
  const std::optional<std::size_t> bytes = decompressor_.decompress(stream, plain_);
  if (!bytes || *bytes != payload.size() || !std::ranges::equal(plain_, payload)) return false;
  if (is_template) known.stream.assign(stream.begin(), stream.end());
  return true;
}

std::uint8_t RecognitionExpectation::fits(Known& known, std::span<const std::byte> sent, std::span<const std::byte> reply) {
  std::uint8_t classes = 0;
  if (is_echo(sent, reply)) classes |= class_bit(Class::kEcho);
  if (is_hash(known, sent, reply)) classes |= class_bit(Class::kHash);
  if (is_compressed(known, sent, reply)) classes |= class_bit(Class::kCompress);
  return classes;
}

Expectation::Answer RecognitionExpectation::judge(std::uint32_t index, std::span<const std::byte> sent,
                                                  std::span<const std::byte> reply, bool lossy) {
  Known& known = templates_[index];
  if (sent.size() != known.frame.size()) return Answer::kWrong;
  const std::uint8_t wanted = possible(known, sent);
  const auto is = [wanted](Class c) { return wanted == class_bit(c); };
  // Most packets have one possible class. One comparison judges them.
  if (is(Class::kEcho) && is_echo(sent, reply)) return Answer::kRight;
  if (is(Class::kHash) && is_hash(known, sent, reply)) return Answer::kRight;
  if (is(Class::kCompress) && is_compressed(known, sent, reply)) return Answer::kRight;
  const std::uint8_t got = fits(known, sent, reply);
  if ((got & wanted) != 0) return Answer::kRight;
  return known.in_stream && (lossy || may_evict_) && got != 0 ? Answer::kCannotTell : Answer::kWrong;
}

std::string RecognitionExpectation::explain(std::uint32_t index, std::span<const std::byte> sent,
                                            std::span<const std::byte> reply) {
  Known& known = templates_[index];
  const std::uint8_t wanted = possible(known, sent);
  const std::uint8_t got = fits(known, sent, reply);
  std::string text = "template " + std::to_string(index) + ", " + std::to_string(sent.size()) + " B";
  if (known.parsed.kind == packet::Kind::kTransport)
    text += ", " + std::to_string(payload_of(sent, known.parsed).size()) + " B of payload";
  text += ": expected " + names_of(wanted) + ", got " + std::to_string(reply.size()) + " B";
  if (got != 0) return text + ", the right answer of class " + names_of(got & kEvery);
  text += ", the right answer of no class";
  const packet::Parsed parsed = packet::parse(reply);
  if (parsed.kind != packet::Kind::kTransport) return text + ": not a whole TCP or UDP packet";
  if (!packet::ip_checksum_valid(reply, parsed) || !packet::transport_checksum_valid(reply, parsed))
    text += ": a checksum is wrong";
  const std::span<const std::byte> payload = payload_of(reply, parsed);
  text += "; its payload has " + std::to_string(payload.size()) + " B";
  if (wanted == class_bit(Class::kHash) && payload.size() == 32) {
    text += " with digest " + inputs::Sha256::hex(payload) + " instead of " + inputs::Sha256::hex(digest(known, sent));
  }
  return text;
}

}  // namespace dpubench::datapath::recognition
