// Selects the rules that can match. A text without a rule's required literal cannot match the rule (compare Snort's fast
// patterns). One pass finds all literals.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "inputs/rules.hpp"

namespace dpubench::applications {

/// Return the longest text that every match of the rule contains, in lowercase. Empty if there is none, if it is too short to
/// help, or if this function does not understand the pattern.
std::string required_literal(const inputs::Rule& rule);

/// A search for all literals in one pass, ignoring case (Aho and Corasick, "Efficient string matching", 1975). The automaton is a
/// table of states by octet.
class Literals {
 public:
  /// @param literals  in lowercase; an empty literal occurs in every text
  explicit Literals(std::span<const std::string> literals);
  /// Set the entries of `found` (one per literal) whose literals occur in `text`, and clear the others.
  void find(std::string_view text, std::vector<bool>& found) const;
  [[nodiscard]] std::size_t states() const { return next_.size(); }

 private:
  using Row = std::array<std::uint32_t, 256>;
  std::uint32_t insert(std::string_view literal);
  void connect();

  std::vector<Row> next_;
  std::vector<std::vector<std::uint32_t>> ends_;  ///< by state: literals that end there
  std::vector<std::uint32_t> suffix_;             ///< by state: the longest suffix that begins a literal
  std::vector<std::uint32_t> report_;             ///< by state: nearest state along the suffixes at which literals end; 0: none
  std::vector<std::uint32_t> always_;
  std::size_t count_;
};

}  // namespace dpubench::applications
