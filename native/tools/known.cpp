#include "tools/known.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/error.hpp"
#include "tools/supervised.hpp"

namespace dpubench::tools {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::array kTools = {
    Tool{"stress-ng", "stress-ng", "--version"},  Tool{"iperf3", "iperf3", "--version"},
    Tool{"qperf", "qperf", "--version"},          Tool{"sockperf", "sockperf", "--version"},
    Tool{"ib_send_bw", "perftest", "--version"},  Tool{"ib_send_lat", "perftest", "--version"},
    Tool{"ib_write_bw", "perftest", "--version"}, Tool{"ib_write_lat", "perftest", "--version"},
    Tool{"ib_read_bw", "perftest", "--version"},  Tool{"ib_read_lat", "perftest", "--version"},
};
constexpr std::array kFolders = {"/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin"};
constexpr double kVersionLimit_s = 3;

json usable_cpus() {
  // Some machines have more CPUs than cpu_set_t has room for. The kernel then returns EINVAL.
  for (int room = 1024; room <= (1 << 16); room *= 4) {
    cpu_set_t* set = CPU_ALLOC(room);
    const std::size_t bytes = CPU_ALLOC_SIZE(room);
    json cpus = json::array();
    const bool told = sched_getaffinity(0, bytes, set) == 0;
    for (int cpu = 0; told && cpu < room; ++cpu) {
      if (CPU_ISSET_S(cpu, bytes, set)) cpus.push_back(cpu);
    }
    CPU_FREE(set);
    if (told) return cpus;
  }
  return json::array();
}

std::string version_of(const Tool& tool, const fs::path& path) {
  Spec spec;
  spec.words = {path.string(), std::string(tool.version_option)};
  spec.limit_s = kVersionLimit_s;
  const Ended ended = run_to_end(spec);
  return version_in(ended.out.text + '\n' + ended.err.text);
}

}  // namespace

std::span<const Tool> tools() {
  return kTools;
}

const Tool& find_tool(std::string_view name) {
  const auto found = std::find_if(kTools.begin(), kTools.end(), [&](const Tool& tool) { return tool.name == name; });
  if (found != kTools.end()) return *found;
  std::string names;
  for (const Tool& tool : kTools) names += (names.empty() ? "" : ", ") + std::string(tool.name);
  throw Error("/tool: '" + std::string(name.substr(0, 40)) + "' is no program that can be run; there are: " + names);
}

fs::path path_of(const Tool& tool) {
  for (const char* folder : kFolders) {
    fs::path path = fs::path(folder) / tool.name;
    std::error_code error;
    if (fs::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0) return path;
  }
  return {};
}

std::string version_in(std::string_view text) {
  const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  for (std::size_t begin = 0; begin < text.size(); ++begin) {
    if (!is_digit(text[begin])) continue;
    std::size_t end = begin;
    while (end < text.size() && (is_digit(text[end]) || (text[end] == '.' && end + 1 < text.size() && is_digit(text[end + 1]))))
      ++end;
    const std::string_view number = text.substr(begin, end - begin);
    if (number.find('.') != std::string_view::npos) return std::string(number);
    begin = end;
  }
  return {};
}

json catalog() {
  json found = json::array();
  for (const Tool& tool : kTools) {
    const fs::path path = path_of(tool);
    found.push_back({{"name", tool.name},
                     {"package", tool.package},
                     {"path", path.string()},
                     {"version", path.empty() ? "" : version_of(tool, path)}});
  }
  json verbs = json::array();
  std::error_code error;
  for (fs::directory_iterator it("/sys/class/infiniband", error), end; !error && it != end; it.increment(error))
    verbs.push_back(it->path().filename().string());
  return {{"tools", std::move(found)},
          {"verbs_devices", std::move(verbs)},
          {"root", geteuid() == 0},
          {"online_cpus", sysconf(_SC_NPROCESSORS_ONLN)},
          {"usable_cpus", usable_cpus()}};
}

}  // namespace dpubench::tools
