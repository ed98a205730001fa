// Memory of packet buffers for all tests of one process.
#pragma once

#include "datapath/memory.hpp"

namespace dpubench::test {

/// Starts the EAL with room for the pools of every test, many of which live as long as the process; memory is used as it is
/// touched.
inline void start_memory() {
  datapath::start_eal({false, 4096});
}

}  // namespace dpubench::test
