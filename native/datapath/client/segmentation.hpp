// How a message of the traffic model is cut into TCP segments: out of order, some sent again, some with bytes of the one before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "datapath/job.hpp"
#include "inputs/random.hpp"

namespace dpubench::datapath {

/// Messages that are cut alike: so many of their segments are sent again, and so many begin with bytes of the one before.
struct SegmentKind {
  std::uint32_t retransmitted = 0;
  std::uint32_t overlapping = 0;
  double share = 1;  ///< of the messages
};

/// The kinds whose shares come to TrafficSpec::retransmit_share and overlap_share of all segments exactly, in whole segments of
/// a message: one, or two for each share that is no whole number of segments. @throws Error naming the field, where a message has
/// too few segments
std::vector<SegmentKind> segment_kinds(const TrafficSpec& spec);

/// One message's segments in sending order, all of as many bytes.
struct Segmentation {
  std::vector<std::uint32_t> at;       ///< first byte of each in the message; one that is sent again comes again
  std::vector<std::uint32_t> borders;  ///< where one segment ends and bytes come that only the next one brings; ascending
  std::uint32_t message_bytes = 0;
};

/// Bytes of a stream that a signature lies within.
struct Message {
  std::vector<std::byte> bytes;
  Segmentation cut;
};

/// The message's first segment goes first, so that a receiver knows where the stream begins. The others are shuffled, never all
/// in order where there are two; what is sent again comes at any place behind the first time.
/// @param segments of the message, those that are sent again among them @param bytes of each; 0: the message is empty
Segmentation draw_segmentation(std::uint32_t segments, std::uint32_t bytes, const SegmentKind& kind, inputs::Random& random);

}  // namespace dpubench::datapath
