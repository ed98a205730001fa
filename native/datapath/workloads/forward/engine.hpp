// The interface of those engines of the stage `swap` that need a library which may be missing. Each is a module that uses
// DPUBENCH_STAGE_ENGINE. The engine `portable` is part of the workload.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "datapath/stages/modules.hpp"
#include "datapath/workloads/workload.hpp"

namespace dpubench::datapath::forward {

/// Version of the interface. Raise it when anything that a module sees changes.
inline constexpr std::uint32_t kSwapEngineAbi = 2;
inline constexpr const char* kStage = "swap";

class SwapEngine {
 public:
  virtual ~SwapEngine() = default;
  [[nodiscard]] virtual const char* name() const = 0;
  [[nodiscard]] virtual const char* summary() const = 0;
  /// Return the kind of port whose packets it answers before a loop sees them.
  [[nodiscard]] virtual const char* port() const = 0;
  /// Return why it cannot run on this machine, or an empty string if it can. Cheap.
  [[nodiscard]] virtual std::string unavailable() const { return {}; }
  /// Return why it does not do this, and what to do, or an empty string if it does.
  [[nodiscard]] virtual std::string unsupported(const Setting&) const { return {}; }
  /// Verify the engine and put it to work. @throws Error
  [[nodiscard]] virtual std::unique_ptr<Pipeline> open(const Setting& setting) const = 0;
};

}  // namespace dpubench::datapath::forward

#define DPUBENCH_STAGE_ENGINE(Type) \
  DPUBENCH_STAGE_MODULE(::dpubench::datapath::forward::kSwapEngineAbi, ::dpubench::datapath::forward::SwapEngine, Type)
