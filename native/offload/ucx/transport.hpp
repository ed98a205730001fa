// Puts and gets by UCX (openucx.org), on memory that UCX allocated: only that is one-sided over shared memory.
#pragma once

#include <memory>

#include "offload/transport.hpp"

namespace dpubench::offload {

/// @throws Error when UCX cannot start
std::unique_ptr<Transport> open_ucx();
std::string ucx_version();

}  // namespace dpubench::offload
