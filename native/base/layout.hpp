// Which of its code layouts the running program has: orders in which the same functions were linked (native/layout.py).
#pragma once

#include <filesystem>

namespace dpubench {

/// Layout 0 lies in a folder of programs, layout K in `layouts/K` there.
struct Layout {
  std::filesystem::path folder;  ///< of the library, with `engines` beside it
  unsigned number = 0;
  unsigned count = 1;  ///< that this build has
};

/// The layout that a library belongs to, told from where it lies.
Layout layout_of(const std::filesystem::path& library);

/// The layout that runs: that of the library with this function in it, whichever program loaded it, and by which loader.
Layout layout();

}  // namespace dpubench
