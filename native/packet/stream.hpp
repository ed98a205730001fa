// Puts one direction of a TCP connection in order, and cuts it into pieces to search.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace dpubench::packet {

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

}  // namespace dpubench::packet
