#include "datapath/client/payloads.hpp"

#include <algorithm>

#include "operators/regex/work.hpp"
#include "operators/verify.hpp"
#include "packet/ip.hpp"

namespace dpubench::datapath {
namespace {

constexpr std::uint32_t kVerifyBurst = 1;

Payload captured_payloads(inputs::Store& store) {
  Payload all;
  const inputs::Capture& capture = store.capture();
  for (const inputs::Packet& packet : capture.packets) {
    const auto ip = capture.ip(packet);
    packet::Transport transport;
    if (!packet::find_transport(ip, transport)) continue;
    all.insert(all.end(), ip.begin() + transport.payload, ip.begin() + transport.end);
  }
  if (all.empty()) {
    throw Error("capture " + store.identity("capture").name +
                ": no packet carries a TCP, UDP or SCTP payload; give another, or payload source random");
  }
  return all;
}

/// Put a string where its rule wants it. @param borders  borders of segments @return whether it fits
bool plant(Payload& payload, const regex::Sample& sample, std::span<const std::uint32_t> borders, inputs::Random& random) {
  // Blanks around the string make its ends word boundaries. A rule that is anchored at an end needs the very end instead.
  const std::string text = (sample.at_start ? "" : " ") + sample.text + (sample.at_end ? "" : " ");
  if (text.size() > payload.size()) return false;
  const std::size_t room = payload.size() - text.size();
  std::size_t at = sample.at_start ? 0 : sample.at_end ? room : static_cast<std::size_t>(random.below(room + 1));
  if (!borders.empty() && !sample.at_start && !sample.at_end && sample.text.size() >= 2) {
    const std::size_t which = borders[random.below(borders.size())];
    const std::size_t before = std::min(which, 2 + static_cast<std::size_t>(random.below(sample.text.size() - 1)));
    at = std::min(which - before, room);
  }
  std::memcpy(payload.data() + at, text.data(), text.size());
  return true;
}

struct Candidate {
  std::size_t rule;  ///< index in the selection
  std::size_t message;
};

/// Return in which candidates the reference engine finds their rule.
std::vector<bool> matches(const regex::RegexWork& work, std::span<const Candidate> candidates, const EngineCatalog& engines) {
  const Operator* const op = find_operator("regex");
  const EngineSlot* const slot = op == nullptr ? nullptr : engines.find("regex", op->info().reference_engine);
  if (slot == nullptr || slot->engine == nullptr || !slot->reason.empty()) {
    throw Error("signatures cannot be verified: the engine " + (op == nullptr ? "regex" : op->info().reference_engine) +
                " cannot run here" + (slot == nullptr ? "" : ": " + slot->reason) + "; install it, or set signature_share to 0");
  }
  const std::unique_ptr<Session> session = slot->engine->prepare(work);
  const std::vector<Output> outputs = run_once(work, *session, kVerifyBurst);
  std::vector<bool> found;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    found.push_back(outputs[i].status == kStatusOk && regex::bit(outputs[i].bytes, candidates[i].rule));
  }
  return found;
}

}  // namespace

PayloadSource::PayloadSource(const PayloadSpec& spec, inputs::Store& store)
    : spec_(spec), store_(store), random_(store.random("traffic-payload")) {
  if (spec.source == "capture") captured_ = captured_payloads(store);
}

std::vector<Payload> PayloadSource::cut(std::size_t count, std::size_t bytes) {
  if (spec_.source == "corpus" && bytes > 0) return store_.corpus().messages(count, bytes, random_);
  std::vector<Payload> payloads(count, Payload(bytes));
  for (Payload& payload : payloads) {
    if (spec_.source != "capture") {
      random_.fill(payload);
      continue;
    }
    const std::uint64_t at = random_.below(captured_.size());
    for (std::size_t i = 0; i < bytes; ++i) payload[i] = captured_[(at + i) % captured_.size()];
  }
  return payloads;
}

std::vector<Message> plant_signatures(std::vector<Message> messages, inputs::Store& store, const EngineCatalog& engines) {
  constexpr int kDraws = 64;  // some rules yield no string, and some strings are too long
  constexpr int kRounds = 4;  // some strings do not match after all: a look-around, a byte beside them
  inputs::Random random = store.random("traffic-signature");
  // Read the rules first: they have no name before, and arguments are evaluated in any order.
  const inputs::RuleList& rules = store.rules();
  const regex::Selection selection = regex::select(rules, store.identity("rules").name);
  std::vector<Message> planted;
  for (int round = 0; round < kRounds && !messages.empty(); ++round) {
    regex::RegexWork work;
    work.params = Params{{"mode", "block"}};
    work.rules = selection.rules;
    work.rules_name = store.identity("rules").name;
    work.rules_hash = regex::hash_of(work.rules);
    work.cached = [&store](std::string_view key, const std::function<Payload()>& build) { return store.cached(key, build); };
    std::vector<Candidate> candidates;
    for (std::size_t i = 0; i < messages.size(); ++i) {
      for (int draw = 0; draw < kDraws; ++draw) {
        const std::size_t rule = random.below(selection.rules.size());
        const auto sample = regex::draw(selection.rules[rule], random);
        Payload payload = messages[i].bytes;
        if (!sample || sample->text.empty() || !plant(payload, *sample, messages[i].cut.borders, random)) continue;
        candidates.push_back({rule, i});
        work.items.push_back({std::move(payload), {}, static_cast<std::uint32_t>(2 * regex::bitmap_bytes(work.rules.size()))});
        break;
      }
    }
    if (candidates.empty()) break;
    for (const Item& item : work.items) work.payload_bytes += item.in.size();
    work.item_bytes = work.payload_bytes;
    const std::vector<bool> found = matches(work, candidates, engines);
    std::vector<bool> done(messages.size());
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (!found[i]) continue;
      const std::size_t message = candidates[i].message;
      done[message] = true;
      planted.push_back({std::move(work.items[i].in), std::move(messages[message].cut)});
    }
    std::vector<Message> left;
    for (std::size_t i = 0; i < messages.size(); ++i) {
      if (!done[i]) left.push_back(std::move(messages[i]));
    }
    messages = std::move(left);
  }
  return planted;
}

}  // namespace dpubench::datapath
