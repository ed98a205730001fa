// HTTP requests (RFC 9112): in a segment, and one after the other in a stream.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dpubench::packet {

/// Cut the first line off a text and return it without its end.
std::string_view next_line(std::string_view& text);

/// An HTTP request at the beginning of a segment's payload.
struct Request {
  std::string_view target;
  std::string_view host;
};
/// Return the request that begins a payload, or nothing when none does.
std::optional<Request> parse_request(std::string_view payload);

/// A reader of the HTTP requests that follow each other from the beginning of a stream. It stops at anything else.
class Requests {
 public:
  static constexpr std::size_t kMostHead = 8192;
  /// @param inspect  called with the normal form of each request: method, decoded path and query without detours, then host
  template <class Inspect>
  void add(std::string_view octets, Inspect inspect) {
    while (!octets.empty() && !is_over_) {
      const std::size_t body = static_cast<std::size_t>(std::min<std::uint64_t>(body_, octets.size()));
      body_ -= body;
      octets.remove_prefix(body);
      if (octets.empty()) return;
      const std::size_t before = head_.size();
      const std::size_t taken = std::min(octets.size(), kMostHead - before);
      head_.append(octets.substr(0, taken));
      const std::size_t end = head_.find("\r\n\r\n", before < 3 ? 0 : before - 3);
      if (end == std::string::npos) {
        is_over_ = head_.size() == kMostHead;
        octets.remove_prefix(taken);
        continue;
      }
      octets.remove_prefix(end + 4 - before);
      head_.resize(end + 2);
      const std::string normal = normal_form();
      is_over_ = normal.empty();
      if (!is_over_) inspect(std::string_view(normal));
      head_.clear();
    }
  }

 private:
  /// Return the normal form of the request in `head_` and set `body_` to the length of its body. Empty if it is no request.
  std::string normal_form();

  bool is_over_ = false;
  std::uint64_t body_ = 0;  ///< octets of a body that are still to come
  std::string head_;
};

}  // namespace dpubench::packet
