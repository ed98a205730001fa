// Frame of the bare loops: the most direct way to call a library on a burst, to measure the engines against. A bare loop checks
// nothing that it need not check for its output to be right, and shares no code with the engine that it is compared with.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "timed_loop.hpp"

namespace dpubench::bare {

/// An engine of two functions: one makes its session, the other says which parameters it does not take (as Engine::unsupported).
class Loop final : public Engine {
 public:
  using Prepare = std::function<std::unique_ptr<Session>(const Work&)>;
  using Unsupported = std::function<std::string(const Params&)>;
  Loop(std::string op, std::string name, Prepare prepare, Unsupported unsupported = {})
      : info_{std::move(op), std::move(name), "bare loop over the library's calls", ""},
        prepare_(std::move(prepare)),
        unsupported_(std::move(unsupported)) {}

  [[nodiscard]] const EngineInfo& info() const override { return info_; }
  [[nodiscard]] std::string unsupported(const Params& params) const override { return unsupported_ ? unsupported_(params) : ""; }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& work) const override { return prepare_(work); }

 private:
  EngineInfo info_;
  Prepare prepare_;
  Unsupported unsupported_;
};

}  // namespace dpubench::bare
