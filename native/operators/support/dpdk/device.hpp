// The common part of the engines that use a device through one of DPDK's device classes (cryptodev, compressdev, dmadev,
// regexdev): the place of drivers, the choice of a device, memory that it may reach, and a lane over a queue of operations.
#pragma once

#include <rte_build_config.h>
#include <rte_bus.h>
#include <rte_dev.h>
#include <rte_memory.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "operators/devices.hpp"
#include "operators/engine.hpp"
#include "operators/support/dpdk/dpdk.hpp"

namespace dpubench::dpdk {

/// Descriptors of a queue, the same number as in dpdk-test-crypto-perf. Rings hold one entry less.
inline constexpr std::uint16_t kDescriptors = 2048;
inline constexpr std::uint32_t kQueueJobs = kDescriptors - 1;
/// Jobs that device engines keep in flight by default: enough for any software driver, and for most hardware.
inline constexpr std::uint32_t kDefaultInFlight = 256;

/// A driver that does a device's work on the CPU, as a virtual device.
struct SoftwareDriver {
  std::string engine;   ///< "cryptodev-aesni-mb"
  std::string prefix;   ///< prefix of the virtual device's name, and the driver's name: "crypto_aesni_mb"
  std::string library;  ///< "librte_crypto_ipsec_mb"
  std::string package;  ///< Debian package that contains it: "librte-crypto-ipsec-mb23"
};

/// Return the description of a driver. The names of Debian's packages and libraries contain DPDK's ABI, as RTE_EAL_PMD_PATH does
/// ("pmds-23.0").
inline SoftwareDriver software_driver(const std::string& engine, const std::string& prefix, const std::string& library) {
  const std::string path = RTE_EAL_PMD_PATH;
  const std::string abi = path.substr(path.rfind('-') + 1);
  std::string package = library + abi.substr(0, abi.find('.'));
  std::replace(package.begin(), package.end(), '_', '-');
  return {engine, prefix, library, package};
}

/// Return why a driver cannot be loaded, or an empty string. Look only for its file and initialise nothing.
inline std::string driver_missing(const SoftwareDriver& driver) {
  // A bundle has its own drivers and does not use the system's.
  std::error_code none;
  const std::filesystem::path own = program_folder() / kDriverFolder;
  const std::filesystem::path folder = std::filesystem::is_directory(own, none) ? own : RTE_EAL_PMD_PATH;
  return dpubench::driver_missing({&folder, 1}, driver.prefix, driver.library, driver.package);
}

/// Make a virtual device. It lives until the process ends. @throws Error
inline void create_virtual_device(const std::string& name, const std::string& arguments) {
  require_eal();
  const int failed = rte_eal_hotplug_add("vdev", name.c_str(), arguments.c_str());
  if (failed != 0) {
    throw Error("device " + name + ": no DPDK driver here makes a virtual device of this name" +
                (arguments.empty() ? "" : " with the arguments " + arguments) + " (" + rte_strerror(-failed) + ")");
  }
}

/// Return the names of the devices that the program was told to use, all of them ready. PCI devices were probed with the EAL;
/// virtual ones are made on the first call. @throws Error that names the device that cannot be used
inline std::vector<std::string> ready_devices() {
  require_eal();
  const std::scoped_lock lock(device_mutex());
  using Reasons = std::map<std::string, std::string>;  // per virtual device: why it could not be made, or an empty string
  const auto tried = std::static_pointer_cast<Reasons>(shared_object("dpdk devices", [] { return std::make_shared<Reasons>(); }));
  std::vector<std::string> names;
  for (const std::string& named : named_devices()) {
    const std::string name = device_name(named);
    if (!is_pci_address(name) && !tried->contains(name)) {
      std::string& reason = (*tried)[name];
      try {
        create_virtual_device(name, named.size() == name.size() ? "" : named.substr(name.size() + 1));
      } catch (const Error& error) {
        reason = error.what();
      }
    }
    if (const auto found = tried->find(name); found != tried->end() && !found->second.empty()) throw Error(found->second);
    names.push_back(name);
  }
  return names;
}

/// Return the named PCI device that an object of a device class belongs to, or nullptr for a virtual device. The name of such an
/// object contains the address ("0000:6a:01.0-q0"), or only one device was named. Use it for device classes that do not report
/// their device. @throws Error when the device cannot be determined
inline rte_device* pci_device_of(const std::string& object) {
  const auto is_it = [&object](const std::string& named) { return device_name(named) == object; };
  if (std::any_of(named_devices().begin(), named_devices().end(), is_it)) return nullptr;
  std::vector<std::string> addresses = pci_devices();
  if (addresses.size() > 1) {
    std::erase_if(addresses, [&object](const std::string& address) { return object.find(address) == std::string::npos; });
  }
  rte_dev_iterator iterator{};
  if (addresses.size() == 1 && rte_dev_iterator_init(&iterator, "bus=pci") == 0) {
    while (rte_device* const device = rte_dev_iterator_next(&iterator)) {
      if (rte_dev_name(device) == addresses[0]) return device;
    }
  }
  throw Error("cannot tell which PCI device " + object + " is: name only one device");
}

/// Return the answer of `ask`: a reason, or an empty string. If there is no device to ask, return that error as the reason.
template <class Ask>
std::string reason_of(Ask ask) {
  try {
    return ask();
  } catch (const Error& error) {
    return error.what();
  }
}

/// Memory of a lane's buffers that a device may read and write, until this object is destroyed. Software drivers do not need it.
class Mapping {
 public:
  Mapping() = default;
  /// @throws Error
  Mapping(rte_device& device, std::span<std::byte> memory) : device_(&device), memory_(memory) {
    // Physical addresses would be needed page by page, and a buffer may lie across pages that are not adjacent.
    if (rte_eal_iova_mode() != RTE_IOVA_VA) {
      throw Error("device " + std::string(rte_dev_name(&device)) +
                  " works with physical addresses only: bind it to vfio-pci on a system with an IOMMU");
    }
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    require(rte_extmem_register(memory.data(), memory.size(), nullptr, 0, page) == 0, "rte_extmem_register");
    if (rte_dev_dma_map(&device, memory.data(), reinterpret_cast<std::uint64_t>(memory.data()), memory.size()) != 0) {
      const int reason = rte_errno;
      rte_extmem_unregister(memory.data(), memory.size());
      throw Error("DPDK: rte_dev_dma_map for " + std::string(rte_dev_name(&device)) + ": " + rte_strerror(reason));
    }
  }
  Mapping(Mapping&& other) noexcept : device_(std::exchange(other.device_, nullptr)), memory_(other.memory_) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(memory_, other.memory_);
    return *this;
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() {
    if (device_ == nullptr) return;
    rte_dev_dma_unmap(device_, memory_.data(), reinterpret_cast<std::uint64_t>(memory_.data()), memory_.size());
    rte_extmem_unregister(memory_.data(), memory_.size());
  }

 private:
  rte_device* device_ = nullptr;
  std::span<std::byte> memory_;
};

/// The owner of a device's queue while jobs are in flight on it. A device has few queues, and each session of a job has as many
/// lanes as there are threads. Windows of sessions alternate, so their lanes share queues. This class makes sure that they take
/// turns.
class Turn {
 public:
  /// Take the queue for a lane. @return false while another lane has jobs in flight
  bool take(const void* lane) noexcept {
    const void* nobody = nullptr;
    return owner_.compare_exchange_strong(nobody, lane, std::memory_order_acquire);
  }
  void give_back() noexcept { owner_.store(nullptr, std::memory_order_release); }

 private:
  std::atomic<const void*> owner_ = nullptr;
};

/// The numbers of a session's open lanes. Lane i of every session uses queue i of the device.
class Ordinals {
 public:
  /// The smallest free number, held until the lease is destroyed.
  class Lease {
   public:
    explicit Lease(Ordinals& all) : all_(&all) {
      const std::scoped_lock lock(all.mutex_);
      const auto found = std::find(all.taken_.begin(), all.taken_.end(), false);
      number_ = static_cast<std::size_t>(found - all.taken_.begin());
      if (found == all.taken_.end()) all.taken_.push_back(false);
      all.taken_[number_] = true;
    }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease() {
      const std::scoped_lock lock(all_->mutex_);
      all_->taken_[number_] = false;
    }
    [[nodiscard]] std::size_t number() const { return number_; }

   private:
    Ordinals* all_;
    std::size_t number_;
  };

 private:
  std::mutex mutex_;
  std::vector<bool> taken_;
};

/// The item that a device's operation works on, kept in the operation's private area.
struct Tag {
  std::uint32_t record;  ///< number of the burst's record in QueueLane
  std::uint32_t item;    ///< number of the item in the burst
};

/// A lane over a queue that takes and gives operations one by one, in any order. The queue has as many operations as may be in
/// flight. The lane uses the most recently used ones first, while they are in the cache.
/// @tparam Queue  has a type Op, and
///   std::span<Op* const> operations()            all its operations, for the lane to hand out
///   static Tag& tag(Op*)
///   void fill(Op*, const Burst&, uint32_t i)     makes an operation of an item
///   uint16_t enqueue(Op**, uint16_t n)           gives the device as many as it takes, from the first on
///   static bool refused(const Op*)               whether the device will never take the first operation that it left, as the
///                                                operation's status says; absent if the device class has no such status
///   uint16_t dequeue(Op**, uint16_t n)           gets up to n that are complete
///   bool complete(Op*, Burst&, uint32_t i)       writes an item's length, result and status; false: the operation must go to
///                                                the device once more, for the rest of the item
///   Turn& turn()                                 the turn of the device's queue, which lanes of several sessions may share
///   void attach(std::span<std::byte>)            see Lane::attach
template <class Queue>
class QueueLane final : public Lane {
  using Op = typename Queue::Op;

 public:
  explicit QueueLane(std::unique_ptr<Queue> queue)
      : queue_(std::move(queue)),
        free_(queue_->operations().begin(), queue_->operations().end()),
        free_count_(static_cast<std::uint32_t>(free_.size())),
        records_(free_.size()) {
    for (std::uint32_t i = 0; i < records_.size(); ++i) free_records_.push_back(i);
    waiting_.reserve(free_.size());
    complete_.reserve(free_.size());
  }
  ~QueueLane() override { drain(); }

  void attach(std::span<std::byte> memory) override { queue_->attach(memory); }
  [[nodiscard]] std::uint32_t depth() const noexcept override { return static_cast<std::uint32_t>(records_.size()); }

  bool submit(Burst& burst) noexcept override {
    if (!waiting_.empty()) send_waiting();
    if (burst.n > free_count_ || !waiting_.empty()) return false;
    if (free_count_ == free_.size() && !queue_->turn().take(this)) return false;
    const std::uint32_t record = free_records_.back();
    free_records_.pop_back();
    records_[record] = {&burst, burst.n};
    free_count_ -= burst.n;
    Op** const taken = free_.data() + free_count_;
    for (std::uint32_t i = 0; i < burst.n; ++i) {
      Queue::tag(taken[i]) = {record, i};
      queue_->fill(taken[i], burst, i);
    }
    const std::uint32_t sent = queue_->enqueue(taken, static_cast<std::uint16_t>(burst.n));
    // A burst is taken whole. Operations that the device has no room for yet wait here.
    if (sent != burst.n) [[unlikely]] {
      waiting_.assign(taken + sent, taken + burst.n);
      drop_refused();
    }
    at_once_ = static_cast<std::uint16_t>(burst.n);
    return true;
  }

  std::uint32_t poll(std::span<Burst*> done) noexcept override {
    if (!waiting_.empty()) [[unlikely]]
      send_waiting();
    take_complete();
    std::uint32_t count = 0;
    while (count < done.size() && !complete_.empty()) {
      done[count++] = complete_.back();
      complete_.pop_back();
    }
    return count;
  }

 private:
  struct Record {
    Burst* burst = nullptr;
    std::uint32_t left = 0;  ///< items that are not complete
  };

  /// Dequeue at most one burst, as dpdk-test-crypto-perf does.
  std::uint32_t take_complete() noexcept {
    Op* taken[kMaxBurst];
    const std::uint32_t n = queue_->dequeue(taken, at_once_);
    take_back(std::span<Op* const>(taken, n));
    return n;
  }

  /// Take operations back. They mostly return in the order of submission, all of one burst, so its record is written once for
  /// them.
  void take_back(std::span<Op* const> ops) noexcept {
    std::size_t k = 0;
    while (k < ops.size()) {
      const std::uint32_t which = Queue::tag(ops[k]).record;
      Record& record = records_[which];
      Burst& burst = *record.burst;
      std::uint32_t complete = 0;
      Op** free = free_.data() + free_count_;
      for (; k < ops.size(); ++k) {
        const Tag tag = Queue::tag(ops[k]);
        if (tag.record != which) break;
        if (!queue_->complete(ops[k], burst, tag.item)) [[unlikely]] {
          waiting_.push_back(ops[k]);
          continue;
        }
        free[complete++] = ops[k];
      }
      free_count_ += complete;
      record.left -= complete;
      if (record.left != 0 || complete == 0) continue;
      complete_.push_back(&burst);
      free_records_.push_back(which);
      if (free_count_ == free_.size()) queue_->turn().give_back();
    }
  }

  void send_waiting() noexcept {
    const std::uint32_t sent = queue_->enqueue(waiting_.data(), static_cast<std::uint16_t>(waiting_.size()));
    waiting_.erase(waiting_.begin(), waiting_.begin() + sent);
    drop_refused();
  }

  /// Complete the operations that the device refuses, with the status that it gave them.
  void drop_refused() noexcept {
    if constexpr (requires(const Op* op) { Queue::refused(op); }) {
      while (!waiting_.empty() && Queue::refused(waiting_.front())) {
        Op* const op = waiting_.front();
        waiting_.erase(waiting_.begin());
        take_back(std::span<Op* const>(&op, 1));
      }
    }
  }

  /// Wait for the jobs under way, after a measurement was broken off. Jobs that the device lost stay with it.
  void drain() noexcept {
    constexpr int kPolls = 100'000;
    for (int idle = 0; idle < kPolls && free_count_ < free_.size(); ++idle) {
      if (!waiting_.empty()) send_waiting();
      if (take_complete() != 0) idle = 0;
    }
    // The device may still write for operations that it never gave back, so their memory must not go to others.
    if (free_count_ < free_.size()) static_cast<void>(queue_.release());
  }

  std::unique_ptr<Queue> queue_;
  std::vector<Op*> free_;  ///< a stack; the first free_count_ are free
  std::uint32_t free_count_;
  std::vector<Record> records_;
  std::vector<std::uint32_t> free_records_;
  std::vector<Op*> waiting_;      ///< operations of a taken burst that the device had no room for
  std::vector<Burst*> complete_;  ///< complete bursts that were not handed back yet
  std::uint16_t at_once_ = 1;
};

}  // namespace dpubench::dpdk
