#include "datapath/stages/lane_stage.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <numeric>
#include <utility>

#include "base/cache_line.hpp"
#include "base/error.hpp"
#include "measure/clock.hpp"
#include "operators/verify.hpp"

namespace dpubench::datapath {
namespace {

constexpr std::uint32_t kPollsPerReading = 1U << 12;
constexpr std::uint32_t kWorkItems = 64;  ///< items of real input on which an engine is verified before its stage runs
/// Offset of the payload in a packet's buffer: the length of Ethernet, IPv4 and UDP headers.
constexpr std::size_t kPayloadAt = 42;

const Engine& find_engine(const OperatorSpec& spec, const EngineCatalog& engines, const Params& params) {
  const EngineSlot* const slot = engines.find(spec.op, spec.engine);
  if (slot == nullptr) {
    std::string known;
    for (const EngineSlot* other : engines.of(*find_operator(spec.op))) known += (known.empty() ? "" : ", ") + other->name;
    throw Error(spec.op + " has no engine '" + spec.engine + "' in this build; it has: " + known);
  }
  if (!slot->reason.empty()) throw Error("engine " + spec.engine + " of " + spec.op + " cannot run here: " + slot->reason);
  if (const std::string reason = slot->engine->unsupported(params); !reason.empty()) {
    throw Error("engine " + spec.engine + " of " + spec.op + " does not do " + params.str() + ": " + reason);
  }
  return *slot->engine;
}

}  // namespace

LaneRunner::LaneRunner(std::unique_ptr<Lane> lane, std::uint32_t burst_items, std::uint64_t patience_ns)
    : lane_(std::move(lane)),
      burst_items_(std::clamp<std::uint32_t>(burst_items, 1, kCapacity)),
      patience_ns_(patience_ns),
      most_bursts_(lane_->depth()),
      bursts_((kCapacity + burst_items_ - 1) / burst_items_) {}

LaneRunner::~LaneRunner() {
  // The device may still write to the arrays of bursts that it kept, so the lane is not destroyed.
  if (lost_) static_cast<void>(lane_.release());
}

std::uint32_t LaneRunner::submit(std::uint32_t next) noexcept {
  Burst& burst = bursts_[next / burst_items_];
  burst = {.n = std::min(burst_items_, n_ - next),
           .in = &in_[next],
           .in_len = &in_len_[next],
           .out = &out_[next],
           .out_room = &out_room_[next],
           .out_len = &out_len_[next],
           .aux = &aux_[next],
           .result = &result_[next],
           .status = &status_[next]};
  return lane_->submit(burst) ? burst.n : 0;
}

bool LaneRunner::run() noexcept {
  std::uint32_t next = 0;
  std::uint32_t under_way = 0;  // bursts
  std::uint64_t idle_polls = 0;
  std::uint64_t idle_since_ns = 0;
  while (!lost_ && (next < n_ || under_way != 0)) {
    bool moved = false;
    if (next < n_ && under_way < most_bursts_) {
      const std::uint32_t taken = submit(next);
      next += taken;
      if (taken != 0) ++under_way;
      moved = taken != 0;
    }
    Burst* done[16];
    const std::uint32_t complete = lane_->poll(done);
    under_way -= complete;
    if (moved || complete != 0) {
      idle_polls = 0;
    } else if (++idle_polls % kPollsPerReading == 0) {
      const std::uint64_t now_ns = measure::Clock::monotonic_raw_ns();
      if (idle_polls == kPollsPerReading) idle_since_ns = now_ns;
      lost_ = now_ns - idle_since_ns > patience_ns_;
    }
  }
  if (lost_) std::fill_n(status_.begin(), n_, kStatusLost);
  return !lost_;
}

PreparedOperator::PreparedOperator(OperatorSpec spec, inputs::Store& store, const EngineCatalog& engines)
    : spec_(std::move(spec)) {
  try {
    prepare(store, engines);
  } catch (const std::exception& error) {
    throw Error("stage " + spec_.stage + ": " + error.what());
  }
}

PreparedOperator::~PreparedOperator() = default;

void PreparedOperator::prepare(inputs::Store& store, const EngineCatalog& engines) {
  const Operator* const op = find_operator(spec_.op);
  if (op == nullptr) throw Error("there is no operator '" + spec_.op + "'");
  const Params params = op->complete(spec_.params);
  const Engine& engine = find_engine(spec_, engines, params);
  work_ = op->prepare(params, store, {std::min(kWorkItems, op->info().distinct_items)});
  work_->params = params;
  if (work_->items.empty()) throw Error("the input yields no item for " + params.str());
  for (const Item& item : work_->items) {
    most_in_bytes_ = std::max(most_in_bytes_, static_cast<std::uint32_t>(item.in.size()));
  }
  if (most_in_bytes_ < spec_.most_in_bytes) {
    throw Error(spec_.op + " with " + params.str() + " is prepared for inputs of at most " + std::to_string(most_in_bytes_) +
                " bytes, but the stage has " + std::to_string(spec_.most_in_bytes));
  }
  const measure::Clock& clock = measure::Clock::instance();
  const std::uint64_t start = clock.ticks();
  session_ = engine.prepare(*work_);
  is_synchronous_ = engine.info().in_flight == 0;
  report_.build_ns = clock.to_ns(clock.ticks() - start);
  report_.name = spec_.stage;
  report_.engine = spec_.engine;
  report_.path = session_->path();
  report_.memory_bytes = session_->memory_bytes();
  Verifier verifier(*op, *work_, engines, spec_.burst_items, spec_.seed);
  std::vector<Output> outputs;
  const Verifier::Passed passed = verifier.verify(engine, *session_, outputs);
  std::vector<std::size_t> items(work_->items.size());
  std::iota(items.begin(), items.end(), std::size_t{0});
  const std::vector<Output> unaligned = run_unaligned();
  verifier.judge(items, unaligned);
  report_.verified = std::to_string(passed.known_answers) + " known answers, " + std::to_string(passed.compared) +
                     " items of real input (" + passed.how + "), and again as payloads lie in packets";
}

std::vector<Output> PreparedOperator::run_unaligned() {
  std::size_t bytes = 0;
  for (const Item& item : work_->items)
    bytes += kCacheLine + whole_lines(kPayloadAt + item.in.size()) + whole_lines(item.out_room);
  for (const Item& item : work_->items) bytes += whole_lines(item.aux.size());
  // A device maps whole pages.
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  bytes = (bytes + page - 1) / page * page;
  const std::unique_ptr<std::byte, decltype(&std::free)> memory(static_cast<std::byte*>(std::aligned_alloc(page, bytes)),
                                                                std::free);
  if (memory == nullptr) throw std::bad_alloc();
  const std::unique_ptr<LaneRunner> runner = open();
  runner->attach({memory.get(), bytes});
  std::byte* at = memory.get();
  const auto place = [&at](std::span<const std::byte> what, std::size_t offset, std::size_t room) {
    std::byte* const here = at + offset;
    std::copy(what.begin(), what.end(), here);
    at += whole_lines(offset + room);
    return here;
  };
  std::vector<Output> outputs;
  for (std::size_t done = 0; done < work_->items.size();) {
    runner->clear();
    std::vector<std::byte*> out;
    for (std::size_t i = done; i < work_->items.size() && runner->size() < LaneRunner::kCapacity; ++i) {
      const Item& item = work_->items[i];
      const std::byte* const in = place(item.in, kPayloadAt, item.in.size());
      const std::byte* const aux = place(item.aux, 0, item.aux.size());
      out.push_back(place({}, 0, item.out_room));
      runner->add(in, static_cast<std::uint32_t>(item.in.size()), out.back(), item.out_room, aux);
    }
    if (!runner->run()) throw Error("engine " + spec_.engine + ": the device lost operations");
    for (std::uint32_t i = 0; i < runner->size(); ++i) {
      if (runner->out_len(i) > work_->items[done + i].out_room)
        throw Error("engine " + spec_.engine + " wrote past its output buffer");
      outputs.push_back({{out[i], out[i] + runner->out_len(i)}, runner->result(i), runner->status(i)});
    }
    done += runner->size();
  }
  return outputs;
}

std::unique_ptr<LaneRunner> PreparedOperator::open() {
  // A synchronous engine keeps nothing in flight, so it gets a batch's items in one call. A device takes a burst whole or not
  // at all, so a burst has no more items than the device takes.
  const std::uint32_t burst =
      is_synchronous_ ? LaneRunner::kCapacity : std::min(spec_.burst_items, std::max(1U, session_->path().max_in_flight));
  return std::make_unique<LaneRunner>(open_lane(), burst);
}

std::unique_ptr<Lane> PreparedOperator::open_lane() {
  return session_->open();
}

}  // namespace dpubench::datapath
