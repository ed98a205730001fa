// Writes events: newline-delimited JSON on one stream. docs/architecture.md has the fields.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dpubench::protocol {

inline constexpr std::string_view kEventSchema = "dpubench.event/1";

/// The event `window` (schemas/event.schema.json). Quantities that are not known are absent.
struct WindowEvent {
  std::string_view point;
  std::string_view group;
  std::uint64_t round = 0;
  std::uint32_t cycle = 0;
  int half = 0;
  std::uint64_t operations = 0;
  double elapsed_ns = 0;
  std::uint64_t in_bytes = 0;
  std::uint64_t out_bytes = 0;
  std::uint64_t rate_bytes = 0;
  std::uint64_t bursts = 0;
  std::optional<double> ghz{};
  std::optional<std::uint64_t> core_cycles{};
  std::optional<double> energy_uj{};
  std::vector<std::pair<std::string_view, double>> metrics{};
};

/// A writer of events. It writes and flushes one line per event, whole even if threads write at once. closed() tells whether the
/// reader went away.
class EventWriter {
 public:
  explicit EventWriter(std::FILE* out) : out_(out) {}
  /// Write one event. @param event its "event" field names it
  void write(const nlohmann::json& event);
  /// Return whether a write failed: nobody listens any more, or the disk is full.
  [[nodiscard]] bool closed() const { return closed_; }

  void window(const WindowEvent& window);
  void warning(std::string_view code, std::string_view message, std::string_view group = {}, std::string_view point = {});
  void failure(std::string_view phase, std::string_view message, std::string_view group = {}, std::string_view point = {});
  [[nodiscard]] std::uint64_t failures() const { return failures_; }

 private:
  std::FILE* out_;
  std::mutex mutex_;
  std::atomic<bool> closed_ = false;
  std::atomic<std::uint64_t> failures_ = 0;
};

}  // namespace dpubench::protocol
