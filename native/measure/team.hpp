// Runs pinned threads that start each piece of work together.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace dpubench::measure {

/// Return the CPUs on which this process may run.
std::vector<int> allowed_cpus();

/// A fixed set of threads, each pinned to cpus[i % cpus.size()]. Only the thread that owns the team may call run().
class ThreadTeam {
 public:
  /// @param cpus empty: the allowed CPUs. pinned() tells whether all threads could be pinned.
  /// @param seed moves each thread's stack within a page
  ThreadTeam(unsigned threads, std::vector<int> cpus, std::uint64_t seed = 0);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  [[nodiscard]] unsigned size() const { return static_cast<unsigned>(threads_.size()); }
  /// Return the number of distinct CPUs that the threads share.
  [[nodiscard]] unsigned cpus() const { return cpus_; }
  [[nodiscard]] bool pinned() const { return pinned_; }

  /// Call work(i) on every thread i and return when all have returned. Rethrow the first exception of a thread.
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
