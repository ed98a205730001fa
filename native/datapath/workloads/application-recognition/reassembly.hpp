// Payloads of TCP flows put side by side as far as a search across segments needs it. No DPDK.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

namespace dpubench::datapath::recognition {

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

/// What is to be searched because of a segment.
struct Window {
  const std::byte* data = nullptr;  ///< valid until the next add() to the same flow
  std::uint32_t bytes = 0;          ///< 0: the segment brought nothing new
  std::uint32_t sequence = 0;       ///< of its first byte
  std::uint32_t flow = 0;
};

/// Of every flow a stretch of the sequence space is kept, with the bytes of it that were seen. A segment that brings new bytes
/// yields the contiguous stretch around them, `overlap_bytes` to either side: what is not longer than that and one byte is found
/// when its last byte arrives, whatever the order of the segments.
///
/// - Of bytes that come twice the first copy is kept (retransmission, overlap). RFC 9293 leaves that open and operating systems
///   differ (Novak and Sturges, "Target-based TCP stream reassembly", 2007).
/// - What was found is spent (spend()): no later window reaches into it, so that nothing is found twice. Only where a segment
///   brings new bytes on both sides of it is it searched again.
/// - A flow begins with its SYN, or in mid-stream with the first segment seen; half of the stretch is room for what comes before.
/// - The stretch moves on with the highest byte seen; what falls out behind is forgotten, and what arrives from there is old. So
///   it is with the lowest of more than kMostPieces pieces. When flows run out, the one that was idle for longest is evicted.
///
/// Memory is allocated once, and nothing after that.
class Reassembly {
 public:
  static constexpr std::uint32_t kMostPieces = 24;

  struct Limits {
    std::uint32_t flows = 4096;
    std::uint32_t stretch_bytes = 16384;  ///< of each flow
    std::uint32_t overlap_bytes = 256;    ///< at most a quarter of it
  };
  struct Counters {
    std::uint64_t flows = 0;            ///< begun
    std::uint64_t evicted = 0;          ///< of those
    std::uint64_t segments = 0;         ///< with payload
    std::uint64_t repeated = 0;         ///< segments of which every byte was there
    std::uint64_t out_of_order = 0;     ///< segments with new bytes below the highest byte seen, or behind a gap
    std::uint64_t old = 0;              ///< segments from before the stretch
    std::uint64_t too_long = 0;         ///< segments that the stretch cannot hold
    std::uint64_t forgotten_bytes = 0;  ///< seen, and out of the stretch
  };

  /// @throws Error on limits that contradict each other, or when memory does not suffice
  explicit Reassembly(const Limits& limits);

  /// Index of the flow, which is made when there is none. It becomes the youngest: the next Limits::flows - 1 other ones that are
  /// made do not evict it.
  std::uint32_t find(const FlowKey& key) noexcept;
  Window add(std::uint32_t flow, const TcpSegment& segment) noexcept;
  /// The window held what was looked for. Before the next add() to its flow.
  void spend(const Window& window) noexcept;
  /// Forgets all flows and counts.
  void clear() noexcept;

  [[nodiscard]] const Limits& limits() const { return limits_; }
  [[nodiscard]] const Counters& counters() const { return counters_; }
  [[nodiscard]] std::uint32_t live_flows() const { return used_; }
  [[nodiscard]] std::size_t memory_bytes() const;
  /// Where all windows lie: whole pages.
  [[nodiscard]] std::span<std::byte> memory() { return {memory_.get(), memory_size_}; }
  /// Flows that a search may have to pass.
  [[nodiscard]] std::uint32_t longest_bucket() const noexcept;
  /// Sequence number where the stretch of a flow that has had a segment begins.
  [[nodiscard]] std::uint32_t floor(std::uint32_t flow) const { return flows_[flow].base; }
  [[nodiscard]] std::uint32_t pieces(std::uint32_t flow) const { return flows_[flow].pieces; }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  /// Bytes that were seen, as offsets from the stretch's beginning.
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
    std::uint32_t next = kNone;              ///< of the bucket
    std::uint32_t older = kNone;
    std::uint32_t younger = kNone;
  };
  /// Pieces while one segment is put in: at most one more before, between and behind those that there are.
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
  std::vector<std::uint32_t> buckets_;  ///< a power of two
  std::unique_ptr<std::byte, Free> memory_;
  std::size_t memory_size_ = 0;
  std::uint32_t used_ = 0;
  std::uint32_t oldest_ = kNone;
  std::uint32_t youngest_ = kNone;
};

}  // namespace dpubench::datapath::recognition
