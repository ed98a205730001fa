// Requests and answers of one size over one connection.
#pragma once

#include <cstdint>

#include "link/job.hpp"
#include "link/phase.hpp"
#include "link/socket.hpp"
#include "link/span.hpp"
#include "measure/histogram.hpp"

namespace dpubench::link {

/// What the client saw.
struct RoundTrips {
  measure::Histogram times;    ///< from the call that sends a message to the last byte of its answer
  std::uint64_t messages = 0;  ///< timed ones
  std::uint64_t verified = 0;  ///< answers of which every byte was compared, before and after the timed ones
  Taken taken;                 ///< by the timed ones
};

/// What the server saw.
struct Answered {
  std::uint64_t messages = 0;  ///< timed ones
  Taken taken;                 ///< from the first timed message to the first one after them
};

/// Send messages and time their answers, for the job's duration and at least once. Before and after, answers are compared whole;
/// of timed ones the ends are, outside of the time. @throws Error an answer is wrong; the other end ends or is silent
RoundTrips measure_round_trips(Socket& socket, const LinkJob& job, Phase& phase);

/// Answer every message with itself until the client is done. @throws Error the client ends before
Answered answer_messages(Socket& socket, const LinkJob& job, Phase& phase);

/// Return how many messages go before the timed ones, and after them, so that both ends know. Large messages are fewer.
std::uint64_t verified_messages(std::size_t message_bytes);

}  // namespace dpubench::link
