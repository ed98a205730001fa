// What an end is doing.
#pragma once

#include <functional>
#include <string_view>
#include <utility>

namespace dpubench::link {

/// The phase of an end: "prepare", "verify" or "measure".
class Phase {
 public:
  static constexpr std::string_view kPrepare = "prepare";

  /// @param tell  called with each phase that begins, except for the first. A server has none: it would tell while a client
  /// times.
  explicit Phase(std::function<void(std::string_view)> tell = {}) : tell_(std::move(tell)) {}
  void enter(std::string_view name) {
    name_ = name;
    if (tell_) tell_(name);
  }
  [[nodiscard]] std::string_view name() const { return name_; }

 private:
  std::string_view name_ = kPrepare;
  std::function<void(std::string_view)> tell_;
};

}  // namespace dpubench::link
