// The common part of the operators over messages of a given size.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "operators/operator.hpp"

namespace dpubench {

/// Return the `size` parameter of operators over messages: bytes of input, with the published grid of DPUBench's Figure 11 as its
/// values.
Parameter size_parameter(std::uint64_t min = 1, std::uint64_t max = 65536, const std::string& default_value = "1024");

/// Return `count` items of `size` pseudo-random bytes each (contents do not matter to the operator), drawn for `purpose`.
std::vector<Item> random_messages(inputs::Store& store, std::string_view purpose, std::size_t count, std::size_t size,
                                  std::uint32_t out_room);

/// Name the generated messages in a work: "random messages", and a hash that stands for purpose, seed, count and size.
void describe_generated(Work& work, const inputs::Store& store, std::string_view purpose);

/// Return the bytes of a hexadecimal text; blanks are skipped. It is for published vectors. @throws Error on anything else
std::vector<std::byte> from_hex(std::string_view text);
/// Return the bytes of a text.
std::vector<std::byte> bytes_of(std::string_view text);

}  // namespace dpubench
