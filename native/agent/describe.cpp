#include "agent/describe.hpp"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <thread>
#include <utility>

#include "agent/helper.hpp"
#include "base/error.hpp"

namespace dpubench::agent {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr auto kBusySample = std::chrono::milliseconds(300);
/// A CPU with a smaller busy share counts as free. The kernel's own work stays below it.
constexpr double kFreeBelow = 0.1;
/// Vendors' tools talk to firmware, and the firmware may not answer.
constexpr int kToolLimitMs = 3000;
/// No machine has more entries of any listed kind. An endless list would not fit into the answer.
constexpr std::size_t kMaxListed = 256;
constexpr std::size_t kMaxText = std::size_t{1} << 16;

std::string text_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text(kMaxText, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ' || text.back() == '\0')) text.pop_back();
  return text;
}

std::optional<long long> number_of(const fs::path& path) {
  const std::string text = text_of(path);
  const bool hexadecimal = text.starts_with("0x");
  const char* begin = text.data() + (hexadecimal ? 2 : 0);
  long long value = 0;
  const auto [end, fault] = std::from_chars(begin, text.data() + text.size(), value, hexadecimal ? 16 : 10);
  if (fault != std::errc() || end == begin) return std::nullopt;
  return value;
}

void put(json& into, const char* key, const std::string& value) {
  if (!value.empty()) into[key] = value;
}

void put(json& into, const char* key, const std::optional<long long>& value) {
  if (value) into[key] = *value;
}

/// Return the entries of a folder, sorted by name. Empty when the folder does not exist.
std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end && found.size() < kMaxListed; it.increment(error))
    found.push_back(it->path());
  std::sort(found.begin(), found.end());
  return found;
}

/// Return the name of a symbolic link's target, or an empty text.
std::string link_name(const fs::path& link) {
  std::error_code error;
  const fs::path to = fs::read_symlink(link, error);
  return error ? "" : to.filename().string();
}

bool is_pci_address(std::string_view text) {
  constexpr std::string_view kForm = "hhhh:hh:hh.h";
  if (text.size() != kForm.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_digit = std::string_view("0123456789abcdef").find(text[i]) != std::string_view::npos;
    if (kForm[i] == 'h' ? !is_digit : text[i] != kForm[i]) return false;
  }
  return true;
}

// ---- CPUs

/// Return one CPU of each physical core first, then the other CPUs.
std::vector<int> one_of_each_core_first(const fs::path& cpu_folder, const std::vector<int>& cpus) {
  std::vector<int> first;
  std::vector<int> others;
  std::set<std::string> seen;
  for (const int cpu : cpus) {
    std::string core = text_of(cpu_folder / ("cpu" + std::to_string(cpu)) / "topology/thread_siblings_list");
    if (core.empty()) core = std::to_string(cpu);
    (seen.insert(core).second ? first : others).push_back(cpu);
  }
  first.insert(first.end(), others.begin(), others.end());
  return first;
}

std::vector<int> allowed_cpus() {
  // Some machines have more CPUs than cpu_set_t has room for. The kernel then returns EINVAL.
  for (int room = 1024; room <= (1 << 16); room *= 4) {
    cpu_set_t* set = CPU_ALLOC(room);
    if (set == nullptr) return {};
    const std::size_t bytes = CPU_ALLOC_SIZE(room);
    std::vector<int> found;
    const bool known = sched_getaffinity(0, bytes, set) == 0;
    for (int cpu = 0; known && cpu < room; ++cpu) {
      if (CPU_ISSET_S(static_cast<std::size_t>(cpu), bytes, set)) found.push_back(cpu);
    }
    CPU_FREE(set);
    if (known) return found;
  }
  return {};
}

json cpus(const fs::path& root, bool is_this_machine) {
  const fs::path folder = root / "sys/devices/system/cpu";
  const std::string before = text_of(root / "proc/stat");
  if (is_this_machine) std::this_thread::sleep_for(kBusySample);
  const std::vector<double> busy = busy_between(before, text_of(root / "proc/stat"));
  const std::vector<int> online = parse_cpu_list(text_of(folder / "online"));
  const std::vector<int> usable = is_this_machine ? allowed_cpus() : online;
  const std::vector<int> order = one_of_each_core_first(folder, usable);
  std::set<std::string> cores;
  json shares = json::object();
  std::vector<int> free;
  for (const int cpu : order) {
    const auto at = static_cast<std::size_t>(cpu);
    if (at < busy.size()) shares[std::to_string(cpu)] = busy[at];
    if (at >= busy.size() || busy[at] < kFreeBelow) free.push_back(cpu);
  }
  for (const int cpu : online) {
    const std::string core = text_of(folder / ("cpu" + std::to_string(cpu)) / "topology/thread_siblings_list");
    cores.insert(core.empty() ? std::to_string(cpu) : core);
  }
  return {{"online", online},          {"usable", order},
          {"cores", cores.size()},     {"isolated", parse_cpu_list(text_of(folder / "isolated"))},
          {"busy", std::move(shares)}, {"free", free}};
}

// ---- memory

std::optional<long long> meminfo(const fs::path& file, std::string_view key) {
  std::istringstream in(text_of(file));
  for (std::string line; std::getline(in, line);) {
    const auto at = line.find(key);  // a NUMA node's file has "Node 0 " before the key
    if (at == std::string::npos) continue;
    std::istringstream rest(line.substr(at + key.size()));
    long long kib = 0;
    if (rest >> kib) return kib * 1024;
  }
  return std::nullopt;
}

json huge_pages(const fs::path& root) {
  json found = json::array();
  for (const fs::path& folder : entries(root / "sys/kernel/mm/hugepages")) {
    std::string size = folder.filename().string();  // hugepages-2048kB
    size.erase(0, size.find('-') + 1);
    const auto total = number_of(folder / "nr_hugepages");
    const auto free = number_of(folder / "free_hugepages");
    const long long kib = std::strtoll(size.c_str(), nullptr, 10);
    if (total && free && kib > 0) found.push_back({{"bytes", kib * 1024}, {"total", *total}, {"free", *free}});
  }
  return found;
}

json numa_nodes(const fs::path& root) {
  json found = json::array();
  for (const fs::path& folder : entries(root / "sys/devices/system/node")) {
    const std::string name = folder.filename().string();
    if (!name.starts_with("node") || name.find_first_of("0123456789") != 4) continue;
    json node = {{"node", std::strtol(name.c_str() + 4, nullptr, 10)}, {"cpus", parse_cpu_list(text_of(folder / "cpulist"))}};
    put(node, "memory_bytes", meminfo(folder / "meminfo", "MemTotal:"));
    found.push_back(std::move(node));
  }
  return found;
}

// ---- network and PCI devices

/// Return the PCI Express generation for a lane rate as the kernel writes it ("16.0 GT/s PCIe"). 0 when it is unknown.
int pcie_generation(const std::string& speed) {
  static const std::map<std::string, int> kBySpeed = {{"2.5", 1},  {"5.0", 2}, {"5", 2},    {"8.0", 3}, {"8", 3},
                                                      {"16.0", 4}, {"16", 4},  {"32.0", 5}, {"64.0", 6}};
  const auto found = kBySpeed.find(speed.substr(0, speed.find(' ')));
  return found == kBySpeed.end() ? 0 : found->second;
}

json pcie_link(const fs::path& device) {
  json link = json::object();
  for (const auto& [key, file] : {std::pair{"generation", "current_link_speed"}, std::pair{"max_generation", "max_link_speed"}}) {
    if (const int generation = pcie_generation(text_of(device / file)); generation > 0) link[key] = generation;
  }
  for (const auto& [key, file] : {std::pair{"width", "current_link_width"}, std::pair{"max_width", "max_link_width"}}) {
    // A device inside a chip has no link. The kernel then reports width 0 or 255.
    if (const auto width = number_of(device / file); width && *width > 0 && *width <= 32) link[key] = *width;
  }
  return link;
}

void put_pci(json& into, const fs::path& device) {
  std::error_code error;
  // A virtio NIC is the child of a PCI device.
  fs::path place = fs::canonical(device, error);
  if (!error && !is_pci_address(place.filename().string())) place = place.parent_path();
  if (error || !is_pci_address(place.filename().string())) return;
  into["pci"] = place.filename().string();
  put(into, "vendor", text_of(place / "vendor"));
  put(into, "device", text_of(place / "device"));
  if (const auto node = number_of(place / "numa_node"); node && *node >= 0) into["numa_node"] = *node;
  if (json link = pcie_link(place); !link.empty()) into["pcie"] = std::move(link);
}

/// Add the versions of a NIC's driver and firmware. sysfs does not have them (ioctl ETHTOOL_GDRVINFO).
void put_versions(json& into, const std::string& name) {
  if (name.size() >= IFNAMSIZ) return;
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  ethtool_drvinfo info{};
  info.cmd = ETHTOOL_GDRVINFO;
  ifreq request{};
  std::memcpy(request.ifr_name, name.c_str(), name.size());
  request.ifr_data = reinterpret_cast<char*>(&info);
  if (ioctl(fd, SIOCETHTOOL, &request) == 0) {
    const auto bounded = [](const char* text, std::size_t room) { return std::string(text, strnlen(text, room)); };
    put(into, "driver_version", bounded(info.version, sizeof info.version));
    put(into, "firmware", bounded(info.fw_version, sizeof info.fw_version));
  }
  close(fd);
}

json nics(const fs::path& root, bool is_this_machine) {
  json found = json::array();
  for (const fs::path& folder : entries(root / "sys/class/net")) {
    std::error_code error;
    if (!fs::exists(folder / "device", error)) continue;  // loopback, bridges, tunnels
    json nic = {{"name", folder.filename().string()}};
    put(nic, "driver", link_name(folder / "device/driver"));
    put(nic, "port", text_of(folder / "phys_port_name"));
    put(nic, "state", text_of(folder / "operstate"));
    if (const auto speed = number_of(folder / "speed"); speed && *speed > 0) nic["speed_mbps"] = *speed;
    put_pci(nic, folder / "device");
    if (is_this_machine) put_versions(nic, folder.filename().string());
    found.push_back(std::move(nic));
  }
  return found;
}

/// Return the devices that --device can name for an engine: encryption controllers, processing accelerators (PCI base classes 10h
/// and 12h; PCI Code and ID Assignment, 1.16 and 1.18), and devices with a user-space driver.
json accelerators(const fs::path& root) {
  constexpr std::array kUserSpace = {"vfio-pci", "uio_pci_generic", "igb_uio"};
  json found = json::array();
  for (const fs::path& folder : entries(root / "sys/bus/pci/devices")) {
    const std::string kind = text_of(folder / "class");
    const std::string driver = link_name(folder / "driver");
    const bool is_handed_over = std::find(kUserSpace.begin(), kUserSpace.end(), driver) != kUserSpace.end();
    if (!kind.starts_with("0x10") && !kind.starts_with("0x12") && !is_handed_over) continue;
    json device = {{"class", kind}};
    put(device, "driver", driver);
    put_pci(device, folder);
    if (device.contains("pci")) found.push_back(std::move(device));
  }
  return found;
}

// ---- a DPU's mode

/// Return the model of an NVIDIA DPU from its integrated NIC (PCI vendor 15b3h, pci.ids), or null.
const char* bluefield(const std::string& vendor, const std::string& device) {
  if (vendor != "0x15b3") return nullptr;
  if (device == "0xa2d2") return "BlueField";
  if (device == "0xa2d6") return "BlueField-2";
  if (device == "0xa2dc") return "BlueField-3";
  return nullptr;
}

fs::path find_tool(const fs::path& root, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    for (const char* folder : {"usr/bin", "usr/sbin", "usr/local/bin", "bin", "sbin"}) {
      if (access((root / folder / name).c_str(), X_OK) == 0) return root / folder / name;
    }
  }
  return {};
}

/// Return the value in effect from the output of `mlxconfig -e query`: "NAME default current next", with a '*' before it where
/// the values differ. Older tools print only the value of the next boot.
std::string setting_in(const std::string& text, const std::string& name) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream in(line);
    const std::vector<std::string> words{std::istream_iterator<std::string>(in), {}};
    const auto at = std::find(words.begin(), words.end(), name);
    if (at == words.end()) continue;
    const auto values = static_cast<std::size_t>(words.end() - at) - 1;
    if (values >= 3) return *(at + 2);
    if (values >= 1) return *(at + 1);
  }
  return {};
}

std::string first_line(const std::string& text) {
  return text.substr(0, std::min(text.find('\n'), std::size_t{200}));
}

/// Return whether the firmware lets the host manage the device: "RESTRICTED", "PRIVILEGED", or an empty text.
std::string privilege_level(const fs::path& root, const std::string& address) {
  const fs::path tool = find_tool(root, {"mlxprivhost", "mstprivhost"});
  if (tool.empty()) return {};
  std::istringstream lines(capture({tool.string(), "-d", address, "query"}, kToolLimitMs).text);
  for (std::string line; std::getline(lines, line);) {
    const auto colon = line.find(':');
    if (colon == std::string::npos || line.substr(0, colon).find("level") == std::string::npos) continue;
    for (const char* level : {"RESTRICTED", "PRIVILEGED"}) {
      if (line.find(level, colon) != std::string::npos) return level;
    }
  }
  return {};
}

/// Set the DPU's mode from the firmware's settings (NVIDIA BlueField documentation, "Modes of Operation").
void ask_firmware(json& dpu, const fs::path& root, const std::string& address) {
  const fs::path tool = find_tool(root, {"mlxconfig", "mstconfig"});
  if (tool.empty()) {
    dpu["reason"] = "not readable: neither mlxconfig nor mstconfig is installed (package mstflint)";
    return;
  }
  const std::string name = tool.filename().string();
  const Output said =
      capture({tool.string(), "-d", address, "-e", "query", "INTERNAL_CPU_MODEL", "INTERNAL_CPU_OFFLOAD_ENGINE"}, kToolLimitMs);
  const std::string model = setting_in(said.text, "INTERNAL_CPU_MODEL");
  const std::string engine = setting_in(said.text, "INTERNAL_CPU_OFFLOAD_ENGINE");
  if (model.empty()) {
    dpu["reason"] = "not readable: " + name + ": " + (said.text.empty() ? "no answer" : first_line(said.text)) +
                    (geteuid() == 0 ? "" : " (it needs root)");
    return;
  }
  dpu["how"] = name + ": INTERNAL_CPU_MODEL " + model + (engine.empty() ? "" : ", INTERNAL_CPU_OFFLOAD_ENGINE " + engine);
  if (model.starts_with("SEP"))  // the tools write SEPERATED_HOST
    dpu["mode"] = "separated";
  else if (engine.starts_with("DISABLED"))
    dpu["mode"] = "NIC";
  else if (model.starts_with("EMBEDDED"))
    dpu["mode"] = privilege_level(root, address) == "RESTRICTED" ? "restricted" : "embedded";
  else
    dpu["reason"] = "not readable: " + dpu["how"].get<std::string>() + " is not known";
}

/// Return the host's representor, or an empty text. The Arm side has one only when it manages the embedded switch.
std::string host_representor(const json& all) {
  for (const json& nic : all) {
    const std::string port = nic.value("port", "");
    if (port.ends_with("hpf")) return nic["name"].get<std::string>();
  }
  return {};
}

std::optional<json> dpu(const fs::path& root, const json& all_nics) {
  for (const fs::path& folder : entries(root / "sys/bus/pci/devices")) {
    const char* model = bluefield(text_of(folder / "vendor"), text_of(folder / "device"));
    if (model == nullptr) continue;
    const std::string product = text_of(root / "sys/class/dmi/id/product_name");
    const bool is_inside = product.find("BlueField") != std::string::npos;
    const std::string address = folder.filename().string();
    json found = {{"model", model}, {"pci", address}, {"side", is_inside ? "device" : "host"}, {"mode", "unknown"}};
    put(found, "product", product);
    try {
      ask_firmware(found, root, address);
    } catch (const Error& error) {
      found["reason"] = std::string("not readable: ") + error.what();
    }
    const std::string representor = host_representor(all_nics);
    if (found["mode"] == "unknown" && is_inside && !representor.empty()) {
      found["mode"] = "embedded";
      found["how"] = "the host's representor " + representor + " is present; the restriction of the host " +
                     found["reason"].get<std::string>().insert(0, "is ");
      found.erase("reason");
    }
    return found;
  }
  return std::nullopt;
}

json disk(const fs::path& folder) {
  json found = {{"path", folder.string()}};
  struct statvfs status {};
  if (statvfs(folder.c_str(), &status) == 0) {
    found["free_bytes"] = static_cast<std::uint64_t>(status.f_bavail) * status.f_frsize;
    found["total_bytes"] = static_cast<std::uint64_t>(status.f_blocks) * status.f_frsize;
  }
  return found;
}

}  // namespace

std::vector<int> parse_cpu_list(std::string_view text) {
  std::vector<int> found;
  while (!text.empty()) {
    int low = 0;
    const char* const last = text.data() + text.size();
    auto [end, fault] = std::from_chars(text.data(), last, low);
    if (fault != std::errc() || low < 0) break;
    int high = low;
    if (end != last && *end == '-') {
      const auto second = std::from_chars(end + 1, last, high);
      if (second.ec != std::errc()) break;
      end = second.ptr;
    }
    if (high < low || high >= (1 << 16)) break;
    for (int cpu = low; cpu <= high; ++cpu) found.push_back(cpu);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.empty() || text.front() != ',') break;
    text.remove_prefix(1);
  }
  return found;
}

std::vector<double> busy_between(const std::string& before, const std::string& after) {
  // A line is "cpu3 user nice system idle iowait irq softirq steal ..." (proc(5)). user and nice include the guest times.
  const auto read = [](const std::string& text) {
    std::map<int, std::pair<double, double>> by_cpu;  // idle, all
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("cpu") || line.size() < 4 || std::isdigit(static_cast<unsigned char>(line[3])) == 0) continue;
      std::istringstream in(line.substr(3));
      int cpu = 0;
      std::array<double, 8> ticks{};
      in >> cpu;
      for (double& t : ticks) in >> t;
      double all = 0;
      for (const double t : ticks) all += t;
      if (cpu >= 0 && cpu < (1 << 16)) by_cpu[cpu] = {ticks[3] + ticks[4], all};
    }
    return by_cpu;
  };
  const auto first = read(before);
  std::vector<double> shares;
  for (const auto& [cpu, then] : read(after)) {
    const auto found = first.find(cpu);
    const double passed = found == first.end() ? 0 : then.second - found->second.second;
    const double share = passed <= 0 ? 0 : 1 - (then.first - found->second.first) / passed;
    shares.resize(static_cast<std::size_t>(cpu) + 1);
    shares[static_cast<std::size_t>(cpu)] = std::clamp(share, 0.0, 1.0);
  }
  return shares;
}

json describe(const fs::path& root, const fs::path& folder) {
  const bool is_this_machine = root == "/";
  json found = {{"schema", "dpubench.target/1"}};
  found["cpus"] = cpus(root, is_this_machine);
  put(found, "memory_bytes", meminfo(root / "proc/meminfo", "MemTotal:"));
  put(found, "memory_available_bytes", meminfo(root / "proc/meminfo", "MemAvailable:"));
  found["huge_pages"] = huge_pages(root);
  found["numa_nodes"] = numa_nodes(root);
  found["nics"] = nics(root, is_this_machine);
  found["accelerators"] = accelerators(root);
  if (auto device = dpu(root, found["nics"])) found["dpu"] = std::move(*device);
  found["disk"] = disk(folder);
  return found;
}

}  // namespace dpubench::agent
