#include "packet/reassembly.hpp"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/error.hpp"
#include "base/keyed_hash.hpp"

namespace dpubench::packet {

Reassembly::Reassembly(const Limits& limits) : limits_(limits), secret_(process_secret()) {
  if (limits.flows == 0 || limits.overlap_bytes == 0 || limits.overlap_bytes > limits.stretch_bytes / 4 ||
      limits.stretch_bytes > (1U << 30)) {
    throw Error("reassembly: " + std::to_string(limits.flows) + " flows, a stretch of " + std::to_string(limits.stretch_bytes) +
                " B and an overlap of " + std::to_string(limits.overlap_bytes) +
                " B: give at least one flow, and an overlap of at most a quarter of the stretch");
  }
  flows_.resize(limits.flows);
  buckets_.assign(std::bit_ceil(std::size_t{limits.flows} * 2), kNone);
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t wanted = std::size_t{limits.flows} * limits.stretch_bytes;
  memory_size_ = (wanted + page - 1) / page * page;
  memory_.reset(static_cast<std::byte*>(std::aligned_alloc(page, memory_size_)));
  if (memory_ == nullptr) {
    throw Error("reassembly: no memory for " + std::to_string(limits.flows) + " flows of " +
                std::to_string(limits.stretch_bytes) + " B: ask for fewer");
  }
}

std::size_t Reassembly::memory_bytes() const {
  return memory_size_ + flows_.size() * sizeof(Flow) + buckets_.size() * sizeof buckets_[0];
}

void Reassembly::clear() noexcept {
  std::fill(buckets_.begin(), buckets_.end(), kNone);
  counters_ = {};
  used_ = 0;
  oldest_ = youngest_ = kNone;
}

std::uint32_t Reassembly::bucket_of(const FlowKey& key) const noexcept {
  std::uint64_t hash = secret_;
  for (std::size_t i = 0; i < key.bytes.size(); i += sizeof hash) {
    std::uint64_t word;
    std::memcpy(&word, key.bytes.data() + i, sizeof word);
    hash = fold(hash ^ word, ~secret_ | 1);
  }
  return static_cast<std::uint32_t>(hash & (buckets_.size() - 1));
}

std::uint32_t Reassembly::longest_bucket() const noexcept {
  std::uint32_t longest = 0;
  for (const std::uint32_t first : buckets_) {
    std::uint32_t n = 0;
    for (std::uint32_t flow = first; flow != kNone; flow = flows_[flow].next) ++n;
    longest = std::max(longest, n);
  }
  return longest;
}

void Reassembly::unlink(std::uint32_t flow) noexcept {
  Flow& f = flows_[flow];
  (f.older == kNone ? oldest_ : flows_[f.older].younger) = f.younger;
  (f.younger == kNone ? youngest_ : flows_[f.younger].older) = f.older;
}

void Reassembly::make_youngest(std::uint32_t flow) noexcept {
  Flow& f = flows_[flow];
  f.older = youngest_;
  f.younger = kNone;
  (youngest_ == kNone ? oldest_ : flows_[youngest_].younger) = flow;
  youngest_ = flow;
}

std::uint32_t Reassembly::take_flow() noexcept {
  if (used_ < limits_.flows) return used_++;
  const std::uint32_t flow = oldest_;
  ++counters_.evicted;
  for (std::uint32_t* at = &buckets_[bucket_of(flows_[flow].key)]; *at != kNone; at = &flows_[*at].next) {
    if (*at != flow) continue;
    *at = flows_[flow].next;
    break;
  }
  unlink(flow);
  return flow;
}

std::uint32_t Reassembly::find(const FlowKey& key) noexcept {
  const std::uint32_t bucket = bucket_of(key);
  for (std::uint32_t flow = buckets_[bucket]; flow != kNone; flow = flows_[flow].next) {
    if (flows_[flow].key != key) continue;
    if (flow != youngest_) {
      unlink(flow);
      make_youngest(flow);
    }
    return flow;
  }
  const std::uint32_t flow = take_flow();
  Flow& f = flows_[flow];
  f.key = key;
  f.begun = f.has_initial = false;
  f.pieces = 0;
  f.next = buckets_[bucket];
  buckets_[bucket] = flow;
  make_youngest(flow);
  ++counters_.flows;
  return flow;
}

void Reassembly::begin(Flow& flow, std::uint32_t base) noexcept {
  flow.begun = true;
  flow.base = base;
  flow.pieces = 0;
}

void Reassembly::Scratch::add(Piece p) noexcept {
  if (n != 0 && piece[n - 1].end == p.begin && piece[n - 1].spent == p.spent) {
    piece[n - 1].end = p.end;
  } else {
    piece[n++] = p;
  }
}

/// Move the stretch on by so many bytes.
void Reassembly::move_on(std::uint32_t flow, std::uint32_t by) noexcept {
  Flow& f = flows_[flow];
  std::uint32_t kept = 0;
  for (std::uint32_t i = 0; i < f.pieces; ++i) {
    const Piece p = f.piece[i];
    counters_.forgotten_bytes += std::min(p.end, std::max(p.begin, by)) - p.begin;
    if (p.end > by) f.piece[kept++] = {std::max(p.begin, by) - by, p.end - by, p.spent};
  }
  f.pieces = kept;
  f.base += by;
  if (kept == 0) return;
  std::byte* const bytes = bytes_of(flow);
  const std::uint32_t begin = f.piece[0].begin;
  std::memmove(bytes + begin, bytes + begin + by, f.piece[kept - 1].end - begin);
}

/// Return the range from the first new byte of a segment to behind its last new one, or an empty range when there is none.
Reassembly::Stretch Reassembly::new_bytes(const Flow& flow, Stretch segment) noexcept {
  for (std::uint32_t i = 0; i < flow.pieces; ++i) {
    const Piece& p = flow.piece[i];
    if (p.begin <= segment.begin && p.end > segment.begin) segment.begin = std::min(p.end, segment.end);
  }
  for (std::uint32_t i = flow.pieces; i-- != 0;) {
    const Piece& p = flow.piece[i];
    if (p.end >= segment.end && p.begin < segment.end) segment.end = std::max(p.begin, segment.begin);
  }
  return segment;
}

/// Take the pieces over, without the lowest ones if there are too many.
void Reassembly::keep(std::uint32_t flow, const Scratch& scratch) noexcept {
  Flow& f = flows_[flow];
  const std::uint32_t too_many = scratch.n > kMostPieces ? scratch.n - kMostPieces : 0;
  std::copy_n(scratch.piece.begin() + too_many, scratch.n - too_many, f.piece.begin());
  f.pieces = scratch.n - too_many;
  if (too_many == 0) return;
  for (std::uint32_t i = 0; i < too_many; ++i) counters_.forgotten_bytes += scratch.piece[i].end - scratch.piece[i].begin;
  move_on(flow, scratch.piece[too_many - 1].end);
}

/// Copy the new bytes of a payload to their place. @param fresh  result of new_bytes()
void Reassembly::insert(std::uint32_t flow, std::uint32_t at, std::span<const std::byte> payload, Stretch fresh) noexcept {
  Flow& f = flows_[flow];
  std::byte* const bytes = bytes_of(flow);
  Scratch scratch;
  std::uint32_t cursor = fresh.begin;
  const auto fill = [&](std::uint32_t end) {
    if (cursor >= end) return;
    std::memcpy(bytes + cursor, payload.data() + (cursor - at), end - cursor);
    scratch.add({cursor, end, false});
  };
  for (std::uint32_t i = 0; i < f.pieces; ++i) {
    Piece p = f.piece[i];
    fill(std::min(fresh.end, p.begin));
    // New bytes lie on both sides: one window must show a text that lies across all of it.
    if (p.begin > fresh.begin && p.end < fresh.end) p.spent = false;
    scratch.add(p);
    cursor = std::max(cursor, p.end);
  }
  fill(fresh.end);
  keep(flow, scratch);
}

/// Return the window around new bytes, all of which lie in one piece. It is empty if they are forgotten already.
Window Reassembly::window(std::uint32_t flow, std::uint32_t first_sequence, std::uint32_t bytes) const noexcept {
  const Flow& f = flows_[flow];
  const std::uint32_t first = first_sequence - f.base;
  for (std::uint32_t i = 0; i < f.pieces; ++i) {
    const Piece& p = f.piece[i];
    if (first < p.begin || first >= p.end) continue;
    const std::uint32_t begin = first - std::min(first - p.begin, limits_.overlap_bytes);
    const std::uint32_t end = std::min(p.end, first + bytes + limits_.overlap_bytes);
    return {bytes_of(flow) + begin, end - begin, f.base + begin, flow};
  }
  return {nullptr, 0, 0, flow};
}

Window Reassembly::add(std::uint32_t flow, const TcpSegment& segment) noexcept {
  const Window nothing{nullptr, 0, 0, flow};
  Flow& f = flows_[flow];
  std::span<const std::byte> payload = segment.payload;
  std::uint32_t sequence = segment.sequence;
  if (segment.rst) {
    f.begun = f.has_initial = false;
    return nothing;
  }
  if (segment.syn) {
    // The SYN takes a number (RFC 9293 section 3.4). A SYN with another number begins a new connection between the same ports.
    ++sequence;
    if (!f.has_initial || f.initial != segment.sequence) begin(f, sequence);
    f.has_initial = true;
    f.initial = segment.sequence;
  }
  if (payload.empty()) return nothing;
  ++counters_.segments;
  if (payload.size() > limits_.stretch_bytes - limits_.overlap_bytes) {
    ++counters_.too_long;
    return nothing;
  }
  if (!f.begun) begin(f, sequence - limits_.stretch_bytes / 2);
  // Sequence numbers are compared modulo 2^32 (RFC 9293 section 3.4).
  const auto distance = static_cast<std::int32_t>(sequence - f.base);
  if (distance < 0) {
    const std::uint32_t before = f.base - sequence;
    if (before >= payload.size()) {
      ++counters_.old;
      return nothing;
    }
    payload = payload.subspan(before);
    sequence = f.base;
  }
  const auto bytes = static_cast<std::uint32_t>(payload.size());
  if (sequence - f.base + bytes > limits_.stretch_bytes) {
    const std::uint32_t at = sequence - f.base;
    move_on(flow, std::min(at + bytes - limits_.stretch_bytes / 2, at - limits_.overlap_bytes));
  }
  const std::uint32_t at = sequence - f.base;
  const Stretch fresh = new_bytes(f, {at, at + bytes});
  if (fresh.begin == fresh.end) {
    ++counters_.repeated;
    return nothing;
  }
  const std::uint32_t highest = f.pieces == 0 ? fresh.begin : f.piece[f.pieces - 1].end;
  if (fresh.begin != highest) ++counters_.out_of_order;
  const std::uint32_t first = f.base + fresh.begin;
  insert(flow, at, payload, fresh);
  return window(flow, first, fresh.end - fresh.begin);
}

void Reassembly::spend(const Window& window) noexcept {
  const Flow& f = flows_[window.flow];
  const std::uint32_t begin = window.sequence - f.base;
  const std::uint32_t end = begin + window.bytes;
  Scratch scratch;
  for (std::uint32_t i = 0; i < f.pieces; ++i) {
    const Piece p = f.piece[i];
    if (p.end <= begin || p.begin >= end) {
      scratch.add(p);
      continue;
    }
    if (p.begin < begin) scratch.add({p.begin, begin, p.spent});
    scratch.add({std::max(p.begin, begin), std::min(p.end, end), true});
    if (p.end > end) scratch.add({end, p.end, p.spent});
  }
  keep(window.flow, scratch);
}

}  // namespace dpubench::packet
