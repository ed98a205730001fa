// deflate, engines compressdev-isal, compressdev-zlib and compressdev: a compression device behind DPDK's compressdev, which is
// hardware or a driver in software.
// requires: libdpdk >= 22.11
// cxxflags: -DALLOW_EXPERIMENTAL_API
#include <rte_comp.h>
#include <rte_compressdev.h>
#include <rte_errno.h>
#include <rte_log.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "operators/deflate/levels.hpp"
#include "operators/engine.hpp"
#include "operators/support/deflate_format.hpp"
#include "operators/support/dpdk_device.hpp"

namespace dpubench {
namespace {

using dpdk::kDescriptors;
using dpdk::QueueLane;
using dpdk::Tag;

constexpr std::uint32_t kSegment = std::numeric_limits<std::uint16_t>::max();  ///< bytes of an mbuf: its lengths have 16 bits
/// A message up to here is given an output buffer of one mbuf, although more room is there: what does not shrink is stored, and
/// 65 stored blocks need less than the rest.
constexpr std::uint32_t kLinearInput = 65000;
constexpr int kWindowBits = 15;                ///< of every other engine's streams
constexpr std::uint32_t kMostSegments = 8192;  ///< of all operations of a lane, unless that were too few operations
constexpr std::uint32_t kLeastJobs = 256;
constexpr std::uint16_t kMostQueuePairs = 64;       ///< set up of a device that has as many
constexpr std::uint16_t kPrivateTransforms = 1024;  ///< of the lanes of all sessions

std::uint32_t segments_of(std::size_t bytes) {
  return std::max<std::uint32_t>(1, static_cast<std::uint32_t>((bytes + kSegment - 1) / kSegment));
}

/// What a driver says that it does with DEFLATE.
struct Capabilities {
  std::uint64_t flags = 0;  ///< RTE_COMP_FF_*
  int window_bits = 0;
  bool knows_end = true;  ///< whether decompression rejects a stream that ends early; of hardware that shows when it is tried
  [[nodiscard]] bool has(std::uint64_t flag) const { return (flags & flag) != 0; }
  /// Whether it takes so many mbufs of input and of output.
  [[nodiscard]] bool takes(std::uint32_t in_segments, std::uint32_t out_segments) const {
    if (in_segments == 1 && out_segments == 1) return true;
    return has(in_segments == 1    ? RTE_COMP_FF_OOP_LB_IN_SGL_OUT
               : out_segments == 1 ? RTE_COMP_FF_OOP_SGL_IN_LB_OUT
                                   : RTE_COMP_FF_OOP_SGL_IN_SGL_OUT);
  }
};

/// A driver in software, and what it can do: drivers do not tell before there is a device, and listing engines makes none.
/// Session compares it with what the device says.
struct Software {
  dpdk::SoftwareDriver driver;
  std::string library;  ///< whose levels it has, too
  Capabilities capabilities;
};

constexpr std::uint64_t kCodes = RTE_COMP_FF_HUFFMAN_FIXED | RTE_COMP_FF_HUFFMAN_DYNAMIC;
constexpr std::uint64_t kChains = RTE_COMP_FF_OOP_SGL_IN_SGL_OUT | RTE_COMP_FF_OOP_SGL_IN_LB_OUT | RTE_COMP_FF_OOP_LB_IN_SGL_OUT;

const std::vector<Software>& software_drivers() {
  static const std::vector<Software> drivers = {
      {dpdk::software_driver("compressdev-isal", "compress_isal", "librte_compress_isal"), "isal", {kCodes | kChains, 15, false}},
      {dpdk::software_driver("compressdev-zlib", "compress_zlib", "librte_compress_zlib"), "zlib", {kCodes, 15, false}},
  };
  return drivers;
}

/// A configured and started device.
struct Device {
  std::uint8_t id = 0;
  std::string name;
  std::string driver;
  std::string isa;
  bool is_hardware = false;
  Capabilities capabilities;
  std::uint16_t queue_pairs = 0;
  std::unique_ptr<dpdk::Turn[]> turns;  ///< of each queue pair
};

std::string isa_of(std::uint64_t flags) {
  if ((flags & RTE_COMPDEV_FF_HW_ACCELERATED) != 0) return "device";
  if ((flags & RTE_COMPDEV_FF_CPU_AVX512) != 0) return "avx512";
  if ((flags & RTE_COMPDEV_FF_CPU_AVX2) != 0) return "avx2";
  if ((flags & RTE_COMPDEV_FF_CPU_AVX) != 0) return "avx";
  if ((flags & RTE_COMPDEV_FF_CPU_SSE) != 0) return "sse";
  if ((flags & RTE_COMPDEV_FF_CPU_NEON) != 0) return "neon";
  return "chosen by library";
}

/// @throws Error when the device has no DEFLATE, or cannot be set up
std::unique_ptr<Device> start_device(std::uint8_t id, std::uint16_t most_queue_pairs) {
  auto device = std::make_unique<Device>();
  device->id = id;
  device->name = rte_compressdev_name_get(id);
  rte_compressdev_info info{};
  rte_compressdev_info_get(id, &info);
  device->driver = info.driver_name == nullptr ? "unknown" : info.driver_name;
  device->isa = isa_of(info.feature_flags);
  device->is_hardware = (info.feature_flags & RTE_COMPDEV_FF_HW_ACCELERATED) != 0;
  const rte_compressdev_capabilities* const deflate = rte_compressdev_capability_get(id, RTE_COMP_ALGO_DEFLATE);
  if (deflate == nullptr) throw Error("the device " + device->name + " has no DEFLATE");
  device->capabilities = {deflate->comp_feature_flags, deflate->window_size.max};
  device->queue_pairs = info.max_nb_queue_pairs == 0 ? most_queue_pairs : std::min(info.max_nb_queue_pairs, most_queue_pairs);
  const auto demand = [&](int result, const std::string& what) {
    if (result < 0) throw Error("DPDK: " + what + " of " + device->name + ": " + rte_strerror(-result));
  };
  rte_compressdev_config config{};
  config.socket_id = rte_compressdev_socket_id(id);
  config.nb_queue_pairs = device->queue_pairs;
  config.max_nb_priv_xforms = kPrivateTransforms;
  demand(rte_compressdev_configure(id, &config), "rte_compressdev_configure");
  for (std::uint16_t pair = 0; pair < device->queue_pairs; ++pair) {
    demand(rte_compressdev_queue_pair_setup(id, pair, kDescriptors, config.socket_id), "rte_compressdev_queue_pair_setup");
  }
  device->turns = std::make_unique<dpdk::Turn[]>(device->queue_pairs);
  demand(rte_compressdev_start(id), "rte_compressdev_start");
  return device;
}

/// Devices of the process. Those run until it ends.
class Devices {
 public:
  static Devices& instance() {
    static auto& devices = *new Devices;
    return devices;
  }

  /// Of a driver in software, made when it is asked for. Nobody knows beforehand how many lanes there will be, a queue pair of
  /// the isal driver takes more than 0.5 MiB, and DPDK has room for 64 devices: the device `which` has 2^which queue pairs.
  /// @throws Error
  Device& of(const dpdk::SoftwareDriver& driver, unsigned which) {
    dpdk::require_eal();
    const std::scoped_lock lock(device_mutex());
    const std::string name = driver.prefix + "_dpubench" + std::to_string(which);
    for (const auto& device : made_) {
      if (device->name == name) return *device;
    }
    dpdk::create_virtual_device(name, "");
    const int id = rte_compressdev_get_dev_id(name.c_str());
    if (id < 0) throw Error("DPDK: the virtual device " + name + " is no compression device");
    rte_log_set_level_pattern("pmd.compress.*", RTE_LOG_CRIT);  // they log every message that they reject
    return *made_.emplace_back(start_device(static_cast<std::uint8_t>(id), static_cast<std::uint16_t>(1U << which)));
  }

  /// Those that the program was given and that compress, started; at least one. @throws Error
  std::vector<Device*> named() {
    if (named_devices().empty()) {
      throw Error("no device was named: give --device with a PCI address, or a DPDK virtual device such as compress_zlib0");
    }
    const std::vector<std::string> names = dpdk::ready_devices();
    const std::scoped_lock lock(device_mutex());
    std::vector<Device*> found;
    for (std::uint8_t id = 0; id < rte_compressdev_count(); ++id) {
      const std::string name = rte_compressdev_name_get(id);
      // A PCI device's compression device has a name of the driver's making; no others are probed than those that were named.
      const bool is_virtual = name.starts_with("compress_");
      const bool is_named =
          is_virtual ? std::find(names.begin(), names.end(), name) != names.end() : !dpdk::pci_devices().empty();
      if (!is_named) continue;
      const auto started = std::find_if(given_.begin(), given_.end(), [id](const auto& device) { return device->id == id; });
      found.push_back(started != given_.end() ? started->get() : given_.emplace_back(start_device(id, kMostQueuePairs)).get());
    }
    if (found.empty()) throw Error("none of the devices named with --device is a compression device of DPDK");
    return found;
  }

 private:
  std::vector<std::unique_ptr<Device>> made_;
  std::vector<std::unique_ptr<Device>> given_;
};

/// Where an engine's operations go: to a driver in software, or to the devices that the program was given.
class Provider {
 public:
  /// @param software  nullptr for the devices that the program was given
  explicit Provider(const Software* software) : software_(software) {}

  [[nodiscard]] const Software* software() const { return software_; }
  /// Whose levels it has besides those of compressdev.
  [[nodiscard]] std::string library() const { return software_ == nullptr ? "compressdev" : software_->library; }

  /// The device of a session's lane, and its queue pair there. @throws Error
  [[nodiscard]] std::pair<Device*, std::uint16_t> device(std::size_t lane) const {
    if (software_ != nullptr) {
      const auto which = static_cast<unsigned>(std::bit_width(lane + 1) - 1);
      return {&Devices::instance().of(software_->driver, which),
              static_cast<std::uint16_t>(lane + 1 - (std::size_t{1} << which))};
    }
    std::size_t before = 0;
    for (Device* const device : Devices::instance().named()) {
      if (lane < before + device->queue_pairs) return {device, static_cast<std::uint16_t>(lane - before)};
      before += device->queue_pairs;
    }
    throw Error("the devices named with --device have " + std::to_string(before) +
                " queue pairs: use no more threads than that, or name more of them");
  }

 private:
  const Software* software_;
};

/// Mbufs and operations that the messages of a work need.
struct Shape {
  std::uint32_t in_segments = 1;
  std::uint32_t out_segments = 1;
  std::uint32_t tail_bytes = 0;  ///< that follow each input and belong to no stream
  [[nodiscard]] std::uint32_t segments() const { return in_segments + out_segments; }
  [[nodiscard]] std::uint32_t jobs(std::uint32_t most) const {
    return std::min(most, std::max(kLeastJobs, kMostSegments / segments()));
  }
};

Shape shape_of(const Work& work) {
  std::size_t most_in = 0;
  std::size_t most_out = 0;
  for (const Item& item : work.items) {
    most_in = std::max(most_in, item.in.size());
    most_out = std::max<std::size_t>(most_out, item.out_room);
  }
  const bool linear = CodecOperator::packs(work.params) && most_in <= kLinearInput;
  return {segments_of(most_in), linear ? 1 : segments_of(most_out)};
}

/// Bytes after an input that no stream outlasts, given the room of its output; see CompressQueue::make_tail.
constexpr std::uint32_t tail_for(std::uint32_t room) {
  return 2 * room + 64;
}

struct FreePool {
  void operator()(rte_mempool* pool) const { rte_mempool_free(pool); }
};
using Pool = std::unique_ptr<rte_mempool, FreePool>;
struct FreeMemory {
  void operator()(std::byte* memory) const { rte_free(memory); }
};

/// The operations of a lane, each with its mbufs, which are pointed at the lane's buffers: nothing is copied.
class CompressQueue {
 public:
  using Op = rte_comp_op;

  CompressQueue(const Provider& provider, dpdk::Ordinals& ordinals, const rte_comp_xform& transform, Shape shape)
      : lease_(ordinals), shape_(shape) {
    std::tie(owner_, queue_pair_) = provider.device(lease_.number());
    device_ = owner_->id;
    static std::atomic<unsigned> serial{0};
    const std::string number = std::to_string(serial++);
    const std::uint32_t jobs = shape.jobs(dpdk::kQueueJobs);
    const int socket = rte_compressdev_socket_id(device_);
    const std::uint32_t tail_segments = shape.tail_bytes == 0 ? 0 : 1 + segments_of(shape.tail_bytes);
    mbufs_.reset(
        rte_pktmbuf_pool_create(("dpu-comp-mbuf" + number).c_str(), jobs * shape.segments() + tail_segments, 0, 0, 0, socket));
    dpdk::require(mbufs_ != nullptr, "rte_pktmbuf_pool_create");
    pool_.reset(rte_comp_op_pool_create(("dpu-comp-op" + number).c_str(), jobs, 0, sizeof(Own), socket));
    dpdk::require(pool_ != nullptr, "rte_comp_op_pool_create");
    const int failed = rte_compressdev_private_xform_create(device_, &transform, &transform_);
    if (failed < 0) {
      throw Error("DPDK: " + owner_->name + ": rte_compressdev_private_xform_create: " + rte_strerror(-failed));
    }
    foreign_.free_cb = [](void*, void*) {};
    rte_mbuf_ext_refcnt_set(&foreign_, 1);
    segments_.resize(std::size_t{jobs} * shape.segments() + tail_segments);
    // All that the pools have: a count that is exact.
    dpdk::require(rte_pktmbuf_alloc_bulk(mbufs_.get(), segments_.data(), static_cast<unsigned>(segments_.size())) == 0,
                  "rte_pktmbuf_alloc_bulk");
    for (rte_mbuf* const mbuf : segments_) {
      mbuf->ol_flags |= RTE_MBUF_F_EXTERNAL;
      mbuf->shinfo = &foreign_;
      mbuf->data_off = 0;
    }
    padding_.reset(static_cast<std::byte*>(rte_malloc_socket(nullptr, kSegment + 1, 0, socket)));
    dpdk::require(padding_ != nullptr, "rte_malloc_socket");
    std::fill_n(padding_.get(), kSegment + 1, std::byte{0xFF});
    if (tail_segments != 0) make_tail(segments_.data() + std::size_t{jobs} * shape.segments());
    operations_.resize(jobs);
    for (std::uint32_t at = 0; at < jobs;) {  // the count is 16 bits wide
      const auto n = static_cast<std::uint16_t>(std::min<std::uint32_t>(jobs - at, 512));
      dpdk::require(rte_comp_op_bulk_alloc(pool_.get(), operations_.data() + at, n) == n, "rte_comp_op_bulk_alloc");
      at += n;
    }
    for (std::uint32_t i = 0; i < jobs; ++i) {
      Op* const op = operations_[i];
      op->op_type = RTE_COMP_OP_STATELESS;
      op->private_xform = transform_;
      op->flush_flag = RTE_COMP_FLUSH_FINAL;
      own(op).segments = segments_.data() + std::size_t{i} * shape.segments();
      op->m_src = own(op).segments[0];
      op->m_dst = own(op).segments[shape.segments() - shape.out_segments];
    }
  }
  CompressQueue(const CompressQueue&) = delete;
  CompressQueue& operator=(const CompressQueue&) = delete;
  ~CompressQueue() {
    if (transform_ != nullptr) rte_compressdev_private_xform_free(device_, transform_);
  }

  [[nodiscard]] std::span<Op* const> operations() const { return operations_; }
  static Tag& tag(Op* op) noexcept { return own(op).tag; }
  [[nodiscard]] dpdk::Turn& turn() noexcept { return owner_->turns[queue_pair_]; }

  void fill(Op* op, const Burst& b, std::uint32_t i) noexcept {
    rte_mbuf** const in = own(op).segments;
    rte_mbuf** const out = in + (shape_.segments() - shape_.out_segments);
    const std::uint32_t length = b.in_len[i];
    if (length == 0) [[unlikely]] {
      // No driver is asked to take nothing. All ones is no stream either: a block of the reserved type (RFC 1951, section 3.2.3).
      lay(in, 1, padding_.get(), 1);
    } else {
      rte_mbuf* const last = lay(in, shape_.in_segments, b.in[i], length);
      if (tail_ != nullptr) {
        last->next = tail_;
        in[0]->nb_segs = static_cast<std::uint16_t>(in[0]->nb_segs + tail_->nb_segs);
        in[0]->pkt_len += tail_->pkt_len;
      }
    }
    op->src.length = in[0]->pkt_len;
    lay(out, shape_.out_segments, b.out[i], b.out_room[i]);
    op->status = RTE_COMP_OP_STATUS_NOT_PROCESSED;
    op->consumed = 0;  // the zlib driver adds to them
    op->produced = 0;
  }

  std::uint16_t enqueue(Op** ops, std::uint16_t n) noexcept {
    return rte_compressdev_enqueue_burst(device_, queue_pair_, ops, n);
  }
  std::uint16_t dequeue(Op** ops, std::uint16_t n) noexcept {
    return rte_compressdev_dequeue_burst(device_, queue_pair_, ops, n);
  }

  static bool refused(const Op* op) noexcept { return op->status != RTE_COMP_OP_STATUS_NOT_PROCESSED; }

  bool complete(Op* op, Burst& b, std::uint32_t i) noexcept {
    // A stream that ends early has consumed some of the tail, too.
    const bool whole = op->status == RTE_COMP_OP_STATUS_SUCCESS && op->consumed == b.in_len[i] && b.in_len[i] != 0;
    b.out_len[i] = op->produced;
    b.status[i] = whole ? kStatusOk : kStatusRejected;
    return true;
  }

  void attach(std::span<std::byte> memory) {
    if (!owner_->is_hardware) return;
    if (rte_device* const pci = dpdk::pci_device_of(owner_->name)) mapping_ = dpdk::Mapping(*pci, memory);
  }

 private:
  /// Kept behind each operation.
  struct Own {
    Tag tag;
    rte_mbuf** segments;  ///< of input, of output
  };
  static Own& own(Op* op) noexcept { return *reinterpret_cast<Own*>(op + 1); }

  /// What follows every input, shared by all operations since nobody writes to it: ones, on which no decoder runs for long. At
  /// the beginning of a block they are an error; in a stored block or as codes each gives output, at least a byte for 15 bits,
  /// until there is no room; and no code of lengths holds them. It must not end before: the isal driver (DPDK 22.11) never
  /// returns from a chain that ends within a stored block. The first byte has an mbuf of its own because that driver counts whole
  /// ones alone as consumed.
  void make_tail(rte_mbuf** segments) {
    tail_ = segments[0];
    point(tail_, padding_.get(), 1);
    rte_mbuf* last = tail_;
    tail_->nb_segs = 1;
    tail_->pkt_len = 1 + shape_.tail_bytes;
    for (std::uint32_t at = 0; at < shape_.tail_bytes; at += kSegment) {
      rte_mbuf* const mbuf = segments[tail_->nb_segs++];
      point(mbuf, padding_.get(), std::min(shape_.tail_bytes - at, kSegment));
      last->next = mbuf;
      last = mbuf;
    }
  }

  static void point(rte_mbuf* mbuf, const std::byte* data, std::uint32_t length) noexcept {
    mbuf->buf_addr = const_cast<std::byte*>(data);  // drivers write to outputs only
    rte_mbuf_iova_set(mbuf, reinterpret_cast<rte_iova_t>(data));
    mbuf->buf_len = static_cast<std::uint16_t>(length);
    mbuf->data_len = static_cast<std::uint16_t>(length);
    mbuf->next = nullptr;
  }
  /// Makes the first of `segments` a packet of `length` bytes, at most `most` mbufs; what does not fit is left out. Mbufs of a
  /// chain are about as long, and none is shorter than that before it: the isal driver (DPDK 22.11) compresses no further than to
  /// the last mbuf but one if an output mbuf fills up when less is left than the one at hand holds. @returns its last mbuf
  static rte_mbuf* lay(rte_mbuf** segments, std::uint32_t most, const std::byte* data, std::uint32_t length) noexcept {
    rte_mbuf* const first = segments[0];
    if (most == 1 || length <= kSegment) {
      point(first, data, std::min(length, kSegment));
      first->pkt_len = first->data_len;
      first->nb_segs = 1;
      return first;
    }
    const std::uint32_t count = segments_of(length);
    const std::uint32_t each = length / count;
    const std::uint32_t shorter = count - length % count;  // of `each` bytes; the others have one more
    rte_mbuf* last = nullptr;
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t bytes = i < shorter ? each : each + 1;
      point(segments[i], data, bytes);
      if (last != nullptr) last->next = segments[i];
      last = segments[i];
      data += bytes;
    }
    first->pkt_len = length;
    first->nb_segs = static_cast<std::uint16_t>(count);
    return last;
  }

  dpdk::Ordinals::Lease lease_;
  Device* owner_ = nullptr;
  std::uint8_t device_ = 0;
  std::uint16_t queue_pair_ = 0;
  Shape shape_;
  Pool mbufs_;
  Pool pool_;
  void* transform_ = nullptr;
  rte_mbuf_ext_shared_info foreign_{};
  std::unique_ptr<std::byte, FreeMemory> padding_;  ///< ones
  rte_mbuf* tail_ = nullptr;
  std::vector<rte_mbuf*> segments_;
  std::vector<Op*> operations_;
  dpdk::Mapping mapping_;
};

/// What a lane got back for one message.
struct Answer {
  std::uint8_t status = kStatusPoison;
  std::uint32_t length = 0;
};

/// @throws Error when the device does not answer
Answer ask(Lane& lane, std::span<const std::byte> in, std::span<std::byte> out) {
  const std::byte* const in_at = in.data();
  const auto in_len = static_cast<std::uint32_t>(in.size());
  std::byte* const out_at = out.data();
  const auto room = static_cast<std::uint32_t>(out.size());
  Answer answer;
  Burst burst{1, &in_at, &in_len, &out_at, &room, &answer.length, nullptr, nullptr, &answer.status, nullptr};
  constexpr std::uint64_t kPolls = 50'000'000;  // at least a second
  Burst* done[1];
  if (lane.submit(burst)) {
    for (std::uint64_t i = 0; i < kPolls; ++i) {
      if (lane.poll(done) == 1) return answer;
    }
  }
  throw Error("the compression device does not answer");
}

/// Whether a device with this shape of operations decompresses whole streams and rejects those that end early. Drivers differ:
/// those in software report success for what came out until then.
bool knows_the_end(const Provider& provider, dpdk::Ordinals& ordinals, const rte_comp_xform& transform, Shape shape) {
  constexpr std::size_t kPlain = 3000;
  constexpr std::size_t kBytes = std::size_t{4} * 4096;
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  const std::unique_ptr<std::byte, Free> memory(static_cast<std::byte*>(std::aligned_alloc(65536, 65536)));
  if (memory == nullptr) throw std::bad_alloc();
  const std::span<std::byte> plain(memory.get(), kPlain);
  const std::span<std::byte> packed(memory.get() + kBytes, kBytes);
  const std::span<std::byte> out(memory.get() + 2 * kBytes, kPlain);
  for (std::size_t i = 0; i < kPlain; ++i) plain[i] = static_cast<std::byte>('a' + (i * i / 7 + i / 100) % 23);
  if (shape.tail_bytes != 0) shape.tail_bytes = std::max(shape.tail_bytes, tail_for(kPlain));
  const std::size_t size = deflate::Compressor().compress(plain, packed, {});
  QueueLane<CompressQueue> lane(std::make_unique<CompressQueue>(provider, ordinals, transform, shape));
  lane.attach({memory.get(), 65536});
  const Answer whole = ask(lane, packed.first(size), out);
  if (whole.status != kStatusOk || whole.length != kPlain || !std::equal(plain.begin(), plain.end(), out.begin())) return false;
  for (const std::size_t less : {size - 1, size - 2, size / 2}) {
    if (ask(lane, packed.first(less), out).status != kStatusRejected) return false;
  }
  return true;
}

/// The number that rte_comp_compress_xform takes; nothing where the level is another library's.
std::optional<int> api_level(const Params& params, const std::string& library) {
  if (const auto level = level_of(params, "compressdev")) return level;
  // Drivers in software hand the number on.
  const auto level = level_of(params, library);
  return level && *level >= RTE_COMP_LEVEL_MIN ? level : std::nullopt;
}

std::string why_not(const Params& params, const Capabilities& capabilities, const std::string& library) {
  if (reuses_stream(params)) return "compressdev's operations are stateless: each is a message of its own";
  const std::uint64_t size = params.number("size");
  const bool packs = CodecOperator::packs(params);
  if (packs && !api_level(params, library)) {
    if (level_of(params, library)) return "compressdev's levels begin at 1; below it is what it calls no compression";
    return params.text("level") + " is a level of another library";
  }
  if (packs && !capabilities.has(kCodes)) return "the driver makes neither fixed nor dynamic codes";
  if (!packs && capabilities.window_bits < kWindowBits) {
    return "the driver's window has " + std::to_string(capabilities.window_bits) + " bits, streams of other engines have " +
           std::to_string(kWindowBits);
  }
  const bool linear = size <= (packs ? kLinearInput : kSegment);
  if (!linear && !capabilities.takes(segments_of(size), segments_of(packs ? compressed_room(params, size) : size))) {
    return "the driver takes no chains of mbufs, and one holds at most 65535 B";
  }
  if (!packs && !linear && !capabilities.knows_end) {
    return "the driver takes a stream that ends early for a whole one, and nothing tells them apart where the output needs a "
           "chain of "
           "mbufs (beyond 65535 B)";
  }
  return {};
}

class CompressSession final : public Session {
 public:
  /// @throws Error when the device does not do this
  CompressSession(const Work& work, const Provider& provider) : provider_(provider), shape_(shape_of(work)) {
    for (const Item& item : work.items) most_out_ = std::max(most_out_, item.out_room);
    const Device& device = *provider_.device(0).first;
    if (const std::string reason = why_not(work.params, device.capabilities, provider_.library()); !reason.empty())
      throw Error(device.name + " does not do this: " + reason);
    const bool packs = CodecOperator::packs(work.params);
    path_ = {device.isa, "", device.is_hardware, device.driver, device.name};
    if (packs) {
      const int level = api_level(work.params, provider_.library()).value();
      const bool dynamic = device.capabilities.has(RTE_COMP_FF_HUFFMAN_DYNAMIC);
      transform_.type = RTE_COMP_COMPRESS;
      transform_.compress.algo = RTE_COMP_ALGO_DEFLATE;
      transform_.compress.deflate.huffman = dynamic ? RTE_COMP_HUFFMAN_DYNAMIC : RTE_COMP_HUFFMAN_FIXED;
      transform_.compress.level = level;
      transform_.compress.window_size = static_cast<std::uint8_t>(std::min(kWindowBits, device.capabilities.window_bits));
      path_.detail = "rte_compressdev, level " + std::to_string(level) +
                     (level == RTE_COMP_LEVEL_PMD_DEFAULT ? " (the driver's default)" : "") +
                     (dynamic ? ", dynamic" : ", fixed") + " codes, window of 2^" +
                     std::to_string(transform_.compress.window_size) + " B";
    } else {
      transform_.type = RTE_COMP_DECOMPRESS;
      transform_.decompress.algo = RTE_COMP_ALGO_DEFLATE;
      transform_.decompress.window_size = kWindowBits;
      path_.detail = "rte_compressdev";
      end_streams(device);
    }
    if (shape_.in_segments > 1 || shape_.out_segments > 1) {
      // An incompressible message makes a stream longer than itself. Drivers in software walk chains whether they say so or not.
      const bool takes = device.capabilities.takes(shape_.in_segments, shape_.out_segments) || (!packs && !device.is_hardware);
      if (!takes) throw Error(device.name + " takes no such chains of mbufs, and one holds at most 65535 B");
      path_.detail +=
          "; chains of " + std::to_string(shape_.in_segments) + " and " + std::to_string(shape_.out_segments) + " mbufs";
    }
    path_.max_in_flight = shape_.jobs(dpdk::kQueueJobs);
  }

  std::unique_ptr<Lane> open() override {
    return std::make_unique<QueueLane<CompressQueue>>(std::make_unique<CompressQueue>(provider_, ordinals_, transform_, shape_));
  }
  [[nodiscard]] PathInfo path() const override { return path_; }

 private:
  /// Sees to it that streams that end early are rejected.
  void end_streams(const Device& device) {
    if (knows_the_end(provider_, ordinals_, transform_, shape_)) return;
    shape_.tail_bytes = tail_for(most_out_);
    const bool takes = shape_.out_segments == 1 && (!device.is_hardware || device.capabilities.takes(shape_.in_segments + 2, 1));
    if (!takes || !knows_the_end(provider_, ordinals_, transform_, shape_)) {
      throw Error(device.name + " does not tell a stream that ends early from a whole one, which the operator asks for");
    }
    path_.detail +=
        "; mbufs of ones follow each stream, since the driver takes a stream that ends early for a whole one otherwise";
  }

  Provider provider_;
  dpdk::Ordinals ordinals_;
  Shape shape_;
  std::uint32_t most_out_ = 0;
  rte_comp_xform transform_{};
  PathInfo path_;
};

class Compressdev final : public Engine {
 public:
  explicit Compressdev(const Software* software) : provider_(software) {
    info_.op = "deflate";
    info_.name = software == nullptr ? "compressdev" : software->driver.engine;
    info_.summary = software == nullptr ? "DPDK compressdev on the device that --device names"
                                        : "DPDK compressdev, driver " + software->driver.prefix + " in software";
    info_.library = dpdk::version();
    info_.in_flight = dpdk::kDefaultInFlight;
    info_.software_device = software != nullptr;
  }
  [[nodiscard]] const EngineInfo& info() const override { return info_; }
  [[nodiscard]] std::string unavailable() const override {
    if (provider_.software() != nullptr) return dpdk::driver_missing(provider_.software()->driver);
    return dpdk::reason_of([] { return static_cast<void>(Devices::instance().named()), std::string(); });
  }
  [[nodiscard]] std::string unsupported(const Params& params) const override {
    if (const Software* const software = provider_.software()) return why_not(params, software->capabilities, software->library);
    return dpdk::reason_of([&] { return why_not(params, provider_.device(0).first->capabilities, provider_.library()); });
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& work) const override {
    return std::make_unique<CompressSession>(work, provider_);
  }

 private:
  Provider provider_;
  EngineInfo info_;
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::Compressdev>(nullptr));
  for (const dpubench::Software& software : dpubench::software_drivers())
    sink.add(std::make_unique<dpubench::Compressdev>(&software));
}
