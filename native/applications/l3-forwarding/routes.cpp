#include "applications/l3-forwarding/routes.hpp"

#include <string>
#include <string_view>

#include "inputs/file.hpp"
#include "inputs/prefixes.hpp"

namespace dpubench::applications {

namespace {

/// Return every n-th line, so that about `wanted` lines are left. A router must parse its whole configuration, hence no more.
std::string thinned(std::string_view text, std::uint64_t wanted) {
  std::uint64_t lines = 0;
  for (std::size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1)) ++lines;
  const std::uint64_t every = wanted == 0 || lines <= wanted ? 1 : lines / wanted;
  if (every == 1) return std::string(text);
  std::string kept;
  std::uint64_t number = 0;
  for (std::size_t begin = 0; begin < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    // The second line is the first that can be a route, because the first line may name the columns.
    if (number % every == 1) kept.append(text.substr(begin, end - begin));
    begin = end;
  }
  return kept;
}

Route default_route() {
  return {};
}

template <class List>
std::vector<Route> routes_of(const List& list, std::uint32_t next_hops, auto address_of) {
  std::vector<Route> routes{default_route()};
  routes.reserve(list.prefixes.size() + 1);
  for (const auto& prefix : list.prefixes) routes.push_back({address_of(prefix), prefix.length, prefix.next_hop % next_hops});
  return routes;
}

}  // namespace

std::vector<Route> read_routes4(const std::filesystem::path& path, std::uint64_t wanted, std::uint32_t next_hops) {
  const std::vector<std::byte> bytes = inputs::read_file(path, "prefix list");
  const auto list = inputs::parse_prefixes4(thinned(inputs::as_text(bytes), wanted), path.string());
  return routes_of(list, next_hops, [](const inputs::Prefix4& prefix) {
    std::array<std::uint8_t, 16> address{};
    for (unsigned i = 0; i < 4; ++i) address[i] = static_cast<std::uint8_t>(prefix.address >> (24 - 8 * i));
    return address;
  });
}

std::vector<Route> read_routes6(const std::filesystem::path& path, std::uint64_t wanted, std::uint32_t next_hops) {
  const std::vector<std::byte> bytes = inputs::read_file(path, "prefix list");
  const auto list = inputs::parse_prefixes6(thinned(inputs::as_text(bytes), wanted), path.string());
  return routes_of(list, next_hops, [](const inputs::Prefix6& prefix) { return prefix.address; });
}

}  // namespace dpubench::applications
