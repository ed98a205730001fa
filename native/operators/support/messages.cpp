#include "operators/support/messages.hpp"

#include <cctype>

#include "inputs/digest.hpp"

namespace dpubench {

Parameter size_parameter(std::uint64_t min, std::uint64_t max, const std::string& default_value) {
  return {"size", "bytes of input per operation", {"64", "128", "256", "512", "1024"}, default_value, false, "B", min, max};
}

std::vector<Item> random_messages(inputs::Store& store, std::string_view purpose, std::size_t count, std::size_t size,
                                  std::uint32_t out_room) {
  inputs::Random random = store.random(purpose);
  std::vector<Item> items(count);
  for (Item& item : items) {
    item.in.resize(size);
    random.fill(item.in);
    item.out_room = out_room;
  }
  return items;
}

void describe_generated(Work& work, const inputs::Store& store, std::string_view purpose) {
  work.input_name = "random messages, seed " + std::to_string(store.seed());
  const std::string material = std::string(purpose) + '/' + std::to_string(store.seed()) + '/' +
                               std::to_string(work.items.size()) + '/' +
                               (work.items.empty() ? "0" : std::to_string(work.items[0].in.size()));
  work.input_hash = inputs::Sha256::hex(inputs::Sha256::of(std::as_bytes(std::span(material))));
}

std::vector<std::byte> from_hex(std::string_view text) {
  std::vector<std::byte> bytes;
  int high = -1;
  for (const char c : text) {
    if (std::isspace(static_cast<unsigned char>(c)) != 0) continue;
    int digit = 0;
    if (c >= '0' && c <= '9') {
      digit = c - '0';
    } else if (c >= 'a' && c <= 'f') {
      digit = c - 'a' + 10;
    } else if (c >= 'A' && c <= 'F') {
      digit = c - 'A' + 10;
    } else {
      throw Error("'" + std::string(1, c) + "' is not a hexadecimal digit");
    }
    if (high < 0) {
      high = digit;
    } else {
      bytes.push_back(static_cast<std::byte>(high * 16 + digit));
      high = -1;
    }
  }
  if (high >= 0) throw Error("a hexadecimal text has an odd number of digits");
  return bytes;
}

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

}  // namespace dpubench
