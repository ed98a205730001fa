// Ranks as threads of a test: a wire between them, and transports that can be made to fail.
#pragma once

#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "offload/session.hpp"

namespace dpubench::offload::test {

/// A barrier that calls its waiters' `idle`.
class Gate {
 public:
  void pass(int members, const Wire::Idle& idle) {
    const unsigned turn = turn_.load();
    if (arrived_.fetch_add(1) + 1 == members) {
      arrived_ = 0;
      turn_.fetch_add(1);
      return;
    }
    for (int polls = 0; turn_.load() == turn; ++polls) {
      if (idle) idle();
      // On a busy machine a thread that sleeps gets its turn sooner than one that yields.
      if (polls < 20) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
    }
  }

 private:
  std::atomic<int> arrived_{0};
  std::atomic<unsigned> turn_{0};
};

/// What the ranks of one test share.
struct World {
  explicit World(int ranks) : size(ranks), texts(count()), values(count()), inputs(count()), windows(count()), queues(count()) {}
  [[nodiscard]] std::size_t count() const { return static_cast<std::size_t>(size); }

  int size;
  std::atomic<int> hosts{0};
  Gate all;
  Gate of_hosts;
  std::vector<std::string> texts;
  std::vector<std::vector<double>> values;
  std::vector<const std::byte*> inputs;
  std::vector<std::vector<std::byte>> windows;
  struct Queue {
    std::mutex mutex;
    std::deque<std::function<void()>> work;  ///< transfers that wait for a call of this rank
  };
  std::deque<Queue> queues;
};

class ThreadWire final : public Wire {
 public:
  ThreadWire(World& world, int rank) : world_(world), rank_(rank) {}
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return world_.size; }
  [[nodiscard]] std::string version() const override { return "threads"; }
  [[nodiscard]] std::string node() const override { return node_name; }
  [[nodiscard]] std::optional<int> block() const override { return block_number; }
  std::optional<std::string> share(std::optional<std::string> line) override { return line; }
  std::vector<std::string> gather_all(const std::string& text) override {
    world_.texts[place()] = text;
    world_.all.pass(world_.size, {});
    auto texts = world_.texts;
    world_.all.pass(world_.size, {});
    return texts;
  }
  void split(bool is_host) override {
    world_.hosts += is_host ? 1 : 0;
    world_.all.pass(world_.size, {});
  }
  void barrier(Group group, bool /*sleepy*/, const Idle& idle) override {
    if (group == Group::kAll) return world_.all.pass(world_.size, idle);
    world_.of_hosts.pass(world_.hosts, idle);
  }
  void combine(std::vector<double>& values, bool sum) override {
    world_.values[place()] = values;
    world_.all.pass(world_.size, {});
    for (std::size_t r = 0; r < world_.count(); ++r) {
      if (r == place()) continue;
      for (std::size_t i = 0; i < values.size(); ++i) {
        const double other = world_.values[r].at(i);
        values[i] = sum ? values[i] + other : std::max(values[i], other);
      }
    }
    world_.all.pass(world_.size, {});
  }
  /// Of hosts alone, which the tests number first.
  void collective(Pattern pattern, const std::byte* input, std::byte* output, std::size_t bytes,
                  const std::function<void()>& between) override {
    world_.inputs[place()] = input;
    if (between) between();
    const auto hosts = static_cast<std::size_t>(world_.hosts.load());
    world_.of_hosts.pass(world_.hosts, {});
    for (const Delivery& one : deliveries(pattern, hosts, place(), bytes)) {
      std::memcpy(output + one.output, world_.inputs[one.source] + one.input, one.bytes);
      for (std::size_t h = 1; one.sum && h < hosts; ++h) add_bytes(output, world_.inputs[h], one.bytes);
    }
    world_.of_hosts.pass(world_.hosts, {});
  }

  std::string node_name = "here";
  std::optional<int> block_number;

 private:
  [[nodiscard]] std::size_t place() const { return static_cast<std::size_t>(rank_); }
  World& world_;
  int rank_;
};

/// Copies between the windows of one process: one-sided, unless it is told that calls of the other rank are needed.
class ThreadTransport : public Transport {
 public:
  explicit ThreadTransport(World& world) : world_(world) {}
  [[nodiscard]] std::string version() const override { return "threads"; }
  std::byte* map(std::size_t bytes) override {
    mapped_.resize(bytes);
    return mapped_.data();
  }
  [[nodiscard]] std::string address() const override {
    const auto begin = reinterpret_cast<std::uintptr_t>(mapped_.data());
    return std::to_string(begin);
  }
  void connect(const std::vector<std::string>& addresses, int own_rank) override {
    rank_ = own_rank;
    for (const std::string& text : addresses) windows_.push_back(reinterpret_cast<std::byte*>(std::stoull(text)));
  }
  [[nodiscard]] std::string lanes() const override { return "threads"; }
  void put(int rank, std::uint64_t there, const std::byte* from, std::size_t bytes) override {
    std::byte* const to = windows_.at(static_cast<std::size_t>(rank)) + there;
    if (!emulates_puts) return copy(to, from, bytes);
    ++*pending_;
    wait_for(rank, [to, copied = std::vector(from, from + bytes), pending = pending_] {
      copy(to, copied.data(), copied.size());
      --*pending;
    });
  }
  Ticket get(int rank, std::uint64_t there, std::byte* into, std::size_t bytes) override {
    const std::byte* const from = windows_.at(static_cast<std::size_t>(rank)) + there;
    if (!emulates_gets) {
      copy(into, from, bytes);
      return nullptr;
    }
    auto* const left = &gets_.emplace_back(1);
    wait_for(rank, [=] {
      copy(into, from, bytes);
      *left = 0;
    });
    return left;
  }
  bool done(Ticket ticket) override { return *static_cast<std::atomic<int>*>(ticket) == 0; }
  void fence() override { std::atomic_thread_fence(std::memory_order_seq_cst); }
  Ticket flush() override { return pending_.get(); }
  void progress() override {
    if (rank_ < 0) return;
    auto& queue = world_.queues[static_cast<std::size_t>(rank_)];
    while (true) {
      const std::unique_lock lock(queue.mutex);
      if (queue.work.empty()) return;
      queue.work.front()();
      queue.work.pop_front();
    }
  }
  [[nodiscard]] const std::byte* reach(int rank) override {
    return emulates_puts ? nullptr : windows_.at(static_cast<std::size_t>(rank));
  }

  bool emulates_puts = false;
  bool emulates_gets = false;

 protected:
  static void copy(std::byte* to, const std::byte* from, std::size_t bytes) {
    if (bytes != sizeof(std::uint64_t) || reinterpret_cast<std::uintptr_t>(to) % bytes != 0) {
      std::memcpy(to, from, bytes);
      return;
    }
    std::uint64_t value = 0;  // perhaps a flag
    std::memcpy(&value, from, bytes);
    std::atomic_ref(*reinterpret_cast<std::uint64_t*>(to)).store(value, std::memory_order_release);
  }

 private:
  void wait_for(int rank, std::function<void()> call) {
    auto& queue = world_.queues[static_cast<std::size_t>(rank)];
    const std::lock_guard lock(queue.mutex);
    queue.work.push_back(std::move(call));
  }

  World& world_;
  int rank_ = -1;
  std::vector<std::byte> mapped_;
  std::vector<std::byte*> windows_;
  std::shared_ptr<std::atomic<int>> pending_ = std::make_shared<std::atomic<int>>(0);
  std::deque<std::atomic<int>> gets_;
};

/// What a test does to a rank before its session.
struct Rank {
  ThreadWire* wire;
  std::unique_ptr<ThreadTransport>* transport;
  Role* role;
  std::string* phase;  ///< the current one
  std::unique_ptr<measure::MemoryMeter>* meter;
};

/// Run ranks, hosts first, as threads. @param arrange called for each rank by its own thread @param body called with each session
/// @return the error of rank 0, or an empty text
inline std::string run_ranks(const OffloadJob& job, const std::function<void(int rank, World& world, const Rank& parts)>& arrange,
                             const std::function<void(int rank, Session& session)>& body) {
  const int size = static_cast<int>(job.hosts + job.workers);
  World world(size);
  std::vector<std::string> errors(world.count());
  std::vector<std::thread> threads;
  for (int r = 0; r < size; ++r) {
    threads.emplace_back([&, r] {
      ThreadWire wire(world, r);
      std::unique_ptr<ThreadTransport> transport = std::make_unique<ThreadTransport>(world);
      Role role = r < static_cast<int>(job.hosts) ? Role::kHost : Role::kWorker;
      std::string phase;
      auto meter = std::make_unique<measure::MemoryMeter>("/there is no such folder");
      if (arrange) arrange(r, world, {&wire, &transport, &role, &phase, &meter});
      try {
        Session session(job, role, wire, *transport, {[&](std::string_view begun) { phase = begun; }, [] {}}, *meter);
        body(r, session);
      } catch (const Agreed& error) {
        errors[static_cast<std::size_t>(r)] = error.what();
      }
      world.all.pass(size, {});  // nobody's window goes while others use it
    });
  }
  for (std::thread& thread : threads) thread.join();
  return errors[0];
}

}  // namespace dpubench::offload::test
