// Files from the client to the server over one connection.
#pragma once

#include <cstdint>
#include <string>

#include "link/channel.hpp"
#include "link/content.hpp"
#include "link/job.hpp"
#include "link/phase.hpp"
#include "link/span.hpp"
#include "link/watch.hpp"

namespace dpubench::link {

/// What one end did.
struct Transferred {
  std::uint64_t verified_bytes = 0;  ///< of the first file, which is not timed, and of which the server compared every byte
  std::uint64_t files = 0;           ///< timed ones
  std::uint64_t bytes = 0;           ///< of them
  Taken taken;                       ///< by them; client: until the server has acknowledged the last byte
};

/// Send the file once, and then for the job's duration and at least once more. @throws Error the server did not get all of it
Transferred send_files(Channel& channel, const LinkJob& job, const ContentFile& file, Phase& phase);

/// Receive files until the client sends nothing more. @throws Error their content is wrong, or the last one is not whole
Transferred receive_files(Channel& channel, const LinkJob& job, Watch& watch, Phase& phase);

}  // namespace dpubench::link
