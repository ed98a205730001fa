// What an engine of the stage `swap` is that needs a library which may be missing: a module of its own with
// DPUBENCH_STAGE_ENGINE. The engine `portable` is the workload's own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "datapath/workloads/stage_modules.hpp"
#include "datapath/workloads/workload.hpp"

namespace dpubench::datapath::forward {

/// Raised when anything that a module sees changes.
inline constexpr std::uint32_t kSwapEngineAbi = 2;
inline constexpr const char* kStage = "swap";

class SwapEngine {
 public:
  virtual ~SwapEngine() = default;
  [[nodiscard]] virtual const char* name() const = 0;
  [[nodiscard]] virtual const char* summary() const = 0;
  /// The kind of port whose packets it answers before a loop sees them.
  [[nodiscard]] virtual const char* port() const = 0;
  /// Why it cannot run on this machine; empty if it can. Cheap.
  [[nodiscard]] virtual std::string unavailable() const { return {}; }
  /// Why it does not do this, and what to do; empty if it does.
  [[nodiscard]] virtual std::string unsupported(const Setting&) const { return {}; }
  /// Verified, and at work from here on. @throws Error
  [[nodiscard]] virtual std::unique_ptr<Pipeline> open(const Setting& setting) const = 0;
};

}  // namespace dpubench::datapath::forward

#define DPUBENCH_STAGE_ENGINE(Type) \
  DPUBENCH_STAGE_MODULE(::dpubench::datapath::forward::kSwapEngineAbi, ::dpubench::datapath::forward::SwapEngine, Type)
