// regex: finds the rules of a set that match a packet payload, or a flow of payloads.

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <utility>

#include "inputs/digest.hpp"
#include "operators/lane.hpp"
#include "operators/regex/work.hpp"
#include "operators/support/messages.hpp"
#include "packet/ip.hpp"

namespace dpubench {
namespace {

using regex::RegexWork;
using regex::Segment;

constexpr std::size_t kSegments = 4;  // segments per flow
// Segments lie apart, as payloads in packet buffers do: before each is room for Ethernet, IP and TCP headers.
constexpr std::size_t kHeadroom = 64;
constexpr std::size_t kAlignment = 64;

using Bytes = std::vector<std::byte>;

Item block_item(Bytes payload, std::size_t rules) {
  return {std::move(payload), {}, static_cast<std::uint32_t>(2 * regex::bitmap_bytes(rules))};
}

Item flow_item(std::span<const std::span<const std::byte>> pieces, std::size_t rules) {
  Item item;
  std::vector<Segment> segments;
  for (const auto& piece : pieces) {
    const std::size_t offset = (item.in.size() + kAlignment - 1) / kAlignment * kAlignment + kHeadroom;
    item.in.resize(offset + piece.size());
    std::copy(piece.begin(), piece.end(), item.in.begin() + static_cast<std::ptrdiff_t>(offset));
    segments.push_back({static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(piece.size())});
  }
  item.aux = regex::Segments::encode(segments);
  item.out_room = static_cast<std::uint32_t>(2 * regex::bitmap_bytes(rules));
  return item;
}

/// Return text like logs, forms and requests, for jobs without a corpus.
Bytes model_text(std::size_t size, inputs::Random& random) {
  static constexpr std::string_view kWords[] = {"the ",         "of ",
                                                "and ",         "request ",
                                                "user=",        "id=",
                                                "name=",        "; ",
                                                ", ",           "from ",
                                                "table ",       "date ",
                                                "HTTP/1.1\r\n", "Host: ",
                                                "example",      ".org/",
                                                "index",        ".html ",
                                                "value ",       "price ",
                                                "order ",       "page ",
                                                "error ",       "ok\n",
                                                "GET /",        "Accept: text/html\r\n"};
  Bytes text;
  while (text.size() < size) {
    const bool number = random.below(6) == 0;
    const Bytes word =
        bytes_of(number ? std::to_string(random.below(100'000)) + ' ' : std::string(kWords[random.below(std::size(kWords))]));
    text.insert(text.end(), word.begin(), word.end());
  }
  text.resize(size);
  return text;
}

/// Write a string that some rule matches into a text. @param border  the string shall lie across a multiple of this offset; 0:
/// anywhere
void plant(Bytes& text, const std::vector<regex::Rule>& rules, std::size_t border, inputs::Random& random) {
  constexpr int kTries = 32;  // some rules yield no string, and some strings are too long
  for (int i = 0; i < kTries; ++i) {
    const auto sample = regex::draw(rules[random.below(rules.size())], random);
    if (!sample) continue;
    // Blanks around the string make word boundaries. A rule that is anchored at an end needs the string at the very end.
    const std::string planted = (sample->at_start ? "" : " ") + sample->text + (sample->at_end ? "" : " ");
    if (planted.size() > text.size()) continue;
    const std::size_t room = text.size() - planted.size();
    std::size_t at = sample->at_start ? 0 : sample->at_end ? room : static_cast<std::size_t>(random.below(room + 1));
    if (border != 0 && !sample->at_start && !sample->at_end && sample->text.size() >= 2) {
      const std::size_t which = border * (1 + static_cast<std::size_t>(random.below(kSegments - 1)));
      // Before the border lie the blank and at least the first byte of the match, but not its last byte.
      const std::size_t before = std::min(which, 2 + static_cast<std::size_t>(random.below(sample->text.size() - 1)));
      at = std::min(which - before, room);
    }
    const Bytes bytes = bytes_of(planted);
    std::copy(bytes.begin(), bytes.end(), text.begin() + static_cast<std::ptrdiff_t>(at));
    return;
  }
}

void add_text(RegexWork& work, inputs::Store& store, std::size_t count, std::size_t size) {
  inputs::Random random = store.random("regex");
  const std::size_t total = work.stream ? size * kSegments : size;
  std::vector<Bytes> texts;
  if (store.has("corpus")) {
    texts = store.corpus().messages(count, total, random);
  } else {
    for (std::size_t i = 0; i < count; ++i) texts.push_back(model_text(total, random));
  }
  const std::uint64_t percent = work.params.number("planted_percent");
  for (std::size_t i = 0; i < count; ++i) {
    if ((i + 1) * percent / 100 != i * percent / 100) plant(texts[i], work.rules, work.stream ? size : 0, random);
    if (!work.stream) {
      work.items.push_back(block_item(std::move(texts[i]), work.rules.size()));
      continue;
    }
    std::vector<std::span<const std::byte>> pieces;
    for (std::size_t s = 0; s < kSegments; ++s) pieces.push_back(std::span(texts[i]).subspan(s * size, size));
    work.items.push_back(flow_item(pieces, work.rules.size()));
  }
}

/// Return a key that identifies one direction of a flow: version, protocol, addresses and ports, as bytes of the packet.
std::string flow_key(std::span<const std::byte> ip, const packet::Transport& transport, std::uint8_t version) {
  const auto addresses = version == 4 ? ip.subspan(12, 8) : ip.subspan(8, 32);
  const auto ports = ip.subspan(transport.header, 4);
  std::string key{static_cast<char>(version), static_cast<char>(transport.protocol)};
  for (const auto part : {addresses, ports}) key.append(reinterpret_cast<const char*>(part.data()), part.size());
  return key;
}

/// Return `count` of `units`, drawn without repetition, in their order.
template <class Unit>
std::vector<Unit> some_of(std::vector<Unit> units, std::size_t count, inputs::Random& random) {
  if (units.size() <= count) return units;
  std::vector<Unit> chosen;
  for (std::size_t i = 0; i < units.size() && chosen.size() < count; ++i) {
    if (random.below(units.size() - i) < count - chosen.size()) chosen.push_back(std::move(units[i]));
  }
  return chosen;
}

void add_capture(RegexWork& work, inputs::Store& store, std::size_t count, std::size_t size) {
  inputs::Random random = store.random("regex");
  const inputs::Capture& capture = store.capture();
  using Piece = std::span<const std::byte>;
  std::vector<std::vector<Piece>> units;
  std::map<std::string, std::vector<Piece>> flows;
  for (const inputs::Packet& packet : capture.packets) {
    const Piece ip = capture.ip(packet);
    packet::Transport transport;
    if (!packet::find_transport(ip, transport) || transport.end <= transport.payload) continue;
    const Piece payload = ip.subspan(transport.payload, std::min<std::size_t>(size, transport.end - transport.payload));
    if (!work.stream) {
      units.push_back({payload});
      continue;
    }
    std::vector<Piece>& flow = flows[flow_key(ip, transport, packet.version)];
    flow.push_back(payload);
    if (flow.size() == kSegments) units.push_back(std::exchange(flow, {}));
  }
  for (auto& [key, flow] : flows) {
    if (flow.size() > 1) units.push_back(std::move(flow));
  }
  if (units.empty()) {
    throw Error("capture " + store.identity("capture").name + ": no packet carries a TCP, UDP or SCTP payload" +
                (work.stream ? " in a flow of two or more packets" : "") +
                ": give another with --input capture=FILE, or use payload=text");
  }
  for (const auto& unit : some_of(std::move(units), count, random)) {
    work.items.push_back(work.stream ? flow_item(unit, work.rules.size())
                                     : block_item(Bytes(unit[0].begin(), unit[0].end()), work.rules.size()));
  }
}

void count_bytes(RegexWork& work) {
  for (const Item& item : work.items) {
    work.item_bytes += item.in.size();
    if (!work.stream) {
      work.payload_bytes += item.in.size();
      continue;
    }
    const regex::Segments segments(item.aux.data());
    for (std::uint32_t s = 0; s < segments.size(); ++s) work.payload_bytes += segments[s].length;
  }
}

bool payload_is_utf8(const RegexWork& work, const Item& item) {
  regex::Utf8Check check;
  if (work.stream) {
    const regex::Segments segments(item.aux.data());
    for (std::uint32_t s = 0; s < segments.size(); ++s) check.feed(item.in.data() + segments[s].offset, segments[s].length);
  } else {
    check.feed(item.in.data(), item.in.size());
  }
  return check.valid();
}

std::uint64_t hits_of(std::span<const std::byte> bitmap) {
  return std::accumulate(bitmap.begin(), bitmap.end(), std::uint64_t{0}, [](std::uint64_t sum, std::byte b) {
    return sum + static_cast<std::uint64_t>(std::popcount(std::to_integer<unsigned>(b)));
  });
}

class RegexOperator final : public Operator {
 public:
  [[nodiscard]] const OperatorInfo& info() const override {
    static const OperatorInfo info = [] {
      OperatorInfo i;
      i.name = "regex";
      i.scenarios = {"security"};
      i.summary = "Search of a packet payload, or of a flow, for all rules of a set of regular expressions";
      i.definition =
          "mode block: in: a payload. mode stream: in: the " + std::to_string(kSegments) +
          " segments of a flow, in separate places as in packet buffers; aux: the number of segments, then offset and length of "
          "each (32-bit, native order); a match may cross segments. out: a bitmap of the rules that match at least once (bit i % "
          "8 of byte i / 8 for rule i of the set), then a bitmap of the undecided rules (a match limit was reached, the engine's "
          "compiler refused the rule, or a UTF-8 rule met bytes that are not UTF-8). result: the number of rules that match. The "
          "place and the number of a rule's matches do not count. Syntax and flags are PCRE's; a line ends at LF. One operation "
          "is one payload or one flow against the whole set. Gb/s counts each payload byte once.";
      i.parameters = {
          {"mode",
           "block: single payloads; stream: flows, with matches across segments",
           {"block", "stream"},
           "block",
           true,
           "",
           0,
           0},
          size_parameter(),
          {"payload",
           "text: pieces of the corpus (model text if there is no corpus) with planted matches; capture: random payloads of the "
           "job's capture, cut to the size",
           {"text", "capture"},
           "text",
           false,
           "",
           0,
           0},
          {"planted_percent",
           "percentage of the text units that get a string drawn from a random rule",
           {"0", "10", "50"},
           "10",
           false,
           "1",
           0,
           100}};
      i.parameters[1].summary = "bytes of a payload; a flow has " + std::to_string(kSegments) + " payloads";
      i.equivalence = Equivalence::kIdentical;
      i.equivalence_text =
          "for every unit and rule the same answer to \"matches at all\" as the reference engine; a pair that either engine "
          "leaves undecided is counted and reported, but not compared; an engine must decide at least half of the pairs";
      i.primary_metric = "gbps";
      i.uses_result = true;
      i.processes_all_bytes = true;
      i.metrics = {{"rules_hit", "1", "rules that match a unit, on average", true}};
      i.inputs = {{"rules"}, {"corpus", {"payload", "text"}}, {"capture", {"payload", "capture"}}};
      i.reference_engine = "pcre2";
      i.sources = {"DPUBench (2023), security operators", "pcre2pattern(3)", "Hyperscan Developer's Reference Guide"};
      i.distinct_items = 65536;
      i.version = 2;  // version 1 had 32 payloads, which branch predictors learned
      i.default_burst = 1;
      return i;
    }();
    return info;
  }

  [[nodiscard]] std::string invalid(const Params& params) const override {
    const bool planted = !params.is("planted_percent", "10");
    return params.is("payload", "capture") && planted ? "nothing is planted in captured payloads: leave planted_percent out" : "";
  }

  [[nodiscard]] std::unique_ptr<Work> prepare(const Params& params, inputs::Store& store, WorkSize size) const override {
    auto work = std::make_unique<RegexWork>();
    work->params = params;
    work->stream = params.is("mode", "stream");
    const inputs::RuleList& list = store.rules();
    const inputs::Store::Identity rules = store.identity("rules");
    regex::Selection selection = regex::select(list, rules.name);
    for (const std::string& note : selection.notes) store.note(note);
    work->rules = std::move(selection.rules);
    work->rules_hash = regex::hash_of(work->rules);
    work->cached = [&store](std::string_view key, const std::function<Bytes()>& build) { return store.cached(key, build); };
    const auto bytes = static_cast<std::size_t>(params.number("size"));
    const bool capture = params.is("payload", "capture");
    if (capture) {
      add_capture(*work, store, size.items, bytes);
    } else {
      add_text(*work, store, size.items, bytes);
    }
    count_bytes(*work);
    const std::string_view kind = capture ? "capture" : "corpus";
    const std::string source = !store.has(kind) ? "model text, seed " + std::to_string(store.seed()) : store.identity(kind).name;
    work->rules_name = rules.name;
    work->input_name = std::to_string(work->rules.size()) + " rules of " + rules.name + " on " + source;
    inputs::Sha256 sha;
    sha.update(bytes_of(work->rules_hash));
    for (const Item& item : work->items) {
      sha.update(inputs::Sha256::of(item.in));
      sha.update(inputs::Sha256::of(item.aux));
    }
    work->input_hash = inputs::Sha256::hex(sha.finish());
    return work;
  }

  [[nodiscard]] std::vector<KnownAnswer> known_answers(const Params& params) const override;

  [[nodiscard]] std::string check(const Work& base, std::size_t item, const Output& got, const Output* want) const override {
    const auto& work = static_cast<const RegexWork&>(base);
    const std::size_t bytes = regex::bitmap_bytes(work.rules.size());
    if (want == nullptr) return "there is nothing to compare with";
    if (got.status != kStatusOk) return "status " + std::to_string(got.status);
    if (got.bytes.size() != 2 * bytes) {
      return std::to_string(got.bytes.size()) + " bytes of output instead of two bitmaps of " + std::to_string(bytes);
    }
    const std::span<const std::byte> matched = std::span(got.bytes).first(bytes);
    const std::span<const std::byte> undecided = std::span(got.bytes).subspan(bytes);
    const std::span<const std::byte> want_matched = std::span(want->bytes).first(bytes);
    const std::span<const std::byte> want_undecided = std::span(want->bytes).subspan(bytes);
    if (got.result != hits_of(matched)) {
      return "result " + std::to_string(got.result) + ", but " + std::to_string(hits_of(matched)) + " rules are marked";
    }
    for (std::size_t i = 0; i < bytes * 8; ++i) {
      if (i >= work.rules.size()) {
        if (regex::bit(matched, i) || regex::bit(undecided, i)) return "a bit behind the last rule is set";
        continue;
      }
      if (regex::bit(undecided, i) || regex::bit(want_undecided, i)) {
        if (regex::bit(matched, i) && regex::bit(undecided, i)) return rule_name(work, i) + " both matches and is undecided";
        if (work.all_decided) return rule_name(work, i) + " is undecided";
        work.undecided.resize(work.items.size() * work.rules.size());
        work.undecided[item * work.rules.size() + i] = true;
      } else if (regex::bit(matched, i) != regex::bit(want_matched, i)) {
        return rule_name(work, i) + (regex::bit(matched, i) ? " matches, but should not" : " does not match, but should");
      }
    }
    return {};
  }

  /// Refuse an engine that gives up on most pairs: its rate would be for work that it did not do.
  [[nodiscard]] std::string check_all(const Work& base, std::span<const std::size_t> items,
                                      std::span<const Output> outputs) const override {
    const auto [pairs, undecided] = count_pairs(static_cast<const RegexWork&>(base), items, outputs);
    if (2 * undecided <= pairs) return {};
    return std::to_string(undecided) + " of " + std::to_string(pairs) +
           " pairs of payload and rule were left undecided: this is more than half, and the rate would mean little: give rules "
           "that every engine compiles and that need less backtracking, with --input rules=FILE";
  }

  [[nodiscard]] std::optional<double> undecided_share(const Work& base, std::span<const Output> outputs) const override {
    std::vector<std::size_t> items(outputs.size());
    std::iota(items.begin(), items.end(), std::size_t{0});
    const auto [pairs, undecided] = count_pairs(static_cast<const RegexWork&>(base), items, outputs);
    return pairs == 0 ? 0.0 : static_cast<double>(undecided) / static_cast<double>(pairs);
  }

  [[nodiscard]] std::vector<double> metrics(const Work&, const WindowTotals& totals) const override {
    return {totals.operations == 0 ? 0.0 : static_cast<double>(totals.result_sum) / static_cast<double>(totals.operations)};
  }

  /// Return the bytes of the payloads: the room between segments is not searched.
  [[nodiscard]] std::uint64_t rate_bytes(const Work& base, const WindowTotals& totals) const override {
    const auto& work = static_cast<const RegexWork&>(base);
    if (work.payload_bytes == work.item_bytes) return totals.in_bytes;
    const double share = static_cast<double>(work.payload_bytes) / static_cast<double>(work.item_bytes);
    return static_cast<std::uint64_t>(std::llround(share * static_cast<double>(totals.in_bytes)));
  }

  [[nodiscard]] std::optional<Remark> remark(const Work& base, const WindowTotals&) const override {
    const std::vector<bool>& pairs = static_cast<const RegexWork&>(base).undecided;
    const auto undecided = std::count(pairs.begin(), pairs.end(), true);
    if (undecided == 0) return std::nullopt;
    return Remark{"input-skipped", std::to_string(undecided) + " of " + std::to_string(pairs.size()) +
                                       " pairs of payload and rule were undecided in an engine of this configuration (a match "
                                       "limit, a rule that its compiler refuses, or bytes that are not UTF-8), and were not "
                                       "compared"};
  }

 private:
  struct Pairs {
    std::uint64_t all = 0;
    std::uint64_t undecided = 0;
  };
  /// Count the pairs of payload and rule, without those that are undecided by definition.
  static Pairs count_pairs(const RegexWork& work, std::span<const std::size_t> items, std::span<const Output> outputs) {
    const std::size_t bytes = regex::bitmap_bytes(work.rules.size());
    Pairs pairs;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const bool is_utf8 = payload_is_utf8(work, work.items.at(items[i]));
      for (std::size_t rule = 0; rule < work.rules.size(); ++rule) {
        if (work.rules[rule].utf8 && !is_utf8) continue;
        ++pairs.all;
        pairs.undecided += regex::bit(std::span(outputs[i].bytes).subspan(bytes), rule) ? 1 : 0;
      }
    }
    return pairs;
  }

  static std::string rule_name(const RegexWork& work, std::size_t i) { return "rule id " + std::to_string(work.rules[i].id); }
};

std::vector<KnownAnswer> RegexOperator::known_answers(const Params& params) const {
  // Each answer follows from the named section of pcre2pattern(3). Payloads are cut in three for flows, so that matches cross
  // segments.
  using Flags = std::string_view;
  static constexpr std::pair<std::string_view, Flags> kRules[] = {
      {"foo", ""},                      //  0 literal
      {"^foo", ""},                     //  1 Circumflex and dollar: start of the subject
      {"foo$", ""},                     //  2 end, or before a line feed that ends the subject
      {"foo\\z", ""},                   //  3 Simple assertions: the very end
      {"FoO", "i"},                     //  4 caseless
      {"f.o", ""},                      //  5 Full stop: no line feed
      {"f.o", "s"},                     //  6 but with dotall
      {"^bar", "m"},                    //  7 after a line feed with multiline
      {"[0-9]{4}-[0-9]{2}", ""},        //  8 classes and repeats
      {"\\bcat\\b", ""},                //  9 word boundaries
      {"a b # comment", "x"},           // 10 extended: "ab"
      {"\\x00\\xff[\\x80-\\x8f]", ""},  // 11 any byte
      {"(ab|cd){2,3}e", ""},            // 12 alternatives in a repeated group
      {"colou?r", ""},                  // 13 optional
      {"x*", ""},                       // 14 matches the empty string: always
      {"^[^z]*$", "s"},                 // 15 a negated class matches a line feed
      {"[[:upper:]]\\d+?\\s", ""},      // 16 POSIX class, shorthands, an ungreedy repeat
      {"\xc3\xa9+t", "8"},              // 17 UTF-8: the repeat is of the character, not of its last byte
  };
  struct Vector {
    std::string_view payload;
    std::initializer_list<std::size_t> hits;
  };
  using namespace std::string_view_literals;
  static const Vector kVectors[] = {
      {"foo"sv, {0, 1, 2, 3, 4, 5, 6, 14, 15}},
      {"foo\n"sv, {0, 1, 2, 4, 5, 6, 14, 15}},
      {"a foo bar"sv, {0, 4, 5, 6, 14, 15}},
      {"FOO\nbar z"sv, {4, 7, 14}},
      {"f\no zz"sv, {6, 14}},
      {"on 2021-04 the cat sat"sv, {8, 9, 14, 15}},
      {"concatenate 202-04"sv, {14, 15}},
      {"a b ab"sv, {10, 14, 15}},
      {"a b # comment z"sv, {14}},
      {"zababcde colr"sv, {10, 12, 14}},
      {"zabe cdcde the color"sv, {10, 12, 13, 14}},
      {"the colour of R2 zinc"sv, {13, 14, 16}},
      {"z caf\xc3\xa9\xc3\xa9t"sv, {14, 17}},
      {"z"sv, {14}},
  };
  // Payloads that are not UTF-8. The last rule would be undecided on them, so it is left out.
  static const Vector kBinary[] = {
      {"z\x00\xff\x80z"sv, {11, 14}},
      {"z\x00\xff\x90z"sv, {14}},
      {"z\xff foo\x00\n"sv, {0, 4, 5, 6, 14}},
  };
  const auto answer = [&](std::string name, std::size_t count, std::span<const Vector> vectors) {
    auto work = std::make_unique<RegexWork>();
    work->params = params;
    work->stream = params.is("mode", "stream");
    work->all_decided = true;
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto has = [flags = kRules[i].second](char flag) { return flags.find(flag) != std::string_view::npos; };
      work->rules.push_back({i, std::string(kRules[i].first), has('i'), has('s'), has('m'), has('x'), has('8'), has('W')});
    }
    for (const Vector& vector : vectors) {
      Output want;
      want.bytes.resize(2 * regex::bitmap_bytes(count));
      for (const std::size_t rule : vector.hits) regex::set_bit(want.bytes.data(), rule);
      want.result = vector.hits.size();
      work->expected.push_back(std::move(want));
      Bytes payload = bytes_of(vector.payload);
      if (!work->stream) {
        work->items.push_back(block_item(std::move(payload), count));
        continue;
      }
      const std::span<const std::byte> all(payload);
      const std::size_t third = all.size() / 3;
      const std::span<const std::byte> pieces[] = {all.first(third), all.subspan(third, third), all.subspan(2 * third)};
      work->items.push_back(flow_item(pieces, count));
    }
    count_bytes(*work);
    return KnownAnswer{std::move(name), std::move(work)};
  };
  std::vector<KnownAnswer> answers;
  answers.push_back(answer("pcre2pattern(3), rules by hand on text", std::size(kRules), kVectors));
  answers.push_back(answer("pcre2pattern(3), rules by hand on bytes", std::size(kRules) - 1, kBinary));
  return answers;
}

DPUBENCH_OPERATOR(RegexOperator);

}  // namespace
}  // namespace dpubench
