#include "measure/team.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <exception>
#include <set>
#include <utility>

#include "measure/heap_gap.hpp"

namespace dpubench::measure {

namespace {
constexpr std::size_t kPage = 4096;  // loads compare these address bits first, whatever the size of a page
constexpr std::size_t kStackAlignment = 16;
}  // namespace

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

ThreadTeam::ThreadTeam(unsigned threads, std::vector<int> cpus, std::uint64_t seed) {
  if (cpus.empty()) cpus = allowed_cpus();
  std::set<int> used;
  std::unique_lock lock(mutex_);
  running_ = threads;
  threads_.reserve(threads);
  for (unsigned i = 0; i < threads; ++i) {
    const int cpu = cpus[i % cpus.size()];
    used.insert(cpu);
    const std::size_t offset = (seed + i) * 0x9E3779B97F4A7C15U >> 40U & (kPage - kStackAlignment);
    threads_.emplace_back([this, i, cpu, offset] { serve(i, cpu, offset); });
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

void ThreadTeam::serve(unsigned index, int cpu, std::size_t stack_offset) {
  // A thread's stack begins at a page. Its variables would therefore lie at the same place of a page in every process. This place
  // makes loads of the input slow or quick, because the processor first compares the low 12 bits of addresses. That is not a
  // property of an engine. The offset lets rounds sample the places (Mytkowicz et al., "Producing Wrong Data Without Doing
  // Anything Obviously Wrong!", ASPLOS 2009).
  auto* const gap = static_cast<volatile char*>(__builtin_alloca(stack_offset + kStackAlignment));
  gap[0] = 0;
  const HeapGap heap(stack_offset);
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
