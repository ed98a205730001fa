// The common part of the DPDK engines: the environment abstraction layer (EAL), initialised once per process, and memory for
// tables. A module's EAL calls belong in Engine::prepare() or Session::open(), never in info() or unavailable(), so that listing
// stays fast.
#pragma once

#include <dlfcn.h>
#include <pthread.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_malloc.h>
#include <rte_version.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/error.hpp"
#include "operators/devices.hpp"

namespace dpubench::dpdk {

/// Return "DPDK 22.11.11": the version of the loaded library, not of the headers.
inline std::string version() {
  return rte_version();
}

/// Raise an error if `ok` is false. @throws Error with DPDK's own reason (rte_errno)
inline void require(bool ok, const std::string& what) {
  if (!ok) throw Error("DPDK: " + what + ": " + rte_strerror(rte_errno));
}

/// The folder of a bundle's drivers, beside the program.
inline constexpr const char* kDriverFolder = "pmds";
/// The first part of the name of a process's EAL folder; the number of the process follows.
inline constexpr const char* kFilePrefix = "dpubench-";

/// Return the addresses of the PCI devices among named_devices().
inline std::vector<std::string> pci_devices() {
  std::vector<std::string> found;
  for (const std::string& named : named_devices()) {
    if (is_pci_address(device_name(named))) found.push_back(device_name(named));
  }
  return found;
}

namespace detail {

/// A guard that restores the calling thread's CPU affinity, because rte_eal_init narrows it to its main lcore.
class KeepAffinity {
 public:
  KeepAffinity() { known_ = pthread_getaffinity_np(pthread_self(), sizeof cpus_, &cpus_) == 0; }
  KeepAffinity(const KeepAffinity&) = delete;
  KeepAffinity& operator=(const KeepAffinity&) = delete;
  ~KeepAffinity() {
    if (known_) pthread_setaffinity_np(pthread_self(), sizeof cpus_, &cpus_);
  }
  /// Return a CPU that this thread may run on.
  [[nodiscard]] std::size_t first_cpu() const {
    for (std::size_t cpu = 0; known_ && cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &cpus_)) return cpu;
    }
    return 0;
  }

 private:
  cpu_set_t cpus_{};
  bool known_ = false;
};

/// Remove the folder that the EAL made for this process, which stays empty, and the folders of our processes that were killed
/// before they could remove them. Remove their parent too, unless others have folders in it.
inline void remove_runtime_folders(const std::filesystem::path& own) {
  std::error_code in_use;
  std::filesystem::remove(own, in_use);
  for (const auto& entry : std::filesystem::directory_iterator(own.parent_path(), in_use)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(kFilePrefix)) continue;
    const std::string process = name.substr(std::string_view(kFilePrefix).size());
    if (std::filesystem::exists("/proc/" + process, in_use)) continue;
    std::filesystem::remove(entry.path(), in_use);
  }
  std::filesystem::remove(own.parent_path(), in_use);
}

/// Load the drivers of a bundle. Elsewhere the EAL knows the folder of the system's drivers. The EAL's own option is not used: it
/// refuses folders below one where everybody may write, such as /tmp.
inline void load_drivers() {
  std::error_code none;
  for (const auto& file : std::filesystem::directory_iterator(program_folder() / kDriverFolder, none)) {
    if (dlopen(file.path().c_str(), RTLD_NOW) == nullptr)
      std::fprintf(stderr, "dpubench: DPDK driver not loaded: %s\n", dlerror());
  }
}

}  // namespace detail

/// The options of the EAL's start, which happens once per process.
struct EalOptions {
  bool huge_pages = false;  ///< packet buffers lie on huge pages; else on ordinary ones
  std::uint32_t memory_mb = 512;
  bool shared_memory = false;        ///< memory lies in few files for a peer process: memif without copies, virtio-user
  std::vector<std::string> devices;  ///< PCI devices besides named_devices(), in the same form
};

namespace detail {

/// Return the free huge pages of all sizes, in MiB.
inline std::uint64_t free_huge_mb() {
  std::uint64_t total_kb = 0;
  std::error_code none;
  for (const auto& size : std::filesystem::directory_iterator("/sys/kernel/mm/hugepages", none)) {
    unsigned long kb = 0;
    unsigned long pages = 0;
    if (std::sscanf(size.path().filename().c_str(), "hugepages-%lukB", &kb) != 1) continue;
    std::ifstream(size.path() / "free_hugepages") >> pages;
    total_kb += static_cast<std::uint64_t>(kb) * pages;
  }
  return total_kb >> 10;
}

/// Raise an error if there are too few huge pages. rte_eal_init can be tried only once, and its message says less. @throws Error
/// with the remedy
inline void check_huge_pages(std::uint32_t wanted_mb) {
  const std::uint64_t free_mb = free_huge_mb();
  if (free_mb >= wanted_mb) return;
  throw Error("huge pages: packets need " + std::to_string(wanted_mb) + " MiB, and " + std::to_string(free_mb) +
              " MiB are free: reserve some as root (`sysctl -w vm.nr_hugepages=" + std::to_string(wanted_mb / 2 + 8) +
              "`; /proc/sys/vm/nr_hugepages shows the number), or run without huge pages");
}

/// Return the arguments of rte_eal_init. @param cpu  CPU that lcore 0 runs on
inline std::vector<std::string> eal_arguments(const EalOptions& options, std::size_t cpu) {
  // lcore 0 runs on an allowed CPU, whatever its number: `-l 200` would exceed RTE_MAX_LCORE. --no-shconf keeps the runtime
  // directory empty, and a prefix with this process's number makes it ours to remove. --no-huge takes its -m megabytes as
  // ordinary memory, which is touched only when it is used (tables use Heap, below).
  // The SIMD limit is raised because the vector paths of fib, acl and net_crc silently fall back at the default of 256 bits.
  std::vector<std::string> words = {"dpubench",
                                    "--no-telemetry",
                                    "--no-shconf",
                                    "--file-prefix",
                                    kFilePrefix + std::to_string(getpid()),
                                    "--lcores",
                                    "0@" + std::to_string(cpu),
                                    "--force-max-simd-bitwidth=512",
                                    "--log-level=error"};
  // Devices keep the arguments of their driver, such as the class that an mlx5 device shall serve.
  std::map<std::string, std::string> devices;
  for (const std::string& named : options.devices) devices.emplace(device_name(named), named);
  for (const std::string& named : named_devices()) {
    if (is_pci_address(device_name(named))) devices[device_name(named)] = named;
  }
  for (const auto& [name, named] : devices) words.insert(words.end(), {"-a", named});
  if (devices.empty()) words.emplace_back("--no-pci");
  if (options.huge_pages || !devices.empty()) {
    words.emplace_back("--in-memory");
  } else {
    words.emplace_back("--no-huge");
  }
  if (options.huge_pages || devices.empty()) words.insert(words.end(), {"-m", std::to_string(options.memory_mb)});
  if (options.shared_memory) words.emplace_back("--single-file-segments");
  return words;
}

}  // namespace detail

/// Initialise the EAL unless another module of this process did. This needs no root, no huge pages and no device, unless the
/// options ask for huge pages or a PCI device is used (which needs huge pages, and the right to use the device). It leaves no
/// file behind, and keeps the calling thread's affinity. Call it while only one thread prepares.
/// @throws Error; also when the EAL was started before, without the huge pages that are asked for now
inline void start_eal(const EalOptions& options) {
  // The result belongs to the process, not to this module, because the EAL can be tried only once. Its text is empty after a
  // success.
  const std::scoped_lock lock(device_mutex());
  const auto failure = std::static_pointer_cast<std::optional<std::string>>(
      shared_object("dpdk eal", [] { return std::make_shared<std::optional<std::string>>(); }));
  if (*failure && !(*failure)->empty()) throw Error(**failure);
  if (*failure) {
    if (options.huge_pages && rte_eal_has_hugepages() == 0)
      throw Error("DPDK: this process has already started it without huge pages");
    return;
  }
  if (options.huge_pages) detail::check_huge_pages(options.memory_mb);
  const detail::KeepAffinity keep;
  std::vector<std::string> words = detail::eal_arguments(options, keep.first_cpu());
  detail::load_drivers();
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  if (rte_eal_init(static_cast<int>(arguments.size()), arguments.data()) < 0) {
    std::string reason = std::string("DPDK: rte_eal_init: ") + rte_strerror(rte_errno);
    if (std::find(words.begin(), words.end(), "-a") != words.end()) {
      reason +=
          "; a PCI device needs huge pages (/proc/sys/vm/nr_hugepages) and a driver that the user may open (dpdk-devbind.py "
          "--status)";
    } else {
      reason += "; with " + std::to_string(options.memory_mb) + " MiB of " +
                (options.huge_pages ? "huge pages (/proc/sys/vm/nr_hugepages)" : "ordinary memory") +
                ": give less, or see what limits this process (ulimit -a, its control group)";
    }
    *failure = reason;
    throw Error(reason);
  }
  detail::remove_runtime_folders(rte_eal_get_runtime_dir());
  *failure = "";
}

/// Make sure that the EAL runs, as its first user started it; else start it on ordinary memory. @throws Error
inline void require_eal() {
  start_eal({});
}

/// Memory for one session's tables on transparent huge pages, as a separate DPDK heap. Data planes hold their tables on huge
/// pages. With --no-huge, tables would lie on 4 KiB pages, where every random access also misses the TLB. Pass socket() where
/// DPDK asks for a NUMA socket. Free everything that was allocated there before you destroy the heap.
class Heap {
 public:
  /// @param bytes  room for all allocations; memory is used only as it is touched @throws Error
  explicit Heap(std::size_t bytes) : length_((bytes + kPage - 1) / kPage * kPage + kPage) {
    require_eal();
    static unsigned serial = 0;
    // The address of `serial` keeps modules apart, because each has its own copy. The name is short, because DPDK's own prefixes
    // leave about 20 characters.
    char name[24];
    std::snprintf(name, sizeof name, "dpu%06x-%u",
                  static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(&serial) >> 3 & 0xffffffU), ++serial);
    name_ = name;
    mapped_ = length_ + kPage;
    mapping_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping_ == MAP_FAILED) throw Error("DPDK: no " + std::to_string(mapped_ >> 20) + " MiB of address space for tables");
    const auto start = (reinterpret_cast<std::uintptr_t>(mapping_) + kPage - 1) / kPage * kPage;
    address_ = static_cast<std::byte*>(mapping_) + (start - reinterpret_cast<std::uintptr_t>(mapping_));
    madvise(address_, length_, MADV_HUGEPAGE);
    // No device reads these tables. The addresses only serve DPDK's own check that objects do not straddle pages.
    std::vector<rte_iova_t> iova(length_ / kPage);
    for (std::size_t i = 0; i < iova.size(); ++i) iova[i] = start + i * kPage;
    if (rte_malloc_heap_create(name_.c_str()) != 0) fail("rte_malloc_heap_create", false);
    if (rte_malloc_heap_memory_add(name_.c_str(), address_, length_, iova.data(), static_cast<unsigned>(iova.size()), kPage) !=
        0) {
      fail("rte_malloc_heap_memory_add", true);
    }
    socket_ = rte_malloc_heap_get_socket(name_.c_str());
  }
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;
  ~Heap() {
    // Memory that DPDK still holds must stay mapped.
    if (rte_malloc_heap_memory_remove(name_.c_str(), address_, length_) != 0) return;
    rte_malloc_heap_destroy(name_.c_str());
    munmap(mapping_, mapped_);
  }

  [[nodiscard]] int socket() const { return socket_; }
  /// Return a name that is unique in the process, for an object on the heap: DPDK's tables, pools and rings must not share one.
  [[nodiscard]] const char* name() const { return name_.c_str(); }
  /// Return the bytes that are allocated on the heap now.
  [[nodiscard]] std::size_t used_bytes() const {
    rte_malloc_socket_stats stats{};
    return rte_malloc_get_socket_stats(socket_, &stats) == 0 ? stats.heap_allocsz_bytes : 0;
  }

 private:
  static constexpr std::size_t kPage = std::size_t{2} << 20;

  [[noreturn]] void fail(const std::string& what, bool created) {
    const int reason = rte_errno;
    if (created) rte_malloc_heap_destroy(name_.c_str());
    munmap(mapping_, mapped_);
    throw Error("DPDK: " + what + " of " + std::to_string(length_ >> 20) + " MiB: " + rte_strerror(reason));
  }

  std::string name_;
  std::size_t length_;
  void* mapping_ = nullptr;
  std::size_t mapped_ = 0;
  std::byte* address_ = nullptr;
  int socket_ = -1;
};

}  // namespace dpubench::dpdk
