#include "protocol/reader.hpp"

namespace dpubench::protocol {

using nlohmann::json;

namespace {
constexpr int kMaxDepth = 16;
constexpr int kMaxCpu = 1024;
}  // namespace

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
  // The library recurses on nesting: refuse depths that no job has before they become a stack overflow.
  int depth = 0;
  const auto too_deep = [&depth](int, json::parse_event_t event, json&) {
    if (event == json::parse_event_t::object_start || event == json::parse_event_t::array_start) ++depth;
    if (event == json::parse_event_t::object_end || event == json::parse_event_t::array_end) --depth;
    if (depth > kMaxDepth) throw Error("the job is nested deeper than " + std::to_string(kMaxDepth) + " levels");
    return true;
  };
  try {
    return json::parse(text, too_deep);
  } catch (const json::exception& fault) {
    throw Error(std::string(what) + " is no JSON: " + fault.what());
  }
}

}  // namespace dpubench::protocol
