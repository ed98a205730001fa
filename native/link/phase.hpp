// What an end is doing, for its failure event.
#pragma once

#include <string_view>

namespace dpubench::link {

struct Phase {
  std::string_view name = "prepare";  ///< then "verify", then "measure"
};

}  // namespace dpubench::link
