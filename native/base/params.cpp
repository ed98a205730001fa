#include "base/params.hpp"

#include <charconv>

namespace dpubench {

const std::string& Params::text(std::string_view name) const {
  const std::string* found = find(name);
  if (found == nullptr) throw Error("parameter '" + std::string(name) + "' is missing; given: " + str());
  return *found;
}

std::uint64_t Params::number(std::string_view name) const {
  const std::string& value = text(name);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc{} || end != value.data() + value.size()) {
    throw Error("parameter '" + std::string(name) + "' must be a whole number, not '" + value + "'");
  }
  return number;
}

std::string Params::str() const {
  std::string out;
  for (const auto& [name, value] : values_) {
    if (!out.empty()) out += ' ';
    out += name + '=' + value;
  }
  return out;
}

}  // namespace dpubench
