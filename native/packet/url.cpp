#include "packet/url.hpp"

#include <algorithm>

namespace dpubench::packet {

namespace {

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// Read host and port from an authority. @returns false when the port is invalid or the host is empty
bool parse_authority(std::string_view authority, Url& into) {
  if (const std::size_t user = authority.rfind('@'); user != std::string_view::npos) authority.remove_prefix(user + 1);
  const std::size_t bracket = authority.find(']');  // an IPv6 address contains colons
  const std::size_t colon = authority.find(':', bracket == std::string_view::npos ? 0 : bracket);
  into.port = 0;
  if (colon != std::string_view::npos) {
    for (const char c : authority.substr(colon + 1)) {
      if (c < '0' || c > '9') return false;
      into.port = into.port * 10 + static_cast<std::uint32_t>(c - '0');
      if (into.port > 65535) return false;
    }
    authority = authority.substr(0, colon);
  }
  into.host = percent_decoded(authority);
  lower(into.host);
  if (!into.host.empty() && into.host.back() == '.') into.host.pop_back();
  return !into.host.empty();
}

}  // namespace

std::string percent_decoded(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '%' && i + 2 < text.size() ? digit_of(text[i + 1]) : -1;
    const int low = high >= 0 ? digit_of(text[i + 2]) : -1;
    if (low >= 0) {
      decoded += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      decoded += text[i];
    }
  }
  return decoded;
}

std::string normal_path(std::string_view path) {
  const std::string decoded = percent_decoded(path);
  std::string normal = "/";
  std::size_t at = 0;
  while (at < decoded.size()) {
    const std::size_t end = std::min(decoded.find('/', at), decoded.size());
    const std::string_view segment = std::string_view(decoded).substr(at, end - at);
    at = end + 1;
    if (segment.empty() || segment == ".") continue;
    if (segment == "..") {
      if (normal.size() > 1) normal.erase(normal.rfind('/', normal.size() - 2) + 1);
      continue;
    }
    normal += segment;
    if (end < decoded.size()) normal += '/';
  }
  return normal;
}

void lower(std::string& text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
}

void parse_target(std::string_view target, Url& into) {
  target = target.substr(0, target.find('#'));
  const std::size_t question = target.find('?');
  into.path = normal_path(target.substr(0, question));
  into.query.clear();
  if (question == std::string_view::npos) return;
  std::string query(target.substr(question + 1));
  std::replace(query.begin(), query.end(), '+', ' ');
  into.query = percent_decoded(query);
}

bool parse_url(std::string_view text, Url& into) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0 || !is_letter(text[0]) || text.substr(colon, 3) != "://") return false;
  into.scheme = text.substr(0, colon);
  for (const char c : into.scheme) {
    if (!is_letter(c) && (c < '0' || c > '9') && c != '+' && c != '-' && c != '.') return false;
  }
  lower(into.scheme);
  const std::string_view rest = text.substr(colon + 3);
  const std::size_t end = std::min(rest.find_first_of("/?#"), rest.size());
  if (!parse_authority(rest.substr(0, end), into)) return false;
  parse_target(rest.substr(end), into);
  return true;
}

}  // namespace dpubench::packet
