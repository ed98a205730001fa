// Puts one direction of a TCP connection in order, and finds the HTTP requests in it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace dpubench::applications {

/// A stream that puts segments in order. If octets come twice, the first copy counts. When a segment arrives far ahead, the
/// octets missing before it count as lost, and the stream continues behind the gap.
class Stream {
 public:
  static constexpr std::int32_t kAhead =
      1 << 16;  ///< most octets behind a gap that wait for it: a window without scaling (RFC 9293, section 3.1)

  /// Add a segment. @param deliver  called with the octets that are now in order, piece by piece
  template <class Deliver>
  void add(std::uint32_t sequence, bool syn, std::string_view payload, Deliver deliver) {
    if (syn) ++sequence;  // SYN takes a number (RFC 9293, section 3.4)
    if (!begun_) {
      begun_ = true;
      next_ = sequence;
    }
    auto ahead = static_cast<std::int32_t>(sequence - next_);
    if (payload.empty()) return;
    while (ahead > kAhead) {
      // Skip to the first waiting octets, or to this segment if none wait.
      const std::uint64_t behind = delivered_ + static_cast<std::uint32_t>(ahead);
      const std::uint64_t to = waiting_.empty() ? behind : waiting_.begin()->first;
      next_ += static_cast<std::uint32_t>(to - delivered_);
      delivered_ = to;
      deliver_waiting(deliver);
      ahead = static_cast<std::int32_t>(sequence - next_);
    }
    if (ahead < 0) {
      const auto old = static_cast<std::size_t>(-static_cast<std::int64_t>(ahead));
      if (old >= payload.size()) return;
      payload.remove_prefix(old);
      ahead = 0;
    }
    if (ahead == 0 && waiting_.empty()) {
      next_ += static_cast<std::uint32_t>(payload.size());
      delivered_ += payload.size();
      return deliver(payload);
    }
    keep(delivered_ + static_cast<std::uint32_t>(ahead), payload);
    deliver_waiting(deliver);
  }
  /// End the stream: deliver the waiting octets, whatever is missing between them.
  template <class Deliver>
  void end(Deliver deliver) {
    while (!waiting_.empty()) {
      delivered_ = waiting_.begin()->first;
      deliver_waiting(deliver);
    }
  }

 private:
  /// Deliver the waiting octets that are now in order.
  template <class Deliver>
  void deliver_waiting(Deliver& deliver) {
    for (auto first = waiting_.begin(); first != waiting_.end() && first->first == delivered_; first = waiting_.begin()) {
      next_ += static_cast<std::uint32_t>(first->second.size());
      delivered_ += first->second.size();
      deliver(std::string_view(first->second));
      waiting_.erase(first);
    }
  }
  /// Keep the octets that do not wait yet. @param at  place in the stream, with missing octets counted
  void keep(std::uint64_t at, std::string_view payload);

  bool begun_ = false;
  std::uint32_t next_ = 0;                        ///< sequence number of the next octet in order
  std::uint64_t delivered_ = 0;                   ///< place behind the last delivered octet
  std::map<std::uint64_t, std::string> waiting_;  ///< disjoint, by place
};

/// A cutter of a stream into overlapping pieces. A text across a border lies whole in one of the two pieces.
class Pieces {
 public:
  static constexpr std::size_t kPiece = 2048;
  static constexpr std::size_t kOverlap = 256;
  /// @param inspect  called with each whole piece
  template <class Inspect>
  void add(std::string_view octets, Inspect inspect) {
    while (!octets.empty()) {
      const std::size_t taken = std::min(octets.size(), kPiece - text_.size());
      text_.append(octets.substr(0, taken));
      octets.remove_prefix(taken);
      is_new_ = true;
      if (text_.size() < kPiece) return;
      inspect(std::string_view(text_));
      text_.erase(0, kPiece - kOverlap);
      is_new_ = false;
    }
  }
  /// Inspect the last piece if it holds more than the overlap with the piece before.
  template <class Inspect>
  void end(Inspect inspect) const {
    if (is_new_) inspect(std::string_view(text_));
  }

 private:
  std::string text_;
  bool is_new_ = false;
};

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

}  // namespace dpubench::applications
