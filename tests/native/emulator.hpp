// Where tests of another architecture run under an emulator: how a program of their own build is started from within.
#pragma once

#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

namespace dpubench::test {

/// The emulator and its arguments, which go before a program of this build; none where this machine runs it itself.
inline std::vector<std::string> emulator() {
  std::vector<std::string> words;
  const char* const given = std::getenv("DPUBENCH_EMULATOR");
  std::istringstream lines(given == nullptr ? "" : given);
  for (std::string word; std::getline(lines, word);) words.push_back(word);
  return words;
}

}  // namespace dpubench::test
