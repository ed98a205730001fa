#include "protocol/reader.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace dpubench::protocol {

using nlohmann::json;

namespace {
constexpr std::size_t kMaxDepth = 16;
constexpr int kMaxCpu = 1024;

/// Return whether `path` is `above` or lies below it.
bool is_within(const std::string& path, const std::string& above) {
  return path.compare(0, above.size(), above) == 0 && (path.size() == above.size() || path[above.size()] == '/');
}

/// A watcher of a parse. It checks what the library would do wrong or not at all.
class Watch {
 public:
  explicit Watch(const char* what) : what_(what) {}

  /// Take one event of the parser. @throws Error when the text is nested too deep, or has a key twice
  void see(json::parse_event_t event, const json& parsed) {
    switch (event) {
      case json::parse_event_t::object_start:
      case json::parse_event_t::array_start:
        begin_value();
        open_.push_back({event == json::parse_event_t::array_start, {}, {}, 0});
        // The library recurses on nesting. Refuse depths that no job has, before they overflow the stack.
        if (open_.size() > kMaxDepth) throw Error(what_ + " is nested deeper than " + std::to_string(kMaxDepth) + " levels");
        break;
      case json::parse_event_t::object_end:
      case json::parse_event_t::array_end:
        open_.pop_back();
        break;
      case json::parse_event_t::key:
        begin_key(parsed.get_ref<const std::string&>());
        break;
      case json::parse_event_t::value:
        begin_value();
        break;
    }
  }

 private:
  /// An object or array that has not ended yet.
  struct Open {
    bool is_array = false;
    std::set<std::string> keys;  ///< keys so far
    std::string key;             ///< key of the current value
    std::size_t elements = 0;    ///< elements that have begun
  };

  void begin_value() {
    if (!open_.empty()) ++open_.back().elements;
  }

  void begin_key(const std::string& key) {
    open_.back().key = key;
    if (!open_.back().keys.insert(key).second) throw Error(what_ + " has the key " + path() + " twice: give it once");
  }

  [[nodiscard]] std::string path() const {
    std::string path;
    for (const Open& part : open_) path += "/" + (part.is_array ? std::to_string(part.elements - 1) : part.key);
    return path;
  }

  std::string what_;
  std::vector<Open> open_;
};
}  // namespace

bool Reader::sound(const std::string& where) const {
  return std::none_of(faulty_.begin(), faulty_.end(),
                      [&](const std::string& fault) { return is_within(fault, where) || is_within(where, fault); });
}

void Reader::finish() const {
  if (faults_.empty()) return;
  std::string message = "the job cannot be run:";
  for (const Fault& fault : faults_) message += "\n  " + (fault.where.empty() ? "the job" : fault.where) + ": " + fault.what;
  throw Refused(message, faults_);
}

void Reader::params(const json& parent, const std::string& where, const char* key, Params& into) {
  const auto it = parent.find(key);
  if (it == parent.end()) return;
  if (!it->is_object()) return fault(where + "/" + key, "must be an object");
  for (const auto& [name, text] : it->items()) {
    if (text.is_string()) {
      into.set(name, text.get<std::string>());
    } else {
      fault(where + "/" + key + "/" + name, "must be a text (numbers too: \"1024\")");
    }
  }
}

void Reader::inputs(const json& parent, std::map<std::string, std::vector<std::filesystem::path>, std::less<>>& into) {
  const auto it = parent.find("inputs");
  if (it == parent.end()) return;
  if (!it->is_object()) return fault("/inputs", "must be an object");
  for (const auto& [kind, paths] : it->items()) {
    const std::string where = "/inputs/" + kind;
    if (!paths.is_array()) {
      fault(where, "must be an array of paths");
      continue;
    }
    for (const json& path : paths) {
      if (path.is_string() && !path.get_ref<const std::string&>().empty()) {
        into[kind].emplace_back(path.get<std::string>());
      } else {
        fault(where, "must hold paths only");
      }
    }
  }
}

void Reader::cpus(const json& parent, const char* key, std::vector<int>& into) {
  const json* const cpus = array(parent, "", key, false);
  if (cpus == nullptr) return;
  for (const json& cpu : *cpus) {
    if (cpu.is_number_integer() && cpu.get<double>() >= 0 && cpu.get<double>() < kMaxCpu) {
      into.push_back(cpu.get<int>());
    } else {
      fault(std::string("/") + key, "must hold CPU numbers only");
    }
  }
}

json parse_json(std::string_view text, const char* what, std::size_t most_bytes) {
  if (text.size() > most_bytes) throw Error(std::string(what) + " is larger than " + std::to_string(most_bytes >> 20) + " MiB");
  Watch watch(what);
  const auto see = [&watch](int, json::parse_event_t event, const json& parsed) {
    watch.see(event, parsed);
    return true;
  };
  try {
    return json::parse(text, see);
  } catch (const json::exception& fault) {
    throw Error(std::string(what) + " is no JSON: " + fault.what());
  }
}

std::string Reader::bound(double value) {
  constexpr double kMostExact = 9007199254740992.0;  // 2^53: whole numbers below it are exact
  const bool is_whole = value == std::floor(value) && std::abs(value) < kMostExact;
  return is_whole ? std::to_string(static_cast<std::int64_t>(value)) : json(value).dump();
}

}  // namespace dpubench::protocol
