// How many messages a group works on, how many buffers they lie in, and how much of the caches these fill.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "operators/operator.hpp"
#include "protocol/job.hpp"
#include "protocol/machine.hpp"

namespace dpubench {

/// Buffers of the resident footprint.
inline constexpr std::size_t kResidentBuffers = 32;

/// Bytes of cache lines that a thread's buffers of footprint `stream` fill: a multiple of L2.
std::size_t stream_bytes(const protocol::Caches& caches);
/// The same for footprint `memory`: all threads together fill a multiple of the last level that they share.
std::size_t memory_bytes(const protocol::Caches& caches, unsigned threads);

/// Messages that the work of a group should hold. The number is the same on every machine: it is part of the input.
/// @param operations  of a trace, which has no use for more; 0: not traced
std::uint32_t distinct_messages(const Operator& op, const Params& params, const protocol::JobGroup& group,
                                std::uint64_t operations);

/// Bytes of cache lines of a message that every engine reads or writes.
std::size_t touched_bytes(const Operator& op, const Params& params, const Item& item);

/// Buffers of a thread.
struct RingSize {
  std::size_t buffers = kResidentBuffers;
  std::string capped;  ///< why there are fewer than the footprint asks for; else empty
};

/// @param least      that the lanes need
/// @param operations  of a trace, each of which has a buffer of its own at most; 0: not traced
/// @param available  memory of the machine that nobody uses
RingSize ring_size(const Operator& op, const Work& work, const protocol::JobGroup& group, std::size_t least,
                   std::uint64_t operations, const protocol::Caches& caches, std::uint64_t available);

/// What a ring of so many buffers holds.
struct Extent {
  std::size_t touched_bytes = 0;             ///< of cache lines that every engine reads or writes in it
  std::size_t distinct_messages = 0;         ///< that differ
  std::optional<std::size_t> distinct_keys;  ///< Operator::key() of these; none where messages have no key
};
Extent extent(const Operator& op, const Work& work, std::size_t buffers);

}  // namespace dpubench
