// The names of the workload forward and of its stage.
#pragma once

namespace dpubench::datapath::forward {

inline constexpr const char* kWorkload = "forward";
inline constexpr const char* kStage = "swap";

}  // namespace dpubench::datapath::forward
