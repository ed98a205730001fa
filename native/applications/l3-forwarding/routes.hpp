// Routes for the forwarding application, some or all of a prefix list.
#pragma once

#include <filesystem>
#include <vector>

#include "applications/l3-forwarding/trie.hpp"

namespace dpubench::applications {

/// Routes, with a default route before them: a router at a network's edge has one.
/// @param wanted  evenly over the list; 0: all @throws Error as inputs::read_prefixes4 @param next_hops  of all routes, from 0
std::vector<Route> read_routes4(const std::filesystem::path& path, std::uint64_t wanted, std::uint32_t next_hops);
std::vector<Route> read_routes6(const std::filesystem::path& path, std::uint64_t wanted, std::uint32_t next_hops);

}  // namespace dpubench::applications
