// The oracle of url-filter: a second parser of URLs, which shares nothing with the first one.
#pragma once

#include <optional>
#include <string>

namespace dpubench::applications {

struct SlowUrl {
  std::string host;
  std::string subject;
};

/// Return the parts of a URL that decide, or nothing when `text` is no URL.
std::optional<SlowUrl> slow_parse(const std::string& text);

}  // namespace dpubench::applications
