#include "operators/buffers.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <numeric>

namespace dpubench {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kGuardBytes = 16;
constexpr std::byte kPoison{0xA5};
constexpr std::uint64_t kPoisonResult = 0xEEEEEEEEEEEEEEEEU;
constexpr std::uint32_t kPoisonLength = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t kLayoutLines = 512;  // the seed of a round moves the buffers by less than this many cache lines

std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

struct Slot {
  std::size_t in;
  std::size_t aux;
  std::size_t out;
  [[nodiscard]] std::size_t total() const { return in + aux + out; }
};

Slot slot_of(const Item& item) {
  return {aligned(item.in.size()), aligned(item.aux.size()), item.out_room == 0 ? 0 : aligned(item.out_room + kGuardBytes)};
}

}  // namespace

void detail::Unmap::operator()(std::byte* arena) const {
  munmap(arena, length);
}

std::size_t BufferSet::count_for(const Work& work, std::size_t bytes, std::size_t least) {
  std::size_t all = 0;
  for (const Item& item : work.items) all += slot_of(item).total();
  const std::size_t mean = std::max<std::size_t>(1, all / work.items.size());
  return std::max(least, (bytes + mean - 1) / mean);
}

std::size_t BufferSet::bytes_of(Items items, std::size_t count) const {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) bytes += slot_of(work_.items[items.first + i % items.count]).total();
  return bytes;
}

BufferSet::BufferSet(const Work& work, std::size_t count, std::uint32_t burst, std::uint64_t seed, std::span<const Items> others)
    : work_(work), burst_(burst), seed_(seed) {
  if (work.items.empty()) throw Error("the work has no items");
  const Items all{0, work.items.size()};
  const std::size_t repeat = std::lcm(all.count, static_cast<std::size_t>(burst));
  const std::size_t whole = count < repeat ? burst : repeat;
  count = (count + whole - 1) / whole * whole;
  std::size_t most = bytes_of(all, count);
  for (const Items& items : others) most = std::max(most, bytes_of(items, count));
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t length = (most + kLayoutLines * kAlignment + page - 1) / page * page;
  void* arena = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (arena == MAP_FAILED) throw std::bad_alloc();
  madvise(arena, length, MADV_HUGEPAGE);  // data planes keep packets on huge pages; without them TLB misses dominate
  arena_ = std::unique_ptr<std::byte[], detail::Unmap>(static_cast<std::byte*>(arena), detail::Unmap{length});

  in_.resize(count);
  in_len_.resize(count);
  out_.resize(count);
  out_room_.resize(count);
  out_len_.resize(count);
  aux_.resize(count);
  result_.resize(count);
  status_.resize(count);
  for (std::size_t i = 0; i < count; i += burst) {
    Burst& b = bursts_.emplace_back();
    b = {burst, &in_[i], &in_len_[i], &out_[i], &out_room_[i], &out_len_[i], &aux_[i], &result_[i], &status_[i], nullptr};
  }
  hold(all);
}

void BufferSet::hold(Items items) {
  const std::size_t repeat = std::lcm(items.count, static_cast<std::size_t>(burst_));
  if (size() > repeat && size() % repeat != 0)
    throw Error("the ring is not a whole number of cycles: it would hold some items more often than others");
  footprint_bytes_ = bytes_of(items, size());
  if (footprint_bytes_ + kLayoutLines * kAlignment > memory().size()) throw Error("the items do not fit in the buffers' memory");
  held_ = items;
  cycle_ = std::min(repeat, size()) / burst_;
  std::byte* at = arena_.get() + (seed_ * 0x9E3779B97F4A7C15U >> 32) % kLayoutLines * kAlignment;
  // Inputs lie together, and outputs lie after them. Received packets and transmit buffers lie like this too.
  for (std::size_t i = 0; i < size(); ++i) {
    const Item& item = work_.items[item_of(i)];
    std::copy(item.in.begin(), item.in.end(), at);
    in_[i] = at;
    in_len_[i] = static_cast<std::uint32_t>(item.in.size());
    at += slot_of(item).in;
    std::copy(item.aux.begin(), item.aux.end(), at);
    aux_[i] = at;
    at += slot_of(item).aux;
  }
  for (std::size_t i = 0; i < size(); ++i) {
    const Item& item = work_.items[item_of(i)];
    out_[i] = at;
    out_room_[i] = item.out_room;
    at += slot_of(item).out;
  }
  for (std::size_t i = 0; i < bursts_.size(); ++i) poison(i);
}

std::optional<BufferSet::InputRing> BufferSet::input_ring() const {
  const Slot slot = slot_of(work_.items[0]);
  const std::size_t stride = slot.in + slot.aux;
  for (std::size_t i = 0; i < size(); ++i) {
    if (in_[i] != in_[0] + i * stride) return std::nullopt;
  }
  if (stride == 0) return std::nullopt;
  return InputRing{in_[0], stride, size()};
}

void BufferSet::poison(std::size_t burst) {
  const std::size_t n = bursts_[burst].n;
  for (std::size_t i = burst * n; i < (burst + 1) * n; ++i) {
    if (out_room_[i] != 0) std::memset(out_[i], std::to_integer<int>(kPoison), out_room_[i] + kGuardBytes);
    out_len_[i] = kPoisonLength;
    result_[i] = kPoisonResult;
    status_[i] = kStatusPoison;
  }
}

bool BufferSet::guard_intact(std::size_t buffer) const {
  if (out_room_[buffer] == 0) return true;
  const std::byte* guard = out_[buffer] + out_room_[buffer];
  return std::all_of(guard, guard + kGuardBytes, [](std::byte b) { return b == kPoison; });
}

bool BufferSet::equals(std::size_t buffer, const Output& want, bool with_result) const {
  if (status_[buffer] != want.status || (with_result && result_[buffer] != want.result)) return false;
  if (want.status != kStatusOk) return guard_intact(buffer);  // the output of a rejected item has no meaning
  const std::size_t length = out_room_[buffer] == 0 ? 0 : out_len_[buffer];
  return length == want.bytes.size() && (length == 0 || std::memcmp(out_[buffer], want.bytes.data(), length) == 0) &&
         guard_intact(buffer);
}

Output BufferSet::output(std::size_t buffer) const {
  const std::string where = "item " + std::to_string(item_of(buffer)) + ": ";
  if (status_[buffer] == kStatusPoison) throw Error(where + "the engine left it unprocessed");
  Output out;
  out.status = status_[buffer];
  out.result = result_[buffer];
  if (out_room_[buffer] != 0) {
    if (out_len_[buffer] == kPoisonLength && out.status == kStatusOk)
      throw Error(where + "the engine did not say how much it wrote");
    if (!guard_intact(buffer))
      throw Error(where + "the engine wrote past its " + std::to_string(out_room_[buffer]) + " bytes of room");
    if (out.status == kStatusOk) {
      if (out_len_[buffer] > out_room_[buffer]) {
        throw Error(where + "the engine reports " + std::to_string(out_len_[buffer]) + " bytes of output in a room of " +
                    std::to_string(out_room_[buffer]));
      }
      out.bytes.assign(out_[buffer], out_[buffer] + out_len_[buffer]);
    }
  }
  return out;
}

void BufferSet::check_inputs(std::size_t burst) const {
  const std::size_t n = bursts_[burst].n;
  for (std::size_t i = burst * n; i < (burst + 1) * n; ++i) {
    const Item& item = work_.items[item_of(i)];
    if (!std::equal(item.in.begin(), item.in.end(), in_[i]) || !std::equal(item.aux.begin(), item.aux.end(), aux_[i])) {
      throw Error("item " + std::to_string(item_of(i)) + ": an engine wrote to its input");
    }
  }
}

void BufferSet::check_inputs() const {
  for (std::size_t burst = 0; burst < bursts_.size(); ++burst) check_inputs(burst);
}

void BufferSet::restore_inputs() {
  for (std::size_t i = 0; i < size(); ++i) {
    // Inputs are const for engines, but the arena belongs to this class.
    const Item& item = work_.items[item_of(i)];
    std::copy(item.in.begin(), item.in.end(), const_cast<std::byte*>(in_[i]));
    std::copy(item.aux.begin(), item.aux.end(), const_cast<std::byte*>(aux_[i]));
  }
}

std::uint64_t BufferSet::in_bytes(std::size_t burst) const {
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < bursts_[burst].n; ++i) sum += bursts_[burst].in_len[i];
  return sum;
}

std::uint64_t BufferSet::out_bytes(std::size_t burst) const {
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < bursts_[burst].n; ++i) {
    if (bursts_[burst].out_room[i] != 0 && bursts_[burst].out_len[i] != kPoisonLength) sum += bursts_[burst].out_len[i];
  }
  return sum;
}

std::uint64_t BufferSet::result_sum(std::size_t burst) const {
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < bursts_[burst].n; ++i) {
    if (bursts_[burst].result[i] != kPoisonResult) sum += bursts_[burst].result[i];
  }
  return sum;
}

}  // namespace dpubench
