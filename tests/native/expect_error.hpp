// A dpubench::Error and what its message must hold.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace dpubench::test {

/// Runs `what`, expects an Error, and each of `parts` in its message.
template <class F>
void expect_error(F what, std::initializer_list<std::string_view> parts) {
  try {
    what();
  } catch (const Error& e) {
    for (const std::string_view part : parts)
      EXPECT_NE(std::string_view(e.what()).find(part), std::string_view::npos) << part << "\nin: " << e.what();
    return;
  }
  ADD_FAILURE() << "no Error was thrown";
}

}  // namespace dpubench::test
