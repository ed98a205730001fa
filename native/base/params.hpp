// The parameters of one configuration. Plans, jobs and results use the same names for them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.hpp"

namespace dpubench {

/// An ordered map from names to values. Values are text (`mode` = "gcm") or whole numbers (`size` = "1024", in bytes).
class Params {
 public:
  Params() = default;
  Params(std::initializer_list<std::pair<const std::string, std::string>> values) : values_(values) {}

  void set(std::string name, std::string value) { values_[std::move(name)] = std::move(value); }
  void set(std::string name, std::uint64_t value) { values_[std::move(name)] = std::to_string(value); }
  void remove(const std::string& name) { values_.erase(name); }
  [[nodiscard]] bool has(std::string_view name) const { return find(name) != nullptr; }
  /// Return the value as text. @throws Error when there is no such parameter.
  [[nodiscard]] const std::string& text(std::string_view name) const;
  /// Return the value as a whole number. @throws Error when there is no such parameter or its value is not a number.
  [[nodiscard]] std::uint64_t number(std::string_view name) const;
  [[nodiscard]] bool is(std::string_view name, std::string_view value) const {
    const std::string* found = find(name);
    return found != nullptr && *found == value;
  }
  [[nodiscard]] const std::map<std::string, std::string, std::less<>>& all() const { return values_; }
  /// Return all parameters in one line: `direction=encrypt mode=gcm size=1024`.
  [[nodiscard]] std::string str() const;
  bool operator==(const Params&) const = default;

 private:
  [[nodiscard]] const std::string* find(std::string_view name) const {
    const auto it = values_.find(name);
    return it == values_.end() ? nullptr : &it->second;
  }
  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace dpubench
