// memcpy: copies messages from one buffer to another.

#include "operators/lane.hpp"
#include "operators/support/messages.hpp"

namespace dpubench {
namespace {

class MemcpyOperator final : public Operator {
 public:
  [[nodiscard]] const OperatorInfo& info() const override {
    static const OperatorInfo info = [] {
      OperatorInfo i;
      i.name = "memcpy";
      i.scenarios = {"network"};
      i.summary = "copy of a message to another buffer";
      i.definition =
          "in: the message. out: the same bytes. Both buffers are 64-byte aligned. One operation is one whole message, moved by "
          "the calling core. Footprint `resident` copies within the caches; `stream` reads and writes memory that is no longer "
          "in L2.";
      i.parameters = {size_parameter()};
      i.equivalence = Equivalence::kIdentical;
      i.equivalence_text = "the same bytes as the input";
      i.primary_metric = "gbps";
      i.processes_all_bytes = true;
      i.reference_engine = "libc";
      i.sources = {"ISO/IEC 9899:2018 section 7.24.2.1", "DPUBench (2023), network operators"};
      return i;
    }();
    return info;
  }

  [[nodiscard]] std::unique_ptr<Work> prepare(const Params& params, inputs::Store& store, WorkSize size) const override {
    const std::uint64_t bytes = params.number("size");
    auto work = std::make_unique<Work>();
    work->items = random_messages(store, "memcpy", size.items, bytes, static_cast<std::uint32_t>(bytes));
    describe_generated(*work, store, "memcpy");
    return work;
  }

  /// Return messages of every length around the block sizes of copy routines, because these go wrong in the last bytes.
  [[nodiscard]] std::vector<KnownAnswer> known_answers(const Params& params) const override {
    auto work = std::make_unique<Work>();
    work->params = params;
    const auto add = [&](std::size_t length) {
      std::vector<std::byte> message(length);
      for (std::size_t i = 0; i < length; ++i) message[i] = static_cast<std::byte>((i * 131 + length) >> (i % 3) & 0xffU);
      work->expected.push_back({message, 0, kStatusOk});
      work->items.push_back({std::move(message), {}, static_cast<std::uint32_t>(length)});
    };
    for (std::size_t length = 1; length <= 1100; ++length) add(length);
    for (std::size_t block = 2048; block <= 65536; block *= 2) {
      for (const std::size_t length : {block - 1, block, block + 1}) add(length);
    }
    std::vector<KnownAnswer> answers;
    answers.push_back({"every length from 1 to 1100 B and around powers of two to 64 KiB", std::move(work)});
    return answers;
  }

  [[nodiscard]] std::optional<Output> oracle(const Work& work, std::size_t item) const override {
    return Output{work.items[item].in, 0, kStatusOk};
  }
};

DPUBENCH_OPERATOR(MemcpyOperator);

}  // namespace
}  // namespace dpubench
