#include "applications/url-filter/oracle.hpp"

#include <algorithm>
#include <cctype>
#include <vector>

namespace dpubench::applications {

namespace {

std::string slow_decoded(const std::string& text) {
  std::string decoded = text;
  for (std::size_t at = decoded.find('%'); at != std::string::npos; at = decoded.find('%', at + 1)) {
    const std::string digits = decoded.substr(at + 1, 2);
    if (digits.size() == 2 && digits.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos)
      decoded.replace(at, 3, 1, static_cast<char>(std::stoi(digits, nullptr, 16)));
  }
  return decoded;
}

std::string slow_path(const std::string& text) {
  std::vector<std::string> segments;
  std::string path = slow_decoded(text) + "/";
  bool is_folder = true;
  for (std::size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/')) {
    const std::string segment = path.substr(0, slash);
    path.erase(0, slash + 1);
    is_folder = segment.empty() || segment == "." || segment == "..";
    if (segment == "..") {
      if (!segments.empty()) segments.pop_back();
    } else if (!segment.empty() && segment != ".") {
      segments.push_back(segment);
    }
  }
  std::string normal;
  for (const std::string& segment : segments) normal += "/" + segment;
  return is_folder || segments.empty() ? normal + "/" : normal;
}

std::string small(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(c < 128 ? std::tolower(c) : c); });
  return text;
}

}  // namespace

std::optional<SlowUrl> slow_parse(const std::string& text) {
  const std::size_t colon = text.find("://");
  if (colon == std::string::npos || colon == 0) return std::nullopt;
  const std::string scheme = small(text.substr(0, colon));
  if (scheme.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789+-.") != std::string::npos || std::isalpha(scheme[0]) == 0)
    return std::nullopt;
  const std::string rest = text.substr(colon + 3);
  std::size_t end = 0;
  while (end < rest.size() && rest[end] != '/' && rest[end] != '?' && rest[end] != '#') ++end;
  std::string host = rest.substr(0, end);
  if (host.find('@') != std::string::npos) host = host.substr(host.rfind('@') + 1);
  const std::size_t after = host.find(']') == std::string::npos ? 0 : host.find(']');
  if (const std::size_t port = host.find(':', after); port != std::string::npos) {
    const std::string digits = host.substr(port + 1);
    const std::string significant = digits.substr(std::min(digits.find_first_not_of('0'), digits.size()));
    if (digits.find_first_not_of("0123456789") != std::string::npos || significant.size() > 5 ||
        (!significant.empty() && std::stoul(significant) > 65535))
      return std::nullopt;
    host = host.substr(0, port);
  }
  host = small(slow_decoded(host));
  if (!host.empty() && host[host.size() - 1] == '.') host = host.substr(0, host.size() - 1);
  if (host.empty()) return std::nullopt;
  std::string path = rest.substr(end);
  path = path.substr(0, path.find('#'));
  std::string query = path.find('?') == std::string::npos ? "" : path.substr(path.find('?') + 1);
  for (char& c : query) c = c == '+' ? ' ' : c;
  query = slow_decoded(query);
  const std::string normal = slow_path(path.substr(0, path.find('?')));
  return SlowUrl{host, query.empty() ? normal : normal + "?" + query};
}

}  // namespace dpubench::applications
