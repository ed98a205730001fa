// Puts payloads of TCP flows side by side, as far as a search across segments needs it. Uses no DPDK.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

namespace dpubench::packet {

/// One direction of a TCP connection: addresses (IPv4 ones in their first four bytes), ports, version.
struct FlowKey {
  std::array<std::byte, 40> bytes{};
  bool operator==(const FlowKey&) const = default;
};

struct TcpSegment {
  std::uint32_t sequence = 0;  ///< as the header has it (RFC 9293 section 3.1)
  bool syn = false;
  bool rst = false;
  std::span<const std::byte> payload;
};

/// The text to search because of a segment.
struct Window {
  const std::byte* data = nullptr;  ///< valid until the next add() to the same flow
  std::uint32_t bytes = 0;          ///< 0: the segment brought nothing new
  std::uint32_t sequence = 0;       ///< sequence number of its first byte
  std::uint32_t flow = 0;
};

/// The payloads of flows. Of every flow a stretch of the sequence space is kept, with the bytes of it that were seen. A segment
/// that brings new bytes yields the contiguous text around them, with `overlap_bytes` to either side. So a match of up to
/// `overlap_bytes` + 1 bytes is found when its last byte arrives, whatever the order of the segments.
///
/// - If bytes come twice (retransmission, overlap), the first copy is kept. RFC 9293 leaves that open, and operating systems
///   differ (Novak and Sturges, "Target-based TCP stream reassembly", 2007).
/// - A text with a match is spent (spend()). No later window reaches into it, so that nothing is found twice. It is searched
///   again only when a segment brings new bytes on both sides of it.
/// - A flow begins with its SYN, or in mid-stream with the first segment seen. In mid-stream, half of the stretch is room for
///   earlier bytes.
/// - The stretch moves on with the highest byte seen. Bytes that fall out behind are forgotten, and bytes that arrive from there
///   are old. If there are more than kMostPieces pieces, the lowest are forgotten in the same way. When flows run out, the one
///   that was idle for longest is evicted.
///
/// Memory is allocated once, and nothing after that.
class Reassembly {
 public:
  static constexpr std::uint32_t kMostPieces = 24;

  struct Limits {
    std::uint32_t flows = 4096;
    std::uint32_t stretch_bytes = 16384;  ///< bytes of the stretch of each flow
    std::uint32_t overlap_bytes = 256;    ///< at most a quarter of the stretch
  };
  struct Counters {
    std::uint64_t flows = 0;            ///< flows begun
    std::uint64_t evicted = 0;          ///< flows evicted
    std::uint64_t segments = 0;         ///< segments with payload
    std::uint64_t repeated = 0;         ///< segments that brought no new byte
    std::uint64_t out_of_order = 0;     ///< segments with new bytes below the highest byte seen, or behind a gap
    std::uint64_t old = 0;              ///< segments from before the stretch
    std::uint64_t too_long = 0;         ///< segments that the stretch cannot hold
    std::uint64_t forgotten_bytes = 0;  ///< bytes seen that fell out of the stretch
  };

  /// Allocate the memory. @throws Error on limits that contradict each other, or when memory does not suffice
  explicit Reassembly(const Limits& limits);

  /// Return the index of the flow, and make the flow when there is none. It becomes the youngest: the next Limits::flows - 1
  /// other flows that are made do not evict it.
  std::uint32_t find(const FlowKey& key) noexcept;
  Window add(std::uint32_t flow, const TcpSegment& segment) noexcept;
  /// Mark the window as one that held a match. Call this before the next add() to its flow.
  void spend(const Window& window) noexcept;
  /// Forget all flows and counts.
  void clear() noexcept;

  [[nodiscard]] const Limits& limits() const { return limits_; }
  [[nodiscard]] const Counters& counters() const { return counters_; }
  [[nodiscard]] std::uint32_t live_flows() const { return used_; }
  [[nodiscard]] std::size_t memory_bytes() const;
  /// Return the memory where all windows lie: whole pages.
  [[nodiscard]] std::span<std::byte> memory() { return {memory_.get(), memory_size_}; }
  /// Return the most flows that a search may have to pass.
  [[nodiscard]] std::uint32_t longest_bucket() const noexcept;
  /// Return the sequence number where the stretch of a flow begins. The flow must have had a segment.
  [[nodiscard]] std::uint32_t floor(std::uint32_t flow) const { return flows_[flow].base; }
  [[nodiscard]] std::uint32_t pieces(std::uint32_t flow) const { return flows_[flow].pieces; }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  /// A range of bytes that were seen, as offsets from the stretch's beginning.
  struct Piece {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    bool spent = false;
  };
  struct Flow {
    FlowKey key;
    std::uint32_t base = 0;  ///< sequence number of offset 0
    std::uint32_t initial = 0;
    bool begun = false;
    bool has_initial = false;  ///< its SYN was seen
    std::uint32_t pieces = 0;
    std::array<Piece, kMostPieces> piece{};  ///< in order, disjoint; neighbours that touch differ in `spent`
    std::uint32_t next = kNone;              ///< next flow of the bucket
    std::uint32_t older = kNone;
    std::uint32_t younger = kNone;
  };
  /// The pieces while one segment is put in: at most one more before, between and behind the existing ones.
  struct Scratch {
    std::uint32_t n = 0;
    std::array<Piece, 2 * kMostPieces + 1> piece;
    void add(Piece p) noexcept;
  };
  struct Stretch {
    std::uint32_t begin;
    std::uint32_t end;
  };
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };

  [[nodiscard]] std::byte* bytes_of(std::uint32_t flow) const noexcept {
    return memory_.get() + std::size_t{flow} * limits_.stretch_bytes;
  }
  [[nodiscard]] std::uint32_t bucket_of(const FlowKey& key) const noexcept;
  [[nodiscard]] std::uint32_t take_flow() noexcept;
  void unlink(std::uint32_t flow) noexcept;
  void make_youngest(std::uint32_t flow) noexcept;
  void begin(Flow& flow, std::uint32_t base) noexcept;
  void move_on(std::uint32_t flow, std::uint32_t by) noexcept;
  [[nodiscard]] static Stretch new_bytes(const Flow& flow, Stretch segment) noexcept;
  void insert(std::uint32_t flow, std::uint32_t at, std::span<const std::byte> payload, Stretch fresh) noexcept;
  void keep(std::uint32_t flow, const Scratch& scratch) noexcept;
  [[nodiscard]] Window window(std::uint32_t flow, std::uint32_t first_sequence, std::uint32_t bytes) const noexcept;

  Limits limits_;
  std::uint64_t secret_;
  Counters counters_;
  std::vector<Flow> flows_;
  std::vector<std::uint32_t> buckets_;  ///< their number is a power of two
  std::unique_ptr<std::byte, Free> memory_;
  std::size_t memory_size_ = 0;
  std::uint32_t used_ = 0;
  std::uint32_t oldest_ = kNone;
  std::uint32_t youngest_ = kNone;
};

}  // namespace dpubench::packet
