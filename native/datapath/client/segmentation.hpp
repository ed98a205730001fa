// Cuts a message of the traffic model into TCP segments: out of order, some sent again, some with bytes of the one before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "datapath/job.hpp"
#include "inputs/random.hpp"

namespace dpubench::datapath {

/// The messages that are cut alike: they have the same number of segments that are sent again, and of segments that begin with
/// bytes of the one before.
struct SegmentKind {
  std::uint32_t retransmitted = 0;
  std::uint32_t overlapping = 0;
  double share = 1;  ///< share of the messages
};

/// Return the kinds whose shares add up exactly to TrafficSpec::retransmit_share and overlap_share of all segments, in whole
/// segments of a message. There is one kind, or two for each share that is no whole number of segments. @throws Error that
/// names the field when a message has too few segments
std::vector<SegmentKind> segment_kinds(const TrafficSpec& spec);

/// The segments of a message in sending order, all of the same length.
struct Segmentation {
  std::vector<std::uint32_t> at;       ///< first byte of each segment in the message; a segment that is sent again comes again
  std::vector<std::uint32_t> borders;  ///< ends of segments, behind which only the next segment has bytes; ascending
  std::uint32_t message_bytes = 0;
};

/// Bytes of a stream within which a signature lies, and their segments.
struct Message {
  std::vector<std::byte> bytes;
  Segmentation cut;
};

/// Draw how a message is cut. Its first segment goes first, so that a receiver knows where the stream begins. The others are
/// shuffled, and two or more are never all in order. A segment that is sent again comes at any place behind its first time.
/// @param segments  of the message, including those that are sent again @param bytes  of each; 0: the message is empty
Segmentation draw_segmentation(std::uint32_t segments, std::uint32_t bytes, const SegmentKind& kind, inputs::Random& random);

}  // namespace dpubench::datapath
