// The number of messages that a group works on, the number of buffers for them, and how much of the caches these fill.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "operators/operator.hpp"
#include "protocol/job.hpp"
#include "protocol/machine.hpp"

namespace dpubench {

/// The number of buffers of the resident footprint.
inline constexpr std::size_t kResidentBuffers = 32;

/// Return the bytes of cache lines that a thread's buffers of footprint `stream` fill: a multiple of L2.
std::size_t stream_bytes(const protocol::Caches& caches);
/// Return the same for footprint `memory`: all threads together fill a multiple of the last-level cache that they share.
std::size_t memory_bytes(const protocol::Caches& caches, unsigned threads);

/// Return the number of messages that the work of a group should hold. The number is the same on every machine: it is part of the
/// input.
/// @param operations  operations of a trace, which needs no more messages than that; 0: not traced
std::uint32_t distinct_messages(const Operator& op, const Params& params, const protocol::JobGroup& group,
                                std::uint64_t operations);

/// Return the bytes of cache lines of a message that every engine reads or writes.
std::size_t touched_bytes(const Operator& op, const Params& params, const Item& item);

/// The number of buffers of a thread.
struct RingSize {
  std::size_t buffers = kResidentBuffers;
  std::string capped;  ///< why there are fewer buffers than the footprint asks for; else empty
};

/// Return the size of a thread's ring.
/// @param least       buffers that the lanes need
/// @param operations  operations of a trace: each has at most one buffer of its own; 0: not traced
/// @param available   bytes of free memory of the machine
RingSize ring_size(const Operator& op, const Work& work, const protocol::JobGroup& group, std::size_t least,
                   std::uint64_t operations, const protocol::Caches& caches, std::uint64_t available);

/// The contents of a ring of this many buffers.
struct Extent {
  std::size_t touched_bytes = 0;             ///< bytes of cache lines in it that every engine reads or writes
  std::size_t distinct_messages = 0;         ///< number of different messages in it
  std::optional<std::size_t> distinct_keys;  ///< number of different Operator::key(); none if messages have no key
};
Extent extent(const Operator& op, const Work& work, std::size_t buffers);

}  // namespace dpubench
