// The common part of this folder's tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "headroom/job.hpp"
#include "headroom/session.hpp"

namespace dpubench::headroom::test {

/// Return the message of the Error that `call` throws, or "" if it throws none.
template <class Call>
std::string fault_of(Call call) {
  try {
    call();
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

inline HeadroomJob job_of(unsigned threads) {
  HeadroomJob job;
  job.threads = threads;
  return job;
}

/// Open a session that tells nothing of its progress. @throws Error
inline std::unique_ptr<HeadroomSession> session_of(const HeadroomJob& job, const EngineCatalog& engines = {}) {
  return std::make_unique<HeadroomSession>(job, engines, [](std::string_view) {});
}

/// Expect that a crew refuses trials that are none of its job, which was opened for two threads and names no operator.
/// @param begin begins a trial
template <class Begin>
void expect_refusals_of_crew(Begin begin) {
  EXPECT_NE(fault_of([&] { begin({.size = 100, .threads = 3}); }).find("opened for 2"), std::string::npos);
  EXPECT_NE(fault_of([&] { begin({.size = 100, .delay = Delay::kOperator}); }).find("names no operator"), std::string::npos);
}

}  // namespace dpubench::headroom::test
