// The forwarding loop: threads that take packets from one port and hand them to another one, with work after each burst.
#pragma once

#include <atomic>
#include <cstdint>
#include <future>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "headroom/crew.hpp"
#include "headroom/device.hpp"
#include "headroom/packet.hpp"

namespace dpubench::headroom {

/// What one look for packets came to.
struct Passed {
  std::uint32_t received = 0;
  std::uint32_t forwarded = 0;
  std::uint64_t bytes = 0;  ///< of those received, without FCS
};

/// One thread's use of a passage.
class Gate {
 public:
  Gate() = default;
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  virtual ~Gate() = default;

  /// Take up to `most` packets that are there from a queue, hand them to the same queue of the way out, and drop those that it
  /// does not take. Nothing is copied, allocated or waited for. @param tally counts the packets of `trial` by their numbers;
  /// null: no packet is read
  virtual Passed pass(std::uint32_t queue, std::uint32_t most, Tally* tally, std::uint32_t trial) noexcept = 0;
};

/// A way in and a way out, with as many queues as the job has threads.
class Passage {
 public:
  Passage() = default;
  Passage(const Passage&) = delete;
  Passage& operator=(const Passage&) = delete;
  virtual ~Passage() = default;

  /// Open a thread's use, on that thread. Destroy it there, before this object. @throws Error
  [[nodiscard]] virtual std::unique_ptr<Gate> open_gate() = 0;
  /// Return whether packets can leave now.
  [[nodiscard]] virtual bool is_up() const = 0;
  /// Return the fields of a port in the event `opened`.
  [[nodiscard]] virtual nlohmann::json described() const = 0;
};

/// Open the two ports of the job. Start the EAL first. @throws Error
std::unique_ptr<Passage> open_port_passage(const HeadroomJob& job);

/// The forwarding side of a job. Use it from the thread that made it.
class Forwarder final : public Device, public Crew {
 public:
  /// Open a gate on each of the job's threads. @throws Error
  Forwarder(const HeadroomJob& job, Passage& passage);
  ~Forwarder() override;

  void begin(const TrialSpec& spec) override;
  Forwarded collect(std::uint32_t trial, std::uint64_t expected) override;
  [[nodiscard]] nlohmann::json described() const override;
  [[nodiscard]] Pace pace() const override { return own_pace(); }

 private:
  struct Course;
  Forwarded run(const TrialSpec& spec, std::uint64_t steps, Course& course);

  Passage& passage_;
  std::vector<std::unique_ptr<Gate>> gates_;
  std::unique_ptr<Course> course_;  ///< of the trial under way, else null
  std::future<Forwarded> trial_;
  std::uint32_t number_ = 0;
};

}  // namespace dpubench::headroom
