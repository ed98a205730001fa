// The kinds of ports that are linked in, found by name.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/error.hpp"
#include "datapath/ports/port.hpp"

namespace dpubench::datapath {
namespace {

std::vector<const PortKind*>& kinds() {
  static std::vector<const PortKind*> all;
  return all;
}

/// Return how many insertions, deletions and replacements make one word of another (Levenshtein).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t above = row[j + 1];
      row[j + 1] = std::min({above + 1, row[j] + 1, diagonal + (a[i] == b[j] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

/// Return "; did you mean 'memif'?" if a known word is near, else a list of all known words.
std::string nearest(std::string_view word, const std::vector<std::string>& known) {
  std::string list;
  const std::string* best = nullptr;
  std::size_t least = word.size() / 3 + 2;
  for (const std::string& name : known) {
    list += (list.empty() ? "" : ", ") + name;
    if (const std::size_t far = distance(word, name); far < least) {
      least = far;
      best = &name;
    }
  }
  if (best != nullptr) return "; did you mean '" + *best + "'?";
  return known.empty() ? "; it has none" : "; known: " + list;
}

const PortKind& kind_of(const std::string& name) {
  std::vector<std::string> names;
  for (const PortKind* kind : port_kinds()) {
    if (kind->info().name == name) return *kind;
    names.push_back(kind->info().name);
  }
  throw Error("there is no kind of port '" + name + "'" + nearest(name, names));
}

void check_arguments(const PortKindInfo& info, const PortSpec& spec) {
  std::vector<std::string> names;
  for (const PortArgument& known : info.arguments) names.push_back(known.name);
  for (const auto& [name, value] : spec.arguments) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      throw Error("port " + info.name + ": there is no argument '" + name + "'" + nearest(name, names));
    }
    // Arguments become part of a driver's own list of arguments.
    if (value.find_first_of(",\n\"'") != std::string::npos) {
      throw Error("port " + info.name + ": " + name + "=" + value + ": commas, quotes and line ends cannot be passed on");
    }
  }
  for (const PortArgument& known : info.arguments) {
    const auto given = spec.arguments.find(known.name);
    if (known.required && (given == spec.arguments.end() || given->second.empty())) {
      throw Error("port " + info.name + ": the argument '" + known.name + "' is missing: " + known.summary);
    }
  }
}

}  // namespace

namespace detail {

PortRegistrar::PortRegistrar(const PortKind& kind) {
  kinds().push_back(&kind);
}

}  // namespace detail

std::span<const PortKind* const> port_kinds() {
  static const auto sorted = [] {
    std::vector<const PortKind*> all = kinds();
    std::sort(all.begin(), all.end(), [](const PortKind* a, const PortKind* b) { return a->info().name < b->info().name; });
    return all;
  }();
  return sorted;
}

std::unique_ptr<Port> open_port(const PortSpec& spec, const PortResources& resources) {
  const PortKind& kind = kind_of(spec.kind);
  check_arguments(kind.info(), spec);
  if (const PortKind::Reason why = kind.unavailable(); !why.reason.empty()) {
    throw Error("port " + spec.kind + ": " + why.reason + (why.remedy.empty() ? "" : "; " + why.remedy));
  }
  return kind.open(spec, resources);
}

bool kernel_receives(std::string_view kind) {
  const auto kinds = port_kinds();
  const auto found = std::find_if(kinds.begin(), kinds.end(), [&](const PortKind* one) { return one->info().name == kind; });
  return found != kinds.end() && (*found)->info().kernel_receives;
}

std::vector<std::string> port_devices(std::span<const PortSpec> ports) {
  std::vector<std::string> devices;
  for (const PortSpec& port : ports) {
    if (const auto address = port.arguments.find("address"); port.kind == "pci" && address != port.arguments.end()) {
      devices.push_back(address->second);
    }
  }
  return devices;
}

nlohmann::json port_catalog() {
  nlohmann::json all = nlohmann::json::array();
  for (const PortKind* kind : port_kinds()) {
    const PortKindInfo& info = kind->info();
    const PortKind::Reason why = kind->unavailable();
    nlohmann::json arguments = nlohmann::json::array();
    for (const PortArgument& argument : info.arguments) {
      arguments.push_back({{"name", argument.name},
                           {"summary", argument.summary},
                           {"default", argument.default_value},
                           {"required", argument.required}});
    }
    all.push_back({{"name", info.name},
                   {"summary", info.summary},
                   {"arguments", std::move(arguments)},
                   {"available", why.reason.empty()},
                   {"reason", why.reason},
                   {"remedy", why.remedy},
                   {"is_virtual", info.is_virtual},
                   {"shares_buffers", info.shares_buffers},
                   {"needs_root", info.needs_root}});
  }
  return all;
}

}  // namespace dpubench::datapath
