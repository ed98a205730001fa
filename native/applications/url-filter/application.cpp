// url-filter: checks URLs, or the HTTP requests of a capture, against lists of domains and rules.
// requires: libpcre2-8 >= 10.30
#include <algorithm>
#include <memory>
#include <set>
#include <unordered_set>

#include "applications/application.hpp"
#include "applications/expressions.hpp"
#include "applications/url-filter/oracle.hpp"
#include "inputs/capture.hpp"
#include "inputs/file.hpp"
#include "measure/region.hpp"
#include "packet/headers.hpp"
#include "packet/http.hpp"
#include "packet/ip.hpp"
#include "packet/url.hpp"

namespace dpubench::applications {
namespace {

const ApplicationInfo& info() {
  static const ApplicationInfo info{
      .name = "url-filter",
      .summary = "URLs or HTTP requests: parsed, decoded, looked up by domain suffix, matched against rules",
      .definition =
          "Reads URLs line by line, or the HTTP requests that begin in a TCP segment of a capture. Each is parsed, decoded and "
          "brought to its normal form. Its host and every suffix of the host are looked up in a list of domains. Path and query "
          "are matched against rules. Without a list of domains, every eighth host of the input, by its hash, is blocked. The "
          "output has the decision on each URL and the reason. A record is a URL or request. Verified: a slow reference, with a "
          "parser of its own, an ordered set and interpreted rules, decides the same.",
      .inputs = {{"corpus", "URLs, one per line", false, {"source", "list"}},
                 {"capture", "packets with HTTP requests", false, {"source", "requests"}},
                 {"domains", "blocked domains, one per line; `#` begins a comment", true},
                 {"rules", "rules for path and query; a rule that matches blocks the URL"}},
      .operators = {"regex"},
      .parameters = {{.name = "source",
                      .summary = "where URLs come from: lines of a file, or HTTP requests",
                      .values = {"list", "requests"},
                      .default_value = "list",
                      .is_mode = true,
                      .unit = {}}},
      .sources = {"RFC 3986 sections 2.1, 3 and 5.2.4", "RFC 9112 sections 3 and 3.2"},
  };
  return info;
}

constexpr std::uint32_t kShare = 8;

/// Return the FNV-1a hash of a text.
std::uint32_t hash_of(std::string_view text) {
  std::uint32_t hash = 0x811c9dc5;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x01000193U;
  return hash;
}
bool is_drawn(std::string_view host) {
  return (hash_of(host) >> 8) % kShare == 0;
}

/// A set of domains. It tells whether a host is one of them or lies below one.
class Domains {
 public:
  void add(std::string_view domain) { names_.emplace(domain); }
  /// Return the domain that blocks the host, or an empty text.
  [[nodiscard]] std::string_view find(std::string_view host) const {
    while (true) {
      if (const auto found = names_.find(host); found != names_.end()) return *found;
      const std::size_t dot = host.find('.');
      if (dot == std::string_view::npos) return {};
      host.remove_prefix(dot + 1);
    }
  }
  [[nodiscard]] std::size_t size() const { return names_.size(); }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return hash_of(text); }
  };
  std::unordered_set<std::string, Hash, std::equal_to<>> names_;
};

/// Call `each` with the text of every URL of the task. @returns the bytes of the input file
template <class Each>
std::uint64_t for_each_url(const Task& task, Each each) {
  if (task.params.is("source", "list")) {
    const std::filesystem::path& path = task.file("corpus");
    const std::vector<std::byte> file = read_input(path, "corpus", task.limit_bytes);
    std::string_view text = inputs::as_text(file);
    while (!text.empty()) {
      if (const std::string_view line = packet::next_line(text); !line.empty()) each(line);
    }
    return file.size();
  }
  const std::filesystem::path& path = task.file("capture");
  const std::vector<std::byte> file = read_input(path, "capture", task.limit_bytes);
  const inputs::Capture capture = inputs::parse_capture(file, path.string());
  std::string url;
  for (const inputs::Packet& packet : capture.packets) {
    packet::Transport transport;
    const auto ip = capture.ip(packet);
    if (!packet::find_transport(ip, transport) || transport.protocol != packet::protocol::kTcp ||
        transport.end <= transport.payload)
      continue;
    const auto request = packet::parse_request(inputs::as_text(ip.subspan(transport.payload, transport.end - transport.payload)));
    if (!request) continue;
    // RFC 9112, section 3.3: a target in absolute form is the whole URL. Otherwise the field Host completes it.
    url = request->target.starts_with('/') ? "http://" + std::string(request->host) + std::string(request->target)
                                           : std::string(request->target);
    each(url);
  }
  return file.size();
}

std::vector<std::string> read_domains(const Task& task) {
  std::vector<std::string> domains;
  const std::vector<std::byte> file = inputs::read_file(task.file("domains"), "domains");
  std::string_view text = inputs::as_text(file);
  while (!text.empty()) {
    std::string domain(packet::next_line(text));
    domain = domain.substr(0, domain.find('#'));
    while (domain.ends_with(' ') || domain.ends_with('.')) domain.pop_back();
    packet::lower(domain);
    if (!domain.empty()) domains.push_back(domain);
  }
  return domains;
}

class UrlFilter final : public Application {
 public:
  void run(const Task& task) override {
    Domains domains;
    if (task.has("domains")) {
      for (const std::string& domain : read_domains(task)) domains.add(domain);
    } else {
      packet::Url url;
      for_each_url(task, [&](std::string_view text) {
        if (packet::parse_url(text, url) && is_drawn(url.host)) domains.add(url.host);
      });
    }
    const inputs::RuleList list = inputs::read_rules(task.file("rules"));
    std::uint64_t skipped = 0;
    const auto rules = compile_all(list.rules, true, skipped);
    packet::Url url;
    std::string subject;
    input_bytes = for_each_url(task, [&](std::string_view text) {
      measure::next_message();
      ++records;
      append(output, decide(text, domains, rules, url, subject));
    });
    facts["domains"] = domains.size();
    facts["rules"] = rules.size();
    facts["rules_skipped"] = skipped + list.skipped.size();
  }

  void verify(const Task& task) const override;

 private:
  std::string decide(std::string_view text, const Domains& domains, const std::vector<std::unique_ptr<Expression>>& rules,
                     packet::Url& url, std::string& subject) {
    if (!packet::parse_url(text, url)) {
      ++facts["not_urls"];
      return "refused no URL\n";
    }
    if (const std::string_view domain = domains.find(url.host); !domain.empty()) {
      ++facts["blocked_by_domain"];
      return "blocked " + std::string(domain) + "\n";
    }
    subject = url.path;
    if (!url.query.empty()) subject += "?" + url.query;
    for (const auto& rule : rules) {
      if (!rule->matches(subject)) continue;
      ++facts["blocked_by_rule"];
      return "blocked rule " + std::to_string(rule->id()) + "\n";
    }
    ++facts["passed"];
    return "passed " + url.host + subject + "\n";
  }
};

void UrlFilter::verify(const Task& task) const {
  std::set<std::string> domains;
  if (task.has("domains")) {
    for (const std::string& domain : read_domains(task)) domains.insert(domain);
  } else {
    for_each_url(task, [&](std::string_view text) {
      const auto url = slow_parse(std::string(text));
      if (url && is_drawn(url->host)) domains.insert(url->host);
    });
  }
  const inputs::RuleList list = inputs::read_rules(task.file("rules"));
  std::uint64_t skipped = 0;
  const auto rules = compile_all(list.rules, false, skipped);
  std::string_view said(reinterpret_cast<const char*>(output.data()), output.size());
  std::uint64_t number = 0;
  for_each_url(task, [&](std::string_view text) {
    ++number;
    const auto url = slow_parse(std::string(text));
    std::string expected = "refused no URL";
    if (url) {
      expected = "passed " + url->host + url->subject;
      for (auto rule = rules.rbegin(); rule != rules.rend(); ++rule) {
        if ((*rule)->matches(url->subject)) expected = "blocked rule " + std::to_string((*rule)->id());
      }
      // The loop tries longer suffixes of the host later, so the longest listed suffix counts.
      for (std::size_t dot = url->host.size(); dot != std::string::npos; dot = dot == 0 ? std::string::npos : dot - 1) {
        if (dot != 0 && url->host[dot - 1] != '.') continue;
        if (const std::string suffix = url->host.substr(dot); domains.contains(suffix)) expected = "blocked " + suffix;
      }
    }
    // A decoded octet may be a line feed, so the output cannot be split into lines.
    if (!said.starts_with(expected + "\n")) {
      throw Error("url-filter: for URL " + std::to_string(number) + " the application says '" +
                  inputs::excerpt(said.substr(0, said.find('\n'))) + "', but the reference says '" + inputs::excerpt(expected) +
                  "'");
    }
    said.remove_prefix(expected.size() + 1);
  });
  if (!said.empty()) throw Error("url-filter: the output has more lines than there are URLs");
}

}  // namespace

DPUBENCH_APPLICATION(info, UrlFilter)

}  // namespace dpubench::applications
