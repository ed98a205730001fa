// application-recognition: the rules that a packet's payload matches tell which application the packet belongs to. That decides
// what the server does with the packet.

#include "datapath/workloads/workload.hpp"

#include <algorithm>
#include <utility>

#include "datapath/workloads/application-recognition/expectation.hpp"
#include "datapath/workloads/application-recognition/stages.hpp"
#include "operators/regex/work.hpp"

namespace dpubench::datapath {
namespace {

using recognition::Placement;
using regex::RegexWork;

constexpr std::uint32_t kStretch = 16384;  ///< holds a jumbo frame's payload and the overlap

std::optional<packet::Reassembly::Limits> limits_of(const Params& params) {
  if (!params.is("mode", "stream")) return std::nullopt;
  return packet::Reassembly::Limits{.flows = static_cast<std::uint32_t>(params.number("flows")),
                                    .stretch_bytes = kStretch,
                                    .overlap_bytes = static_cast<std::uint32_t>(params.number("overlap"))};
}

OperatorSpec spec_of(const std::string& stage, const std::string& op, std::uint32_t bytes, Params params) {
  OperatorSpec spec;
  spec.stage = stage;
  spec.op = op;
  spec.params = std::move(params);
  spec.params.set("size", std::to_string(bytes));
  spec.most_in_bytes = bytes;
  return spec;
}

const RegexWork& rules_of(const PreparedOperator& scan) {
  return static_cast<const RegexWork&>(scan.work());
}

/// Add to a bitmap the rules that an engine leaves undecided on a plain text: those that its compiler refuses.
void add_refused(const RegexWork& work, LaneRunner& runner, std::vector<std::byte>& bitmap) {
  const std::vector<std::byte> text(64, std::byte{'a'});
  std::vector<std::byte> out(2 * bitmap.size());
  runner.clear();
  runner.add(text.data(), static_cast<std::uint32_t>(text.size()), out.data(), static_cast<std::uint32_t>(out.size()));
  if (!runner.run() || runner.status(0) != kStatusOk) return;
  for (std::size_t i = 0; i < work.rules.size(); ++i) {
    if (regex::bit(std::span(out).subspan(bitmap.size()), i)) regex::set_bit(bitmap.data(), i);
  }
}

/// Return the rules that every engine leaves undecided, and those that engines of this machine do not decide alike.
recognition::Recogniser::Doubts doubts_about(const RegexWork& work, const EngineCatalog& engines) {
  recognition::Recogniser::Doubts doubts;
  doubts.shared.resize(regex::bitmap_bytes(work.rules.size()));
  doubts.contested.resize(doubts.shared.size());
  for (std::size_t i = 0; i < work.rules.size(); ++i) {
    if (work.rules[i].utf8) regex::set_bit(doubts.shared.data(), i);
  }
  for (const EngineSlot* slot : engines.of(*find_operator("regex"))) {
    if (!slot->reason.empty() || !slot->engine->unsupported(work.params).empty()) continue;
    try {
      const std::unique_ptr<Session> session = slot->engine->prepare(work);
      LaneRunner runner(session->open(), LaneRunner::kCapacity);
      add_refused(work, runner, doubts.contested);
    } catch (const std::exception&) {
      // An engine that cannot even prepare these rules serves nobody, so it raises no doubts.
    }
  }
  return doubts;
}

class RecognitionPipeline final : public Pipeline {
 public:
  RecognitionPipeline(const Setting& setting, inputs::Store& store, const EngineCatalog& engines)
      : reassembly_(limits_of(setting.params)), packet_bytes_(setting.max_frame - kFcsBytes) {
    const auto here = [&](const char* stage) { return std::ranges::find(setting.stages, stage) != setting.stages.end(); };
    placement_ = {.scan = here("scan"), .hash = here("hash"), .compress = here("compress"), .has_next = setting.ports.size() > 1};
    if (placement_.scan && !(placement_.hash && placement_.compress) && !placement_.has_next) {
      throw Error(std::string("application-recognition: stage ") + (placement_.hash ? "compress" : "hash") +
                  " does not run: add it to stages, or add a second port, to the server that runs it");
    }
    const auto prepare = [&](OperatorSpec spec) {
      spec.engine = setting.engines.at(spec.stage);
      spec.seed = setting.seed;
      return std::make_unique<PreparedOperator>(std::move(spec), store, engines);
    };
    if (placement_.scan) {
      scan_ = prepare(spec_of("scan", "regex", recognition::longest_text(packet_bytes_, reassembly_), {}));
    }
    if (placement_.hash) hash_ = prepare(spec_of("hash", "sha256", packet_bytes_, {}));
    if (placement_.compress) compress_ = prepare(spec_of("compress", "deflate", packet_bytes_, {{"direction", "compress"}}));
  }

  [[nodiscard]] std::vector<StageReport> report() const override {
    std::vector<StageReport> reports;
    for (const PreparedOperator* stage : {scan_.get(), hash_.get(), compress_.get()}) {
      if (stage != nullptr) reports.push_back(stage->report());
    }
    return reports;
  }

  [[nodiscard]] std::vector<std::unique_ptr<Stage>> open(std::uint32_t /*core*/) override {
    std::vector<std::unique_ptr<Stage>> stages;
    if (scan_ != nullptr) {
      auto recogniser = std::make_unique<recognition::Recogniser>(scan_->open(), rules_of(*scan_).rules.size(),
                                                                  scan_->most_in_bytes(), reassembly_);
      stages.push_back(std::make_unique<recognition::ScanStage>(std::move(recogniser), placement_));
    }
    if (hash_ != nullptr) {
      stages.push_back(std::make_unique<recognition::HashStage>(hash_->open(), packet_bytes_, placement_, stages.empty()));
    }
    if (compress_ != nullptr) {
      std::uint32_t room = 0;
      for (const Item& item : compress_->work().items) room = std::max(room, item.out_room);
      stages.push_back(
          std::make_unique<recognition::CompressStage>(compress_->open(), packet_bytes_, room, placement_, stages.empty()));
    }
    return stages;
  }

 private:
  std::optional<packet::Reassembly::Limits> reassembly_;
  std::uint32_t packet_bytes_;
  Placement placement_;
  std::unique_ptr<PreparedOperator> scan_;
  std::unique_ptr<PreparedOperator> hash_;
  std::unique_ptr<PreparedOperator> compress_;
};

/// Return the first engine of the operator that can run here: its reference, if that can run. @throws Error when none can
std::string reference_engine(const std::string& op, const EngineCatalog& engines) {
  std::string reasons;
  for (const EngineSlot* slot : engines.of(*find_operator(op))) {
    if (slot->reason.empty()) return slot->name;
    reasons += "; " + slot->name + ": " + slot->reason;
  }
  throw Error("application-recognition: no engine of " + op + " can run here, so no answer can be expected" + reasons);
}

/// An expectation with the operator that it uses. The operator is destroyed after the expectation.
class OwningExpectation final : public Expectation {
 public:
  OwningExpectation(std::unique_ptr<PreparedOperator> scan, const EngineCatalog& engines,
                    const std::optional<packet::Reassembly::Limits>& reassembly, std::span<const FrameTemplate> templates)
      : scan_(std::move(scan)),
        expectation_(*scan_, rules_of(*scan_).rules.size(), doubts_about(rules_of(*scan_), engines), reassembly, templates) {}
  [[nodiscard]] Answer judge(std::uint32_t index, std::span<const std::byte> sent, std::span<const std::byte> reply,
                             bool lossy) override {
    return expectation_.judge(index, sent, reply, lossy);
  }
  [[nodiscard]] std::string explain(std::uint32_t index, std::span<const std::byte> sent,
                                    std::span<const std::byte> reply) override {
    return expectation_.explain(index, sent, reply);
  }
  [[nodiscard]] bool may_drop(std::uint32_t index) const override { return expectation_.may_drop(index); }

 private:
  std::unique_ptr<PreparedOperator> scan_;
  recognition::RecognitionExpectation expectation_;
};

class ApplicationRecognition final : public Workload {
 public:
  [[nodiscard]] const WorkloadInfo& info() const override {
    static const WorkloadInfo info = describe();
    return info;
  }

  [[nodiscard]] std::unique_ptr<Pipeline> open(const Setting& setting, inputs::Store& store,
                                               const EngineCatalog& engines) const override {
    return std::make_unique<RecognitionPipeline>(setting, store, engines);
  }

  [[nodiscard]] std::unique_ptr<Expectation> expect(const Params& given, inputs::Store& store, const EngineCatalog& engines,
                                                    std::span<const FrameTemplate> templates) const override {
    const Params params = complete(given);
    const std::optional<packet::Reassembly::Limits> reassembly = limits_of(params);
    std::size_t longest = kMinFrame;
    for (const FrameTemplate& t : templates) longest = std::max(longest, t.frame.size());
    OperatorSpec spec = spec_of("scan", "regex", recognition::longest_text(static_cast<std::uint32_t>(longest), reassembly), {});
    spec.engine = reference_engine("regex", engines);
    return std::make_unique<OwningExpectation>(std::make_unique<PreparedOperator>(std::move(spec), store, engines), engines,
                                               reassembly, templates);
  }

 private:
  static WorkloadInfo describe();
};

std::string definition() {
  return "The payload of every TCP and UDP packet, to the end of the IP packet by its length field, is searched for all rules. "
         "The first rule of the set that matches decides the packet's class by its place: 0, 3, 6 ... echo, 1, 4, 7 ... hash, "
         "2, 5, 8 ... compress. A packet without a match is of class echo. Rules that an engine leaves undecided do not match; "
         "the client accepts both answers where an engine of its machine refuses a rule. echo: the frame comes back with its "
         "Ethernet addresses swapped. hash: the payload is replaced by the SHA-256 of the received frame, from its first byte "
         "to the end of the IP packet (the trailer lies behind that). compress: the payload is replaced by its raw deflate "
         "stream (RFC 1951); if that is not shorter, the packet is treated as echo. In a reply with another payload the "
         "Ethernet addresses are swapped, the lengths and checksums of IP and UDP or TCP are set anew, every other header "
         "field stays, and the trailer moves to the new end in the form for the new length. Every fragment, and every packet "
         "that is not TCP or UDP or has no payload, comes back as echo; only a frame shorter than an Ethernet header is "
         "dropped. mode packet: each payload by itself. mode stream: payloads of a TCP flow are put side by side in sequence "
         "order. A segment with new bytes gets its class by a search of the contiguous text around these bytes, `overlap` "
         "bytes to either side. A match of up to `overlap` + 1 bytes is found when its last byte arrives, in any order of "
         "segments; a longer match may be missed. Anchors stand for the ends of that text. A text with a match is not searched "
         "again. Bytes that came before bring nothing new: of overlapping segments the first copy counts, and a retransmission "
         "is of class echo. Segments are never held back. Of each flow " +
         std::to_string(kStretch) +
         " B of the sequence space are kept, and each core keeps `flows` flows; then it forgets the flow that was idle for "
         "longest. Split: the server that scans marks a packet for another server by its EtherType (88-B5 hash, 88-B6 "
         "compress, the types for local experiments). The other server restores the EtherType before it does anything else.";
}

WorkloadInfo ApplicationRecognition::describe() {
  WorkloadInfo i;
  i.name = "application-recognition";
  i.summary = "deep packet inspection: rules matched against payloads decide whether a packet is hashed, compressed or sent back";
  i.definition = definition();
  i.parameters = {{"mode",
                   "packet: payloads one by one; stream: also across the segments of a TCP flow",
                   {"packet", "stream"},
                   "packet",
                   true,
                   "",
                   0,
                   0},
                  {"flows", "TCP flows that each core keeps", {"4096"}, "4096", false, "1", 256, 1U << 20, {"mode", "stream"}},
                  {"overlap",
                   "bytes of neighbouring segments that are searched with the segment's own bytes",
                   {"256"},
                   "256",
                   false,
                   "B",
                   16,
                   2048,
                   {"mode", "stream"}}};
  i.stages = {{"scan", "search of payloads for the rules", "regex", {}, "hyperscan"},
              {"hash", "SHA-256 of packets of class hash", "sha256", {}, "openssl"},
              {"compress", "deflate of payloads of class compress", "deflate", {}, "isal"}};
  i.inputs = {{"rules"}, {"corpus"}};
  i.sources = {"DPUBench (2023), application recognition, Figures 14 to 16", "RFC 9293 section 3.4 (sequence numbers)",
               "IEEE Std 802 (EtherTypes for local experiments)"};
  return i;
}

DPUBENCH_WORKLOAD(ApplicationRecognition);

}  // namespace
}  // namespace dpubench::datapath
