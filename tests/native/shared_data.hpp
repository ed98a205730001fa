// Where the developer data lies that tests may use but must not need: captures, routing tables, rules.
#pragma once

#include <cstdlib>
#include <filesystem>

namespace dpubench::test {

/// $DPUBENCH_SHARED_DATA, else ../shared/data beside the repository.
inline std::filesystem::path shared_data() {
  if (const char* given = std::getenv("DPUBENCH_SHARED_DATA"); given != nullptr) return given;
  return std::filesystem::path(__FILE__).parent_path() / "../../../shared/data";
}

}  // namespace dpubench::test

/// Skips the test, with the reason, when `path` below the shared data is not there.
#define NEED_SHARED_DATA(path)                                          \
  if (!std::filesystem::exists(dpubench::test::shared_data() / (path))) \
  GTEST_SKIP() << "no " << (path) << " in " << dpubench::test::shared_data() << "; set DPUBENCH_SHARED_DATA"
