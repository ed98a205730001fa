// The interface of an engine: one way to carry out an operator. An engine is one file operators/<operator>/<engine>.cpp, built as
// a shared module that the program loads from its own folder; see docs/adding-an-engine.md.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "operators/lane.hpp"
#include "operators/operator.hpp"

namespace dpubench {

/// The version of the interface between program and modules. Raise it when anything that a module sees changes: the program does
/// not load a module built for another value.
inline constexpr std::uint32_t kEngineAbi = 4;

struct EngineInfo {
  std::string op;                ///< the operator it carries out
  std::string name;              ///< "portable", "openssl", "dpdk-fib"
  std::string summary;           ///< one line: which routine of which library
  std::string library;           ///< name and version at run time, e.g. "OpenSSL 3.0.19"; empty for portable
  std::uint32_t in_flight = 0;   ///< default jobs under way (items submitted and not yet polled); 0: a synchronous engine
  bool software_device = false;  ///< a device API whose driver does the work on the CPU
};

/// The code or device that actually ran, recorded per point.
struct PathInfo {
  std::string isa;                             ///< "avx512", "sse4.2", "neon", "generic", "chosen by library"
  std::string detail;                          ///< function or driver name
  bool is_hardware = false;                    ///< a device did the work, not the CPU
  std::string driver{};                        ///< driver of a device API: "crypto_aesni_mb"; else empty
  std::string device{};                        ///< name that the driver gives the device: "0000:03:00.0"; else empty
  std::uint32_t max_in_flight = kMaxInFlight;  ///< most jobs under way in a lane; asynchronous engines only
};

/// An engine's state for one work, shared by all threads: tables, expanded keys, compiled rules. The time of its construction is
/// the build time.
class Session {
 public:
  Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  virtual ~Session() = default;
  /// Open one thread's lane. Called on that thread, untimed. @throws Error
  [[nodiscard]] virtual std::unique_ptr<Lane> open() = 0;
  [[nodiscard]] virtual PathInfo path() const = 0;
  /// Return the bytes of tables or compiled state, or 0 if there are none.
  [[nodiscard]] virtual std::size_t memory_bytes() const { return 0; }
};

class Engine {
 public:
  virtual ~Engine() = default;
  [[nodiscard]] virtual const EngineInfo& info() const = 0;
  /// Return why the engine cannot run on this machine (a missing CPU flag, no device), or an empty string.
  [[nodiscard]] virtual std::string unavailable() const { return {}; }
  /// Return why the engine does not do this configuration (no XTS in ipsec-mb), or an empty string.
  [[nodiscard]] virtual std::string unsupported(const Params&) const { return {}; }
  /// Build the state that all threads share. `work` outlives the session. @throws Error
  [[nodiscard]] virtual std::unique_ptr<Session> prepare(const Work& work) const = 0;
};

/// The session of an engine whose lanes need only the work: `make()` returns a synchronous kernel.
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

/// The receiver of a module's engines.
class EngineSink {
 public:
  virtual ~EngineSink() = default;
  virtual void add(std::unique_ptr<const Engine> engine) = 0;
};

}  // namespace dpubench

/// Define the only exports of a module: `DPUBENCH_ENGINES(sink) { sink.add(std::make_unique<MyEngine>()); }`
#define DPUBENCH_ENGINES(sink)                                                    \
  extern "C" [[gnu::visibility("default")]] std::uint32_t dpubench_engine_abi() { \
    return ::dpubench::kEngineAbi;                                                \
  }                                                                               \
  extern "C" [[gnu::visibility("default")]] void dpubench_engines([[maybe_unused]] ::dpubench::EngineSink& sink)
