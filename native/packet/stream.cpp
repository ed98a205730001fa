#include "packet/stream.hpp"

#include <algorithm>

namespace dpubench::packet {

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

}  // namespace dpubench::packet
