// Pinned threads that start each piece of work together.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace dpubench::measure {

/// CPUs this process may run on.
std::vector<int> allowed_cpus();

/// A fixed set of threads, each pinned to cpus[i % cpus.size()]. run() is for the thread that owns the team only.
class ThreadTeam {
 public:
  /// @param cpus empty: the allowed ones. A CPU that cannot be pinned to is reported by pinned().
  /// @param seed moves each thread's stack within a page
  ThreadTeam(unsigned threads, std::vector<int> cpus, std::uint64_t seed = 0);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  [[nodiscard]] unsigned size() const { return static_cast<unsigned>(threads_.size()); }
  /// Distinct CPUs that the threads share.
  [[nodiscard]] unsigned cpus() const { return cpus_; }
  [[nodiscard]] bool pinned() const { return pinned_; }

  /// Calls work(i) on every thread i and returns when all have returned; the first exception of a thread is rethrown here.
  void run(const std::function<void(unsigned)>& work);

 private:
  void serve(unsigned index, int cpu, std::size_t stack_offset);

  std::mutex mutex_;
  std::condition_variable start_;
  std::condition_variable finished_;
  const std::function<void(unsigned)>* work_ = nullptr;
  std::uint64_t generation_ = 0;
  unsigned running_ = 0;
  bool stop_ = false;
  bool pinned_ = true;
  unsigned cpus_ = 1;
  std::exception_ptr error_;
  std::vector<std::thread> threads_;
};

}  // namespace dpubench::measure
