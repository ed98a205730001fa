// Reads the part of a processor description behind the core: caches, TLBs, memory, DMA.
#pragma once

#include "cores/model/description.hpp"
#include "cores/model/fields.hpp"

namespace dpubench::cores {

/// Read `caches`, `instruction_cache`, `data_cache`, `tlbs`, `memory` and `dma` of `whole`. Report faults to `reader`.
void read_memory_system(protocol::Reader& reader, const Fields& whole, Description& into);

}  // namespace dpubench::cores
