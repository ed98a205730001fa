// memcpy, engines dmadev-skeleton and dmadev: copies by a DMA device behind DPDK's dmadev. The device is hardware, or DPDK's
// model of hardware: the skeleton, whose thread copies on the CPU.
// requires: libdpdk >= 22.11
// cxxflags: -DALLOW_EXPERIMENTAL_API
#include <pthread.h>
#include <rte_dev.h>
#include <rte_dmadev.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <bitset>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "operators/engine.hpp"
#include "operators/support/dpdk/device.hpp"
#include "operators/support/status.hpp"

namespace dpubench {
namespace {

constexpr std::uint16_t kMostChannels = 64;  ///< channels to set up on a device that has at least as many

/// A started device with its virtual channels.
struct Device {
  std::int16_t id = -1;
  std::string name;
  std::string driver;
  bool is_hardware = false;
  std::uint16_t channels = 0;
  std::uint32_t jobs = 0;               ///< copies that a channel holds
  std::unique_ptr<dpdk::Turn[]> turns;  ///< one per channel
};

/// A channel of a device, held by a lane. Its destructor gives the device back.
struct Channel {
  std::shared_ptr<Device> device;
  std::uint16_t number = 0;
};

/// Configure and start a device. The caller holds device_mutex(). @throws Error
std::unique_ptr<Device> start_device(std::int16_t id) {
  auto device = std::make_unique<Device>();
  device->id = id;
  rte_dma_info info{};
  const auto demand = [&](int result, const std::string& what) {
    if (result < 0) throw Error("DPDK: " + what + " of " + device->name + ": " + rte_strerror(-result));
  };
  demand(rte_dma_info_get(id, &info), "rte_dma_info_get");
  device->name = info.dev_name;
  constexpr std::uint64_t kNeeded = RTE_DMA_CAPA_MEM_TO_MEM | RTE_DMA_CAPA_OPS_COPY;
  if ((info.dev_capa & kNeeded) != kNeeded)
    throw Error("the DMA device " + device->name + " does not copy from memory to memory");
  device->channels = std::min(info.max_vchans, kMostChannels);
  rte_dma_conf configuration{};
  configuration.nb_vchans = device->channels;
  demand(rte_dma_configure(id, &configuration), "rte_dma_configure");
  rte_dma_vchan_conf channel{};
  channel.direction = RTE_DMA_DIR_MEM_TO_MEM;
  channel.nb_desc = std::clamp(dpdk::kDescriptors, info.min_desc, info.max_desc);
  for (std::uint16_t i = 0; i < device->channels; ++i) demand(rte_dma_vchan_setup(id, i, &channel), "rte_dma_vchan_setup");
  device->jobs = std::min<std::uint32_t>(channel.nb_desc, dpdk::kDescriptors) - 1U;
  device->turns = std::make_unique<dpdk::Turn[]>(device->channels);
  demand(rte_dma_start(id), "rte_dma_start");
  return device;
}

cpu_set_t cpus_of(pid_t thread) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  sched_getaffinity(thread, sizeof cpus, &cpus);
  return cpus;
}

/// The skeleton devices: one for each lane of a session. Sessions share them and take turns.
class Skeletons {
 public:
  static Skeletons& instance() {
    static auto& skeletons = *new Skeletons;
    return skeletons;
  }

  /// Return the device whose thread copies for lanes that run on `cpu`; -1 means lanes that may run anywhere. Its thread avoids
  /// that CPU if the process has others. @param lane  number of the lane among a session's lanes on this CPU @throws Error
  std::shared_ptr<Device> take(const dpdk::SoftwareDriver& driver, int cpu, std::size_t lane) {
    dpdk::require_eal();
    const std::scoped_lock lock(mutex_);
    std::weak_ptr<Device>& slot = devices_[{cpu, lane}];
    if (auto device = slot.lock()) return device;
    // Every lane has a device, and DPDK has room for 64 devices unless it gets another number before the first.
    if (!sized_) rte_dma_dev_max(kMost);
    sized_ = true;
    const std::string name = driver.prefix + "_dpubench" + std::to_string(serial_++);
    std::unique_ptr<Device> started;
    std::string fault;
    // The driver's thread runs where an lcore runs, and any thread can register as an lcore.
    std::thread([&] {
      cpu_set_t cpus = cpus_of(getpid());
      if (cpu >= 0 && CPU_COUNT(&cpus) > 1) CPU_CLR(static_cast<std::size_t>(cpu), &cpus);
      pthread_setaffinity_np(pthread_self(), sizeof cpus, &cpus);
      const std::scoped_lock changing(device_mutex());
      try {
        dpdk::require(rte_thread_register() == 0, "rte_thread_register");
        dpdk::create_virtual_device(name, "lcore=" + std::to_string(rte_lcore_id()));
        started = start_device(static_cast<std::int16_t>(rte_dma_get_dev_id_by_name(name.c_str())));
        started->driver = driver.prefix;
      } catch (const Error& error) {
        fault = error.what();
      }
      rte_thread_unregister();
    }).join();
    if (started == nullptr) {
      rte_eal_hotplug_remove("vdev", name.c_str());
      throw Error(fault);
    }
    auto device = std::shared_ptr<Device>(started.release(), [](Device* d) {
      const std::unique_ptr<Device> owned(d);
      const std::scoped_lock removing(device_mutex());
      rte_dma_stop(owned->id);
      rte_eal_hotplug_remove("vdev", owned->name.c_str());
    });
    slot = device;
    return device;
  }

 private:
  static constexpr std::size_t kMost = 1024;
  std::mutex mutex_;
  std::map<std::pair<int, std::size_t>, std::weak_ptr<Device>> devices_;
  std::size_t serial_ = 0;
  bool sized_ = false;
};

/// Return the DMA devices among the named devices, started; at least one. @throws Error
std::vector<std::shared_ptr<Device>> named() {
  static auto& started = *new std::vector<std::shared_ptr<Device>>;
  if (named_devices().empty())
    throw Error("no device was named: give --device with a PCI address, or a DPDK virtual device such as dma_skeleton0");
  const std::vector<std::string> names = dpdk::ready_devices();
  const std::scoped_lock lock(device_mutex());
  std::vector<std::shared_ptr<Device>> found;
  for (std::int16_t id = rte_dma_next_dev(0); id >= 0; id = rte_dma_next_dev(static_cast<std::int16_t>(id + 1))) {
    rte_dma_info info{};
    if (rte_dma_info_get(id, &info) != 0) continue;
    const std::string name = info.dev_name;
    // DPDK probes only the PCI devices that were named.
    const bool is_virtual = name.starts_with("dma_");
    if (is_virtual ? std::find(names.begin(), names.end(), name) == names.end() : dpdk::pci_devices().empty()) continue;
    const auto known = std::find_if(started.begin(), started.end(), [&](const auto& device) { return device->name == name; });
    if (known != started.end()) {
      found.push_back(*known);
      continue;
    }
    auto device = start_device(id);
    device->is_hardware = !is_virtual;
    device->driver = name.substr(0, name.find_last_not_of("0123456789") + 1);
    if (!is_virtual) {
      const rte_driver* const driver = rte_dev_driver(dpdk::pci_device_of(name));
      device->driver = driver == nullptr ? "unknown" : rte_driver_name(driver);
    }
    found.push_back(started.emplace_back(std::move(device)));
  }
  if (found.empty()) throw Error("none of the devices named with --device is a DMA device of DPDK");
  return found;
}

/// A lane on a channel. It submits the copies of a burst one by one and starts the device once. Copies complete in the order of
/// submission.
class DmaLane final : public Lane {
 public:
  DmaLane(Channel channel, std::unique_ptr<dpdk::Ordinals::Lease> lease)
      : lease_(std::move(lease)),
        channel_(std::move(channel)),
        device_(channel_.device->id),
        number_(channel_.number),
        most_(channel_.device->jobs),
        yields_(!channel_.device->is_hardware),
        records_(most_) {}
  DmaLane(const DmaLane&) = delete;
  DmaLane& operator=(const DmaLane&) = delete;
  ~DmaLane() override {
    drain();
    // The device may still write for this channel, so the channel must not go to others: it is never freed.
    if (copies_ != 0) static_cast<void>(new (std::nothrow) Channel(std::move(channel_)));
  }

  void attach(std::span<std::byte> memory) override {
    if (!channel_.device->is_hardware) return;
    if (rte_device* const pci = dpdk::pci_device_of(channel_.device->name)) mapping_ = dpdk::Mapping(*pci, memory);
  }
  [[nodiscard]] std::uint32_t depth() const noexcept override { return most_; }

  bool submit(Burst& burst) noexcept override {
    if (unsent_ != 0) send(records_[last()]);
    if (unsent_ != 0 || burst.n > most_ - copies_ || count_ == records_.size()) return false;
    if (copies_ == 0 && !turn().take(this)) return false;
    ++count_;
    Record& record = records_[last()];
    record = {&burst, burst.n, {}};
    copies_ += burst.n;
    unsent_ = burst.n;
    send(record);
    return true;
  }

  std::uint32_t poll(std::span<Burst*> done) noexcept override {
    if (unsent_ != 0) [[unlikely]]
      send(records_[last()]);
    collect();
    std::uint32_t n = 0;
    while (n < done.size() && count_ != 0 && records_[first_].left == 0) {
      done[n++] = records_[first_].burst;
      finish(records_[first_]);
      first_ = first_ + 1 == records_.size() ? 0 : first_ + 1;
      --count_;
    }
    return n;
  }

 private:
  struct Record {
    Burst* burst = nullptr;
    std::uint32_t left = 0;         ///< copies that are not complete
    std::bitset<kMaxBurst> failed;  ///< items whose copy failed
  };

  [[nodiscard]] dpdk::Turn& turn() noexcept { return channel_.device->turns[number_]; }
  [[nodiscard]] std::size_t last() const noexcept {
    const std::size_t at = first_ + count_ - 1;
    return at < records_.size() ? at : at - records_.size();
  }

  /// Give the device the copies of the last burst that it does not have yet, as far as it has room.
  void send(Record& record) noexcept {
    const Burst& b = *record.burst;
    const std::uint32_t before = unsent_;
    for (std::uint32_t i = b.n - unsent_; i < b.n; ++i, --unsent_) {
      // Virtual addresses are also the device's addresses: the EAL runs in that mode, or Mapping refuses.
      const int index = rte_dma_copy(device_, number_, reinterpret_cast<rte_iova_t>(b.in[i]),
                                     reinterpret_cast<rte_iova_t>(b.out[i]), b.in_len[i], 0);
      if (index < 0) break;
    }
    if (unsent_ != before) rte_dma_submit(device_, number_);
  }

  void collect() noexcept {
    if (copies_ == 0) return;
    std::uint16_t index = 0;
    bool has_error = false;
    const std::uint16_t n = rte_dma_completed(device_, number_, kMaxBurst, &index, &has_error);
    retire(n, false);
    if (has_error) [[unlikely]] {
      rte_dma_status_code status = RTE_DMA_STATUS_SUCCESSFUL;
      if (rte_dma_completed_status(device_, number_, 1, &index, &status) == 1) retire(1, status != RTE_DMA_STATUS_SUCCESSFUL);
    } else if (n == 0 && yields_) {
      sched_yield();  // the thread that copies may wait for this CPU
    }
  }

  /// Record that the oldest `n` copies are complete.
  void retire(std::uint32_t n, bool failed) noexcept {
    copies_ -= n;
    for (std::size_t at = first_; n != 0; at = at + 1 == records_.size() ? 0 : at + 1) {
      Record& record = records_[at];
      const std::uint32_t these = std::min(n, record.left);
      if (failed && these != 0) record.failed.set(record.burst->n - record.left);
      record.left -= these;
      n -= these;
    }
    if (copies_ == 0) turn().give_back();
  }

  static void finish(const Record& record) noexcept {
    Burst& b = *record.burst;
    std::copy_n(b.in_len, b.n, b.out_len);
    accept_all(b);
    if (record.failed.none()) [[likely]]
      return;
    for (std::uint32_t i = 0; i < b.n; ++i) {
      if (record.failed[i]) b.status[i] = kStatusRejected;
    }
  }

  /// Wait for the copies under way, after a measurement was broken off.
  void drain() noexcept {
    constexpr int kPolls = 100'000;
    for (int idle = 0; idle < kPolls && copies_ != 0; ++idle) {
      const std::uint32_t before = copies_;
      if (unsent_ != 0) send(records_[last()]);
      collect();
      if (copies_ != before) idle = 0;
    }
  }

  std::unique_ptr<dpdk::Ordinals::Lease> lease_;
  Channel channel_;
  std::int16_t device_;
  std::uint16_t number_;
  std::uint32_t most_;
  bool yields_;
  std::vector<Record> records_;  ///< a ring of the bursts under way, oldest first
  std::size_t first_ = 0;
  std::size_t count_ = 0;
  std::uint32_t copies_ = 0;  ///< copies that are not complete
  std::uint32_t unsent_ = 0;  ///< copies of the last burst that the device had no room for
  dpdk::Mapping mapping_;
};

/// A session with lanes on the skeleton.
class SkeletonSession final : public Session {
 public:
  explicit SkeletonSession(const dpdk::SoftwareDriver& driver) : driver_(driver) {
    path_ = {"chosen by library",
             "rte_dma_copy; a thread of the driver copies, on another CPU than the submitting one if there is one", false,
             driver.prefix, driver.prefix};
    path_.max_in_flight = dpdk::kQueueJobs;
  }

  std::unique_ptr<Lane> open() override {
    const cpu_set_t cpus = cpus_of(0);
    const int cpu = CPU_COUNT(&cpus) == 1 ? sched_getcpu() : -1;
    auto lease = std::make_unique<dpdk::Ordinals::Lease>(ordinals_of(cpu));
    Channel channel{Skeletons::instance().take(driver_, cpu, lease->number()), 0};
    return std::make_unique<DmaLane>(std::move(channel), std::move(lease));
  }
  [[nodiscard]] PathInfo path() const override { return path_; }

 private:
  dpdk::Ordinals& ordinals_of(int cpu) {
    const std::scoped_lock lock(mutex_);
    return ordinals_[cpu];
  }

  const dpdk::SoftwareDriver& driver_;
  PathInfo path_;
  std::mutex mutex_;
  std::map<int, dpdk::Ordinals> ordinals_;  ///< numbers of the lanes on each CPU
};

/// A session with lanes on the devices that the program was given.
class NamedSession final : public Session {
 public:
  NamedSession() {
    const Device& device = *named().front();
    path_ = {device.is_hardware ? "device" : "chosen by library",
             device.is_hardware ? "rte_dma_copy" : "rte_dma_copy; a thread of the driver copies, on a CPU that the EAL chose",
             device.is_hardware, device.driver, device.name};
    path_.max_in_flight = device.jobs;
  }

  std::unique_ptr<Lane> open() override {
    auto lease = std::make_unique<dpdk::Ordinals::Lease>(ordinals_);
    std::size_t number = lease->number();
    for (const auto& device : named()) {
      if (number < device->channels)
        return std::make_unique<DmaLane>(Channel{device, static_cast<std::uint16_t>(number)}, std::move(lease));
      number -= device->channels;
    }
    throw Error("the devices named with --device have " + std::to_string(lease->number() - number) +
                " virtual DMA channels: use no more threads than that, or name more devices");
  }
  [[nodiscard]] PathInfo path() const override { return path_; }

 private:
  PathInfo path_;
  dpdk::Ordinals ordinals_;
};

class SkeletonDmadev final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override { return info_; }
  [[nodiscard]] std::string unavailable() const override { return dpdk::driver_missing(driver_); }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work&) const override {
    dpdk::require_eal();
    return std::make_unique<SkeletonSession>(driver_);
  }

 private:
  dpdk::SoftwareDriver driver_ = dpdk::software_driver("dmadev-skeleton", "dma_skeleton", "librte_dma_skeleton");
  EngineInfo info_{"memcpy",        "dmadev-skeleton",      "DPDK dmadev, the skeleton driver: its thread copies",
                   dpdk::version(), dpdk::kDefaultInFlight, true};
};

class NamedDmadev final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override { return info_; }
  [[nodiscard]] std::string unavailable() const override {
    return dpdk::reason_of([] { return static_cast<void>(named()), std::string(); });
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work&) const override { return std::make_unique<NamedSession>(); }

 private:
  EngineInfo info_{"memcpy", "dmadev", "DPDK dmadev on the device that --device names", dpdk::version(), dpdk::kDefaultInFlight};
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::NamedDmadev>());
  sink.add(std::make_unique<dpubench::SkeletonDmadev>());
}
