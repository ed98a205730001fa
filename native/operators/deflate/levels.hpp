// The parameters of deflate for its engines: how `level` maps to the levels of one library, and the room for output.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "operators/support/codecs/codec.hpp"

namespace dpubench {

/// The levels of a library: the numbers `min` to `max`. Three of them stand for the words fast, default and best.
struct LevelRange {
  std::string_view library;
  int min;
  int max;
  int fast;
  int middle;
  int best;
};

/// zlib: Z_BEST_SPEED, the level that Z_DEFAULT_COMPRESSION stands for, Z_BEST_COMPRESSION. isal: the lowest level of igzip, the
/// default of the igzip program, ISAL_DEF_MAX_LEVEL. libdeflate: the levels that libdeflate.h describes. portable: its own three.
/// compressdev: RTE_COMP_LEVEL_MIN, RTE_COMP_LEVEL_PMD_DEFAULT (the driver's default), RTE_COMP_LEVEL_MAX.
inline constexpr std::array<LevelRange, 5> kLevelRanges = {{
    {"zlib", 1, 9, 1, 6, 9},
    {"isal", 0, 3, 0, 2, 3},
    {"libdeflate", 1, 12, 1, 6, 12},
    {"portable", 1, 3, 1, 2, 3},
    {"compressdev", 1, 9, 1, -1, 9},
}};

/// Return all values of the parameter: fast, default, best, and LIBRARY-N.
inline std::vector<std::string> level_names() {
  std::vector<std::string> names = {"fast", "default", "best"};
  for (const LevelRange& range : kLevelRanges) {
    for (int level = range.min; level <= range.max; ++level)
      names.push_back(std::string(range.library) + '-' + std::to_string(level));
  }
  return names;
}

/// Return the level of a library that `params` ask for, or nothing if they name a level of another library.
inline std::optional<int> level_of(const Params& params, std::string_view library) {
  const std::string& name = params.text("level");
  for (const LevelRange& range : kLevelRanges) {
    if (range.library != library) continue;
    if (name == "fast") return range.fast;
    if (name == "default") return range.middle;
    if (name == "best") return range.best;
    for (int level = range.min; level <= range.max; ++level) {
      if (name == std::string(library) + '-' + std::to_string(level)) return level;
    }
  }
  return std::nullopt;
}

/// Return why an engine cannot take the level in `params`, or an empty string.
inline std::string level_unsupported(const Params& params, std::string_view library) {
  if (!CodecOperator::packs(params) || level_of(params, library)) return {};
  return params.text("level") + " is a level of another library";
}

inline bool reuses_stream(const Params& params) {
  return params.is("stream", "reused");
}

/// Return the bytes of output that any engine may need for `size` bytes of input.
inline std::size_t compressed_room(const Params& params, std::size_t size) {
  // At its lowest level, igzip has one built-in code of up to 15 bits per literal and a header of up to ISAL_DEF_MAX_HDR_SIZE
  // (328) bytes. A stream cannot switch to stored blocks.
  if (reuses_stream(params)) return 2 * size + 512;
  // zlib's deflateBound for parameters other than its defaults allows an eighth, a 64th and 5 bytes more than the input.
  return size + size / 8 + size / 64 + 64;
}

}  // namespace dpubench
