// ips: an intrusion prevention system.
// requires: libpcre2-8 >= 10.30
#include <algorithm>
#include <memory>
#include <unordered_map>

#include "applications/application.hpp"
#include "applications/expressions.hpp"
#include "applications/ips/flows.hpp"
#include "applications/ips/literals.hpp"
#include "applications/ips/oracle.hpp"
#include "inputs/capture.hpp"
#include "inputs/file.hpp"
#include "measure/region.hpp"

namespace dpubench::applications {
namespace {

const ApplicationInfo& info() {
  static const ApplicationInfo info{
      .name = "ips",
      .summary =
          "intrusion prevention: connections, TCP streams in order, HTTP requests in normal form, literals and rules, verdicts",
      .definition =
          "Decodes the packets of a capture into connections, puts TCP segments in order, and brings HTTP requests to their "
          "normal form. It searches datagrams, pieces of streams (2048 octets, of which 256 overlap) and requests: first for "
          "all literals at once, then for the rules whose literal was found. A rule whose number is a multiple of 4 drops: the "
          "payload or the requests in which it matched are searched no further. Other rules alert. The output has one line per "
          "connection. A record is a packet. Verified: a slow reference (streams octet by octet, a parser of its own, every "
          "rule interpreted on everything) writes the same.",
      .inputs = {{"capture", "packets"}, {"rules", "rules, `id:/expression/flags`"}},
      .operators = {"regex"},
      .parameters = {},
      .sources = {"RFC 9293 section 3.4", "RFC 9112 section 3", "RFC 3986 section 5.2.4",
                  "Aho and Corasick, Efficient string matching, 1975"},
  };
  return info;
}

/// A detector of rules. It tries a rule only on text that holds the rule's required literal.
class Detector {
 public:
  Detector(const inputs::RuleList& list, std::uint64_t& skipped) : Detector(compiled(list, skipped)) {}

  /// Add the rules that match `text` to the findings. @returns the number of rules tried
  std::uint64_t inspect(std::string_view text, Findings& findings) {
    literals_.find(text, found_);
    std::uint64_t tried = 0;
    for (std::size_t i = 0; i < rules_.size(); ++i) {
      if (!found_[i]) continue;
      ++tried;
      if (!rules_[i]->matches(text)) continue;
      findings.rules.insert(rules_[i]->id());
      findings.drops = findings.drops || rules_[i]->id() % kDropEvery == 0;
    }
    return tried;
  }
  [[nodiscard]] std::size_t rules() const { return rules_.size(); }

 private:
  struct Compiled {
    std::vector<std::unique_ptr<Expression>> rules;
    std::vector<std::string> literals;
  };
  explicit Detector(Compiled compiled) : rules_(std::move(compiled.rules)), literals_(compiled.literals) {}
  static Compiled compiled(const inputs::RuleList& list, std::uint64_t& skipped) {
    Compiled all;
    for (const inputs::Rule& rule : list.rules) {
      auto expression = Expression::compile(rule, true);
      if (expression == nullptr) {
        ++skipped;
        continue;
      }
      all.rules.push_back(std::move(expression));
      all.literals.push_back(required_literal(rule));
    }
    return all;
  }

  std::vector<std::unique_ptr<Expression>> rules_;
  Literals literals_;
  std::vector<bool> found_;
};

class Ips final : public Application {
 public:
  void run(const Task& task) override {
    const inputs::RuleList list = inputs::read_rules(task.file("rules"));
    std::uint64_t skipped = list.skipped.size();
    Detector detector(list, skipped);
    const std::filesystem::path& path = task.file("capture");
    const std::vector<std::byte> file = read_input(path, "capture", task.limit_bytes);
    const inputs::Capture capture = inputs::parse_capture(file, path.string());
    for (const inputs::Packet& packet : capture.packets) {
      measure::next_message();
      ++records;
      take(capture.ip(packet), detector);
    }
    for (const auto& [key, connection] : order_) {
      for (Direction& direction : connection->directions) {
        direction.stream.end([&](std::string_view octets) { take_stream(direction, octets, detector); });
        const auto look = [&](std::string_view text) { inspect(text, direction.in_payload, detector); };
        if (!direction.in_payload.drops) direction.pieces.end(look);
      }
      report(*key, *connection);
    }
    input_bytes = file.size();
    facts["rules"] = detector.rules();
    facts["rules_skipped"] = skipped;
    facts["connections"] = order_.size();
  }

  void verify(const Task& task) const override {
    const std::filesystem::path& path = task.file("capture");
    const inputs::Capture capture = inputs::parse_capture(read_input(path, "capture", task.limit_bytes), path.string());
    const std::string expected = slow_verdicts(capture, inputs::read_rules(task.file("rules")));
    const std::string_view said(reinterpret_cast<const char*>(output.data()), output.size());
    if (said == expected) return;
    const auto differs = std::mismatch(said.begin(), said.end(), expected.begin(), expected.end()).first - said.begin();
    const std::size_t line = said.rfind('\n', static_cast<std::size_t>(differs) - (differs > 0 ? 1 : 0)) + 1;
    throw Error("ips: the application says '" + inputs::excerpt(said.substr(line, said.find('\n', line) - line)) +
                "', but the reference says '" +
                inputs::excerpt(std::string_view(expected).substr(line, expected.find('\n', line) - line)) + "'");
  }

 private:
  void take(std::span<const std::byte> ip, Detector& detector) {
    Decoded packet;
    if (!decode(ip, packet)) {
      ++facts["not_inspected"];
      return;
    }
    const auto [found, is_new] = connections_.try_emplace(packet.key);
    Connection& connection = found->second;
    if (is_new) order_.emplace_back(&found->first, &connection);
    ++connection.packets;
    connection.payload_bytes += packet.payload.size();
    Direction& direction = connection.directions[packet.from_low ? 0 : 1];
    const std::string_view payload = inputs::as_text(packet.payload);
    if (packet.is_tcp) {
      direction.stream.add(packet.sequence, packet.syn, payload,
                           [&](std::string_view octets) { take_stream(direction, octets, detector); });
    } else if (!payload.empty()) {
      inspect(payload, direction.in_payload, detector);
    }
  }

  void take_stream(Direction& direction, std::string_view octets, Detector& detector) {
    const auto look = [&](std::string_view text) { inspect(text, direction.in_payload, detector); };
    if (!direction.in_payload.drops) direction.pieces.add(octets, look);
    const auto look_at_request = [&](std::string_view request) {
      ++facts["requests"];
      inspect(request, direction.in_requests, detector);
    };
    if (!direction.in_requests.drops) direction.requests.add(octets, look_at_request);
  }

  void inspect(std::string_view text, Findings& findings, Detector& detector) {
    if (findings.drops) return;
    facts["inspected"] += 1;
    facts["rules_tried"] += detector.inspect(text, findings);
  }

  void report(const ConnectionKey& key, const Connection& connection) {
    std::set<std::uint32_t> rules;
    bool drops = false;
    for (const Direction& direction : connection.directions) {
      for (const Findings* findings : {&direction.in_payload, &direction.in_requests}) {
        rules.insert(findings->rules.begin(), findings->rules.end());
        drops = drops || findings->drops;
      }
    }
    ++facts[drops ? "dropped" : rules.empty() ? "passed" : "alerted"];
    append(output, connection_line(key, connection.packets, connection.payload_bytes, rules, drops));
  }

  std::unordered_map<ConnectionKey, Connection, HashConnection> connections_;
  std::vector<std::pair<const ConnectionKey*, Connection*>> order_;
};

}  // namespace

DPUBENCH_APPLICATION(info, Ips)

}  // namespace dpubench::applications
