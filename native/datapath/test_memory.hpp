// The memory of packet buffers for all tests of one process.
#pragma once

#include "datapath/memory.hpp"

namespace dpubench::test {

/// Start the EAL with room for the pools of every test. Many pools live as long as the process. Memory is used only once it is
/// touched.
inline void start_memory() {
  datapath::start_eal({false, 4096});
}

}  // namespace dpubench::test
