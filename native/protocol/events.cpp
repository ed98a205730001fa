#include "protocol/events.hpp"

#include <nlohmann/json.hpp>

namespace dpubench::protocol {

using nlohmann::json;

void EventWriter::write(const json& event) {
  if (closed_) return;
  // Text from outside (file names, library messages) may not be UTF-8. Replace invalid bytes instead of throwing.
  std::string line = event.dump(-1, ' ', false, json::error_handler_t::replace);
  line += '\n';
  const std::lock_guard lock(mutex_);
  if (std::fwrite(line.data(), 1, line.size(), out_) != line.size() || std::fflush(out_) != 0) closed_ = true;
}

void EventWriter::window(const WindowEvent& window) {
  json event = {{"event", "window"},
                {"point", window.point},
                {"group", window.group},
                {"round", window.round},
                {"cycle", window.cycle},
                {"half", window.half},
                {"operations", window.operations},
                {"elapsed_ns", window.elapsed_ns},
                {"in_bytes", window.in_bytes},
                {"out_bytes", window.out_bytes},
                {"rate_bytes", window.rate_bytes},
                {"bursts", window.bursts}};
  if (window.ghz) event["ghz"] = *window.ghz;
  if (window.core_cycles) event["core_cycles"] = *window.core_cycles;
  if (window.energy_uj) event["energy_uj"] = *window.energy_uj;
  for (const auto& [name, value] : window.metrics) event["metrics"][std::string(name)] = value;
  write(event);
}

void EventWriter::warning(std::string_view code, std::string_view message, std::string_view group, std::string_view point) {
  json event = {{"event", "warning"}, {"code", code}, {"message", message}};
  if (!group.empty()) event["group"] = group;
  if (!point.empty()) event["point"] = point;
  write(event);
}

void EventWriter::failure(std::string_view phase, std::string_view message, std::string_view group, std::string_view point) {
  ++failures_;
  json event = {{"event", "failure"}, {"phase", phase}, {"message", message}};
  if (!group.empty()) event["group"] = group;
  if (!point.empty()) event["point"] = point;
  write(event);
}

}  // namespace dpubench::protocol
