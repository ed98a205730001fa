#include "measure/team.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <exception>
#include <set>
#include <utility>

namespace dpubench::measure {

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(static_cast<unsigned>(cpu), &set)) cpus.push_back(cpu);
    }
  }
  if (cpus.empty()) cpus.push_back(0);
  return cpus;
}

ThreadTeam::ThreadTeam(unsigned threads, std::vector<int> cpus) {
  if (cpus.empty()) cpus = allowed_cpus();
  std::set<int> used;
  std::unique_lock lock(mutex_);
  running_ = threads;
  threads_.reserve(threads);
  for (unsigned i = 0; i < threads; ++i) {
    const int cpu = cpus[i % cpus.size()];
    used.insert(cpu);
    threads_.emplace_back([this, i, cpu] { serve(i, cpu); });
  }
  cpus_ = static_cast<unsigned>(used.size());
  finished_.wait(lock, [this] { return running_ == 0; });
}

ThreadTeam::~ThreadTeam() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  start_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadTeam::run(const std::function<void(unsigned)>& work) {
  std::unique_lock lock(mutex_);
  work_ = &work;
  running_ = size();
  error_ = nullptr;
  ++generation_;
  start_.notify_all();
  finished_.wait(lock, [this] { return running_ == 0; });
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void ThreadTeam::serve(unsigned index, int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<unsigned>(cpu), &set);
  const bool pinned = pthread_setaffinity_np(pthread_self(), sizeof set, &set) == 0;
  std::unique_lock lock(mutex_);
  pinned_ = pinned_ && pinned;
  if (--running_ == 0) finished_.notify_one();
  std::uint64_t seen = 0;
  while (true) {
    start_.wait(lock, [&] { return stop_ || generation_ != seen; });
    if (stop_) return;
    seen = generation_;
    const auto* work = work_;
    lock.unlock();
    std::exception_ptr error;
    try {
      (*work)(index);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    if (error && !error_) error_ = error;
    if (--running_ == 0) finished_.notify_one();
  }
}

}  // namespace dpubench::measure
