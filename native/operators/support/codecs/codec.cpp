#include "operators/support/codecs/codec.hpp"

#include <algorithm>
#include <utility>

#include "inputs/digest.hpp"
#include "operators/lane.hpp"
#include "operators/support/messages.hpp"

namespace dpubench {
namespace {

constexpr std::size_t kMaxSize = 1U << 20;
constexpr std::size_t kMaxWorkBytes = 32U << 20;  // bytes of all distinct messages together
constexpr std::size_t kTruncatedEvery = 16;       // one in this many undone outputs also has a truncated copy

}  // namespace

OperatorInfo CodecOperator::common_info(std::string name, const std::string& pack, const std::string& unpack) {
  OperatorInfo i;
  i.name = std::move(name);
  i.scenarios = {"storage"};
  i.parameters = {{"direction", pack + " or " + unpack, {pack, unpack}, pack, true, "", 0, 0}, size_parameter(1, kMaxSize)};
  i.parameters[1].summary = "bytes of uncompressed data per operation";
  i.equivalence = Equivalence::kInverse;
  i.equivalence_text = pack +
                       ": every engine turns the output back into the input, and rejects it when its last byte is missing; " +
                       unpack + ": the original bytes";
  i.primary_metric = "gbps";
  i.processes_all_bytes = true;
  i.metrics = {{"ratio", "1", "uncompressed size over compressed size", true}};
  i.inputs = {{"corpus"}};
  i.distinct_items = 65536;
  i.version = 2;  // version 1 had 128 messages, which branch predictors learned
  i.default_burst = 1;
  return i;
}

bool CodecOperator::packs(const Params& params) {
  return params.is("direction", "encode") || params.is("direction", "compress");
}

Equivalence CodecOperator::equivalence(const Params& params) const {
  return packs(params) ? Equivalence::kInverse : Equivalence::kIdentical;
}

std::unique_ptr<Work> CodecOperator::prepare(const Params& params, inputs::Store& store, WorkSize size) const {
  const std::size_t length = params.number("size");
  const std::size_t count = std::clamp<std::size_t>(kMaxWorkBytes / length, 1, size.items);
  // Both directions, and all operators of this kind, work on the same messages.
  inputs::Random random = store.random("codec");
  std::vector<std::vector<std::byte>> messages = store.corpus().messages(count, length, random);
  auto work = std::make_unique<Work>();
  const inputs::Store::Identity corpus = store.identity("corpus");
  work->input_name = corpus.name;
  std::string material =
      corpus.sha256 + "/codec/" + std::to_string(store.seed()) + '/' + std::to_string(count) + '/' + std::to_string(length);
  const std::size_t room = packed_room(params, length);
  if (packs(params)) {
    for (std::vector<std::byte>& message : messages)
      work->items.push_back({std::move(message), {}, static_cast<std::uint32_t>(room)});
  } else {
    work->input_name += ", packed by dpubench's own encoder";
    std::vector<std::byte> packed(room);
    for (std::vector<std::byte>& message : messages) {
      const std::size_t used = pack(message, packed);
      work->items.push_back(
          {{packed.begin(), packed.begin() + static_cast<std::ptrdiff_t>(used)}, {}, static_cast<std::uint32_t>(length)});
      work->expected.push_back({std::move(message), 0, kStatusOk});
      material += '/' + std::to_string(used);
    }
  }
  work->input_hash = inputs::Sha256::hex(inputs::Sha256::of(std::as_bytes(std::span(material))));
  return work;
}

std::unique_ptr<Work> CodecOperator::inverse(const Work& work, std::span<const std::size_t> items,
                                             std::span<const Output> outputs) const {
  if (!packs(work.params)) return nullptr;
  auto undo = std::make_unique<Work>();
  undo->params = unpacking(work.params);
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::vector<std::byte>& plain = work.items[items[i]].in;
    const std::vector<std::byte>& packed = outputs[i].bytes;
    const auto room = static_cast<std::uint32_t>(plain.size());
    undo->items.push_back({packed, {}, room});
    undo->expected.push_back({plain, 0, kStatusOk});
    if (i % kTruncatedEvery == 0 && packed.size() > 1) {
      undo->items.push_back({{packed.begin(), packed.end() - 1}, {}, room});
      undo->expected.push_back({{}, 0, kStatusRejected});
    }
  }
  return undo;
}

Params CodecOperator::unpacking(const Params& params) const {
  Params undo = params;
  undo.set("direction", params.is("direction", "encode") ? std::string("decode") : std::string("decompress"));
  return undo;
}

std::vector<double> CodecOperator::metrics(const Work& work, const WindowTotals& totals) const {
  const auto in = static_cast<double>(totals.in_bytes);
  const auto out = static_cast<double>(totals.out_bytes);
  return {packs(work.params) ? in / out : out / in};
}

std::optional<Operator::Remark> CodecOperator::remark(const Work& work, const WindowTotals& totals) const {
  if (!packs(work.params) || totals.out_bytes <= totals.in_bytes) return std::nullopt;
  const double percent = 100.0 * (static_cast<double>(totals.out_bytes) / static_cast<double>(totals.in_bytes) - 1.0);
  return Remark{"expansion", "the output is " + std::to_string(percent) + " % larger than the input: messages of " +
                                 work.params.text("size") + " B of this corpus are too small or too random to compress"};
}

std::uint64_t CodecOperator::rate_bytes(const Work& work, const WindowTotals& totals) const {
  return packs(work.params) ? totals.in_bytes : totals.out_bytes;
}

CodecOperator::Vectors& CodecOperator::Vectors::gives(std::string_view packed, std::string_view plain) {
  work_->items.push_back({from_hex(packed), {}, static_cast<std::uint32_t>(plain.size())});
  work_->expected.push_back({bytes_of(plain), 0, kStatusOk});
  return *this;
}

CodecOperator::Vectors& CodecOperator::Vectors::rejects(std::string_view packed, std::uint32_t room) {
  work_->items.push_back({from_hex(packed), {}, room});
  work_->expected.push_back({{}, 0, kStatusRejected});
  return *this;
}

}  // namespace dpubench
