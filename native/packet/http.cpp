#include "packet/http.hpp"

#include <iterator>

#include "packet/url.hpp"

namespace dpubench::packet {

std::string_view next_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::optional<Request> parse_request(std::string_view payload) {
  static constexpr std::string_view kMethods[] = {"GET ", "POST ", "HEAD ", "PUT ", "DELETE ", "OPTIONS ", "PATCH "};
  const bool begins =
      std::any_of(std::begin(kMethods), std::end(kMethods), [&](std::string_view m) { return payload.starts_with(m); });
  if (!begins) return std::nullopt;
  const std::string_view first = next_line(payload);
  const std::size_t from = first.find(' ') + 1;
  const std::size_t to = first.find(' ', from);
  if (to == std::string_view::npos || !first.substr(to + 1).starts_with("HTTP/1.")) return std::nullopt;
  Request request{first.substr(from, to - from), {}};
  while (!payload.empty()) {
    const std::string_view line = next_line(payload);
    if (line.empty()) break;
    constexpr std::size_t kName = 5;
    std::string name(line.substr(0, kName));
    lower(name);
    if (name != "host:") continue;
    request.host = line.substr(kName);
    while (request.host.starts_with(' ')) request.host.remove_prefix(1);
    while (request.host.ends_with(' ')) request.host.remove_suffix(1);
  }
  return request;
}

std::string Requests::normal_form() {
  static constexpr std::string_view kMethods[] = {"GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "CONNECT", "TRACE"};
  std::string_view rest = head_;
  const auto line = [&rest] {
    const std::size_t end = rest.find("\r\n");
    const std::string_view found = rest.substr(0, end);
    rest.remove_prefix(std::min(rest.size(), found.size() + 2));
    return found;
  };
  const std::string_view first = line();
  const std::size_t method = first.find(' ');
  const std::size_t target = method == std::string_view::npos ? method : first.find(' ', method + 1);
  if (target == std::string_view::npos || !first.substr(target + 1).starts_with("HTTP/1.")) return {};
  if (std::find(std::begin(kMethods), std::end(kMethods), first.substr(0, method)) == std::end(kMethods)) return {};
  Url url;
  parse_target(first.substr(method + 1, target - method - 1), url);
  body_ = 0;
  while (!rest.empty()) {
    const std::string_view field = line();
    const std::size_t colon = field.find(':');
    if (colon == std::string_view::npos) continue;
    std::string name(field.substr(0, colon));
    lower(name);
    std::string_view value = field.substr(colon + 1);
    while (value.starts_with(' ')) value.remove_prefix(1);
    if (name == "host") {
      url.host = value;
      lower(url.host);
    } else if (name == "content-length") {
      body_ = 0;
      for (const char c : value.substr(0, 15)) {
        if (c < '0' || c > '9') break;
        body_ = body_ * 10 + static_cast<std::uint64_t>(c - '0');
      }
    }
  }
  std::string normal(first.substr(0, method));
  normal += " " + url.path;
  if (!url.query.empty()) normal += "?" + url.query;
  return normal + "\n" + url.host;
}

}  // namespace dpubench::packet
