#include "packet/stream.hpp"

#include <algorithm>

#include "packet/url.hpp"

namespace dpubench::applications {

void Stream::keep(std::uint64_t at, std::string_view payload) {
  auto after = waiting_.upper_bound(at);
  if (after != waiting_.begin()) {
    const auto before = std::prev(after);
    const std::uint64_t end = before->first + before->second.size();
    if (end > at) {
      const auto known = static_cast<std::size_t>(std::min<std::uint64_t>(end - at, payload.size()));
      payload.remove_prefix(known);
      at += known;
    }
  }
  while (!payload.empty()) {
    after = waiting_.lower_bound(at);
    const std::size_t room = after == waiting_.end()
                                 ? payload.size()
                                 : static_cast<std::size_t>(std::min<std::uint64_t>(after->first - at, payload.size()));
    if (room > 0) waiting_.emplace(at, payload.substr(0, room));
    std::size_t passed = room;
    if (after != waiting_.end() && room < payload.size()) passed += std::min(after->second.size(), payload.size() - room);
    payload.remove_prefix(passed);
    at += passed;
  }
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

}  // namespace dpubench::applications
