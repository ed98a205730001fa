#include "applications/ips/oracle.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <vector>

#include "applications/expressions.hpp"
#include "applications/ips/flows.hpp"

namespace dpubench::applications {

namespace {

/// The octets of one direction by their place.
struct SlowStream {
  bool begun = false;
  std::uint32_t first = 0;
  std::map<std::int64_t, char> octets;
  std::int64_t end = 0;  ///< all octets before it have arrived or are lost

  void add(const Decoded& packet) {
    const std::uint32_t sequence = packet.sequence + (packet.syn ? 1 : 0);
    if (!begun) first = sequence;
    begun = true;
    if (packet.payload.empty()) return;
    const auto begin = end + static_cast<std::int32_t>(sequence - (first + static_cast<std::uint32_t>(end)));
    while (begin - end > packet::Stream::kAhead) {
      const auto there = octets.lower_bound(end);
      end = there == octets.end() ? begin : there->first;
      while (octets.contains(end)) ++end;
    }
    for (std::size_t i = 0; i < packet.payload.size(); ++i) {
      const std::int64_t place = begin + static_cast<std::int64_t>(i);
      if (place >= end) octets.emplace(place, static_cast<char>(packet.payload[i]));
    }
    while (octets.contains(end)) ++end;
  }
  [[nodiscard]] std::string text() const {
    std::string all;
    for (const auto& [place, octet] : octets) all += octet;
    return all;
  }
};

std::string slow_decoded(std::string text) {
  for (std::size_t at = 0; at + 2 < text.size(); ++at) {
    if (text[at] == '%' && std::isxdigit(static_cast<unsigned char>(text[at + 1])) != 0 &&
        std::isxdigit(static_cast<unsigned char>(text[at + 2])) != 0)
      text = text.substr(0, at) + static_cast<char>(std::stoi(text.substr(at + 1, 2), nullptr, 16)) + text.substr(at + 3);
  }
  return text;
}

std::string slow_path(const std::string& given) {
  std::string path = "/" + slow_decoded(given);
  const auto replace_all = [&path](const std::string& what, const std::string& by) {
    for (std::size_t at = path.find(what); at != std::string::npos; at = path.find(what)) path.replace(at, what.size(), by);
  };
  replace_all("//", "/");
  replace_all("/./", "/");
  if (path.ends_with("/.")) path.pop_back();
  if (path.ends_with("/..")) path += "/";
  for (std::size_t at = path.find("/../"); at != std::string::npos; at = path.find("/../")) {
    const std::size_t before = at == 0 ? 0 : path.rfind('/', at - 1);
    path = path.substr(0, before) + path.substr(at + 3);
  }
  return path;
}

std::string small(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  return text;
}

std::vector<std::string> lines_of(const std::string& head) {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  for (std::size_t end = head.find("\r\n"); end != std::string::npos; end = head.find("\r\n", begin)) {
    lines.push_back(head.substr(begin, end - begin));
    begin = end + 2;
  }
  if (begin < head.size()) lines.push_back(head.substr(begin));
  return lines;
}

/// Return the normal forms of the requests at the beginning of a stream.
std::vector<std::string> slow_requests(const std::string& stream) {
  static const std::set<std::string> kMethods = {"GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "CONNECT", "TRACE"};
  std::vector<std::string> all;
  std::size_t at = 0;
  while (at < stream.size()) {
    const std::size_t end = stream.find("\r\n\r\n", at);
    if (end == std::string::npos || end + 4 - at > packet::Requests::kMostHead) break;
    const std::vector<std::string> lines = lines_of(stream.substr(at, end - at));
    if (lines.empty()) break;
    const std::string& first = lines.front();
    const std::size_t one = first.find(' ');
    const std::size_t two = one == std::string::npos ? one : first.find(' ', one + 1);
    if (two == std::string::npos || first.compare(two + 1, 7, "HTTP/1.") != 0 || !kMethods.contains(first.substr(0, one))) break;
    std::string host;
    std::uint64_t body = 0;
    for (std::size_t i = 1; i < lines.size(); ++i) {
      const std::size_t colon = lines[i].find(':');
      if (colon == std::string::npos) continue;
      std::string value = lines[i].substr(colon + 1);
      value.erase(0, std::min(value.find_first_not_of(' '), value.size()));
      const std::string name = small(lines[i].substr(0, colon));
      if (name == "host") host = small(value);
      if (name == "content-length") {
        const std::string digits = value.substr(0, std::min<std::size_t>(value.find_first_not_of("0123456789"), 15));
        body = 0;
        for (const char c : digits) body = body * 10 + static_cast<std::uint64_t>(c - '0');
      }
    }
    std::string target = first.substr(one + 1, two - one - 1);
    target = target.substr(0, target.find('#'));
    std::string query = target.find('?') == std::string::npos ? "" : target.substr(target.find('?') + 1);
    std::replace(query.begin(), query.end(), '+', ' ');
    query = slow_decoded(query);
    all.push_back(first.substr(0, one) + " " + slow_path(target.substr(0, target.find('?'))) +
                  (query.empty() ? "" : "?" + query) + "\n" + host);
    at = body > stream.size() ? stream.size() : end + 4 + static_cast<std::size_t>(body);
  }
  return all;
}

std::vector<std::string> pieces_of(const std::string& stream) {
  std::vector<std::string> all;
  for (std::size_t at = 0; at < stream.size(); at += packet::Pieces::kPiece - packet::Pieces::kOverlap) {
    if (at != 0 && stream.size() - at <= packet::Pieces::kOverlap) break;  // it holds nothing new
    all.push_back(stream.substr(at, packet::Pieces::kPiece));
  }
  return all;
}

class SlowRules {
 public:
  explicit SlowRules(const inputs::RuleList& list) : all_(compile_all(list.rules, false, skipped_)) {}
  void inspect(const std::vector<std::string>& texts, Findings& findings) {
    for (const std::string& text : texts) {
      if (findings.drops) return;
      for (const std::uint32_t rule : matching(text)) {
        findings.rules.insert(rule);
        findings.drops = findings.drops || rule % kDropEvery == 0;
      }
    }
  }

 private:
  /// Return the rules that match a text. The result is cached, because captures repeat the same texts many times.
  const std::set<std::uint32_t>& matching(const std::string& text) {
    const auto [known, is_new] = known_.try_emplace(text);
    if (is_new) {
      for (const auto& rule : all_) {
        if (rule->matches(text)) known->second.insert(rule->id());
      }
    }
    return known->second;
  }
  std::uint64_t skipped_ = 0;
  std::vector<std::unique_ptr<Expression>> all_;
  std::map<std::string, std::set<std::uint32_t>> known_;
};

struct SlowConnection {
  std::array<SlowStream, 2> streams;
  std::array<std::vector<std::string>, 2> datagrams;
  std::uint64_t packets = 0;
  std::uint64_t payload_bytes = 0;
};

}  // namespace

std::string slow_verdicts(const inputs::Capture& capture, const inputs::RuleList& rules) {
  std::map<ConnectionKey, SlowConnection> connections;
  std::vector<ConnectionKey> order;
  for (const inputs::Packet& packet : capture.packets) {
    Decoded decoded;
    if (!decode(capture.ip(packet), decoded)) continue;
    const auto [found, is_new] = connections.try_emplace(decoded.key);
    if (is_new) order.push_back(decoded.key);
    SlowConnection& connection = found->second;
    ++connection.packets;
    connection.payload_bytes += decoded.payload.size();
    const std::size_t side = decoded.from_low ? 0 : 1;
    if (decoded.is_tcp) {
      connection.streams[side].add(decoded);
    } else if (!decoded.payload.empty()) {
      connection.datagrams[side].emplace_back(reinterpret_cast<const char*>(decoded.payload.data()), decoded.payload.size());
    }
  }
  SlowRules slow(rules);
  std::string said;
  for (const ConnectionKey& key : order) {
    const SlowConnection& connection = connections.at(key);
    std::set<std::uint32_t> met;
    bool drops = false;
    for (std::size_t side = 0; side < 2; ++side) {
      const std::string stream = connection.streams[side].text();
      for (const auto& texts : {connection.datagrams[side], pieces_of(stream), slow_requests(stream)}) {
        Findings findings;
        slow.inspect(texts, findings);
        met.insert(findings.rules.begin(), findings.rules.end());
        drops = drops || findings.drops;
      }
    }
    said += connection_line(key, connection.packets, connection.payload_bytes, met, drops);
  }
  return said;
}

}  // namespace dpubench::applications
