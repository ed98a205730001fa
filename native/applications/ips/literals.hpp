// Which rules can match at all: a text without the literal that a rule needs cannot (as Snort's fast patterns do), and all
// literals are looked for at once.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "inputs/rules.hpp"

namespace dpubench::applications {

/// The longest text that every match of the rule holds, in small letters; empty where none was found. What it does not understand
/// of a pattern it gives up on.
std::string required_literal(const inputs::Rule& rule);

/// All literals in one pass, letters of either case alike (Aho and Corasick, "Efficient string matching", 1975), as a table of
/// states by octet.
class Literals {
 public:
  /// @param literals  in small letters; empty ones are in every text
  explicit Literals(std::span<const std::string> literals);
  /// Sets those of `found` (one a literal) that occur in `text`; the others are cleared.
  void find(std::string_view text, std::vector<bool>& found) const;
  [[nodiscard]] std::size_t states() const { return next_.size(); }

 private:
  using Row = std::array<std::uint32_t, 256>;
  std::uint32_t insert(std::string_view literal);
  void connect();

  std::vector<Row> next_;
  std::vector<std::vector<std::uint32_t>> ends_;  ///< by state: literals that end there
  std::vector<std::uint32_t> suffix_;             ///< by state: the longest suffix that a literal begins with
  std::vector<std::uint32_t> report_;             ///< by state: the nearest on the way of suffixes at which literals end; 0: none
  std::vector<std::uint32_t> always_;
  std::size_t count_;
};

}  // namespace dpubench::applications
