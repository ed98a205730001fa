// The first words of a connection, by which both ends know that they do the same.
#pragma once

#include "link/channel.hpp"
#include "link/job.hpp"

namespace dpubench::link {

/// Exchange jobs with the other end. @throws Error when it is no dpubench-link of this version, or its job differs
void greet(Channel& channel, const LinkJob& job);

}  // namespace dpubench::link
