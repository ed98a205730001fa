// What an engine is: one way to carry an operator out. An engine is one file operators/<operator>/<engine>.cpp, built as a
// shared module that the program loads from its own folder; see docs/adding-an-engine.md.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "operators/lane.hpp"
#include "operators/operator.hpp"

namespace dpubench {

/// Raised when anything that a module sees changes; a module built for another value is not loaded.
inline constexpr std::uint32_t kEngineAbi = 4;

struct EngineInfo {
  std::string op;                ///< the operator it carries out
  std::string name;              ///< "portable", "openssl", "dpdk-fib"
  std::string summary;           ///< one line: which routine of which library
  std::string library;           ///< name and version at run time, e.g. "OpenSSL 3.0.19"; empty for portable
  std::uint32_t in_flight = 0;   ///< jobs (items submitted and not yet polled) kept under way by default; 0: a synchronous engine
  bool software_device = false;  ///< a device API whose driver does the work on the CPU
};

/// What actually ran, recorded per point.
struct PathInfo {
  std::string isa;                             ///< "avx512", "sse4.2", "neon", "generic", "chosen by library"
  std::string detail;                          ///< function or driver name
  bool is_hardware = false;                    ///< a device did the work, not the CPU
  std::string driver{};                        ///< of a device API: "crypto_aesni_mb"; else empty
  std::string device{};                        ///< as the driver names it: "0000:03:00.0"; else empty
  std::uint32_t max_in_flight = kMaxInFlight;  ///< jobs that a lane takes before submit() says no; asynchronous engines only
};

/// An engine's state for one work, shared by all threads: tables, expanded keys, compiled rules. Its construction is timed as
/// build time.
class Session {
 public:
  Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  virtual ~Session() = default;
  /// Opens one thread's lane, called on that thread, untimed. @throws Error
  [[nodiscard]] virtual std::unique_ptr<Lane> open() = 0;
  [[nodiscard]] virtual PathInfo path() const = 0;
  /// Bytes of tables or compiled state; 0 where it has none.
  [[nodiscard]] virtual std::size_t memory_bytes() const { return 0; }
};

class Engine {
 public:
  virtual ~Engine() = default;
  [[nodiscard]] virtual const EngineInfo& info() const = 0;
  /// Why it cannot run on this machine (a missing CPU flag, no device); empty if it can.
  [[nodiscard]] virtual std::string unavailable() const { return {}; }
  /// Why it does not do this configuration (no XTS in ipsec-mb); empty if it does.
  [[nodiscard]] virtual std::string unsupported(const Params&) const { return {}; }
  /// Builds what all threads share. `work` outlives the session. @throws Error
  [[nodiscard]] virtual std::unique_ptr<Session> prepare(const Work& work) const = 0;
};

/// Session of engines whose lanes need only the work: `make()` returns a synchronous kernel.
template <class Make>
class KernelSession final : public Session {
 public:
  KernelSession(Make make, PathInfo path) : make_(std::move(make)), path_(std::move(path)) {}
  std::unique_ptr<Lane> open() override {
    auto kernel = make_();
    return std::make_unique<SyncLane<decltype(kernel)>>(std::move(kernel));
  }
  [[nodiscard]] PathInfo path() const override { return path_; }

 private:
  Make make_;
  PathInfo path_;
};

template <class Make>
std::unique_ptr<Session> kernel_session(Make make, PathInfo path) {
  return std::make_unique<KernelSession<Make>>(std::move(make), std::move(path));
}

/// Collects the engines of a module.
class EngineSink {
 public:
  virtual ~EngineSink() = default;
  virtual void add(std::unique_ptr<const Engine> engine) = 0;
};

}  // namespace dpubench

/// The module's only exports: `DPUBENCH_ENGINES(sink) { sink.add(std::make_unique<MyEngine>()); }`
#define DPUBENCH_ENGINES(sink)                                                    \
  extern "C" [[gnu::visibility("default")]] std::uint32_t dpubench_engine_abi() { \
    return ::dpubench::kEngineAbi;                                                \
  }                                                                               \
  extern "C" [[gnu::visibility("default")]] void dpubench_engines([[maybe_unused]] ::dpubench::EngineSink& sink)
