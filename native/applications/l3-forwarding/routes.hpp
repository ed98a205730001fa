// Reads the routes of the forwarding application: all or part of a prefix list.
#pragma once

#include <filesystem>
#include <vector>

#include "applications/l3-forwarding/trie.hpp"

namespace dpubench::applications {

/// Return routes after a default route: a router at a network's edge has one.
/// @param wanted  number of routes, taken evenly from the list; 0: all @throws Error as inputs::read_prefixes4 does
/// @param next_hops  number of next hops; they are numbered from 0
std::vector<Route> read_routes4(const std::filesystem::path& path, std::uint64_t wanted, std::uint32_t next_hops);
std::vector<Route> read_routes6(const std::filesystem::path& path, std::uint64_t wanted, std::uint32_t next_hops);

}  // namespace dpubench::applications
