// MPI as the wire between ranks, and its own collectives.
#pragma once

#include <memory>

#include "offload/wire.hpp"

namespace dpubench::offload {

class MpiWire : public Wire {
 public:
  /// End MPI. Waits for the other ranks a few seconds; if they do not come, it ends them and this process with `status`.
  virtual void close(int status) = 0;
};

/// Start MPI. No thread may have started before, and signals be blocked that threads must not take. @throws Error
std::unique_ptr<MpiWire> open_mpi(int* argc, char*** argv);
/// Return the library's name and version in one line, also without open_mpi().
std::string mpi_version();

}  // namespace dpubench::offload
