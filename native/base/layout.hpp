// Finds the code layout of the running program. Code layouts link the same functions in different orders (native/layout.py).
#pragma once

#include <filesystem>

namespace dpubench {

/// The place of a code layout. Layout 0 lies in a folder of programs, layout K in `layouts/K` below that folder.
struct Layout {
  std::filesystem::path folder;  ///< folder of the library, with `engines` beside it
  unsigned number = 0;
  unsigned count = 1;  ///< layouts in this build
};

/// Return the layout of a library. The library's path tells it.
Layout layout_of(const std::filesystem::path& library);

/// Return the running layout: the layout of the library that holds this function, whichever program and loader loaded it.
Layout layout();

}  // namespace dpubench
