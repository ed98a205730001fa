#include "headroom/lane.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "operators/operator.hpp"

namespace dpubench::headroom {
namespace {

/// The items of the operator's real input with room for their outputs, taken in turn.
class LaneInsertion final : public Insertion {
 public:
  LaneInsertion(std::unique_ptr<datapath::LaneRunner> runner, const dpubench::Work& work, std::string name)
      : runner_(std::move(runner)), work_(work), name_(std::move(name)) {
    for (const Item& item : work_.items) outputs_.emplace_back(std::max<std::size_t>(1, item.out_room));
    expected_ = run_all();
  }

  void after_burst(std::uint32_t packets) noexcept override {
    runner_->clear();
    for (std::uint32_t i = 0; i < packets; ++i) {
      add(next_);
      next_ = next_ + 1 == work_.items.size() ? 0 : next_ + 1;
    }
    lost_ = !runner_->run() || lost_;
  }

  /// Compare the outputs of one more pass, through buffers that the trial wrote to, with those before it.
  std::string check() override {
    if (lost_) return name_ + ": the device lost operations";
    return run_all() == expected_ ? std::string() : name_ + ": its outputs differ from those before the trial";
  }

 private:
  void add(std::size_t i) noexcept {
    const Item& item = work_.items[i];
    runner_->add(item.in.data(), static_cast<std::uint32_t>(item.in.size()), outputs_[i].data(), item.out_room, item.aux.data());
  }

  struct Outcome {
    std::vector<std::byte> bytes;
    std::uint64_t result = 0;
    std::uint8_t status = 0;
    bool operator==(const Outcome&) const = default;
  };

  std::vector<Outcome> run_all() {
    std::vector<Outcome> all;
    for (std::size_t done = 0; done < work_.items.size();) {
      runner_->clear();
      while (done + runner_->size() < work_.items.size() && runner_->size() < datapath::LaneRunner::kCapacity)
        add(done + runner_->size());
      if (!runner_->run()) throw Error(name_ + ": the device lost operations");
      for (std::uint32_t i = 0; i < runner_->size(); ++i) {
        const std::byte* const out = outputs_[done + i].data();
        all.push_back(
            {{out, out + std::min(runner_->out_len(i), work_.items[done + i].out_room)}, runner_->result(i), runner_->status(i)});
      }
      done += runner_->size();
    }
    return all;
  }

  std::unique_ptr<datapath::LaneRunner> runner_;
  const dpubench::Work& work_;
  std::string name_;
  std::vector<std::vector<std::byte>> outputs_;
  std::vector<Outcome> expected_;
  std::size_t next_ = 0;
  bool lost_ = false;
};

datapath::OperatorSpec spec_of(const HeadroomJob& job) {
  datapath::OperatorSpec spec;
  spec.stage = "operator";
  spec.op = job.operator_job->op;
  spec.engine = job.operator_job->engine;
  spec.params = job.operator_job->params;
  spec.seed = job.seed;
  return spec;
}

}  // namespace

LoopOperator::LoopOperator(const HeadroomJob& job, const EngineCatalog& engines)
    : store_(job.inputs, job.seed, job.cache_dir), prepared_(spec_of(job), store_, engines) {}

std::unique_ptr<Insertion> LoopOperator::open() {
  return std::make_unique<LaneInsertion>(prepared_.open(), prepared_.work(),
                                         prepared_.report().name + " " + prepared_.report().engine);
}

}  // namespace dpubench::headroom
