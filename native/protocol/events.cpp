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
