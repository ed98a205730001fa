#include "datapath/traced/traced.hpp"

#include <rte_lcore.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "datapath/client/traffic.hpp"
#include "datapath/client/writer.hpp"
#include "datapath/frame/trailer.hpp"
#include "datapath/frame/trailer_write.hpp"
#include "datapath/memory.hpp"
#include "datapath/server/serve.hpp"
#include "datapath/stages/batch.hpp"
#include "inputs/digest.hpp"
#include "measure/clock.hpp"
#include "measure/region.hpp"
#include "protocol/reader.hpp"

namespace dpubench::datapath {

using nlohmann::json;

namespace {

constexpr std::size_t kMostJobBytes = 1U << 20;
constexpr double kMostFrames = 1e8;
constexpr std::uint64_t kBurstNs = 10'000;
constexpr std::uint32_t kTrial = 1;
constexpr std::uint32_t kPackets = 4096;

/// Both sides of a link within this process.
struct Link {
  Link(std::uint32_t max_frame, std::uint32_t burst) {
    rte_mempool* const pool = make_pool("dpubench-traced", kPackets, max_frame);
    const std::string ring = std::to_string(std::max<std::uint32_t>(64, 2 * burst));
    const auto open = [&](Role role) {
      return open_port({.kind = "ring", .role = role, .arguments = {{"name", "traced"}, {"ring", ring}}}, {pool, 1, max_frame});
    };
    server.push_back(open(Role::kServer));
    client = open(Role::kClient);
  }
  std::vector<std::unique_ptr<Port>> server;
  std::unique_ptr<Port> client;
};

/// The work of a core's loop, as in server/loop.cpp, without clocks and trials' records.
class Core {
 public:
  Core(Port& port, std::vector<std::unique_ptr<Stage>> stages, std::uint32_t burst)
      : port_(port), stages_(std::move(stages)), burst_(burst) {
    for (const auto& stage : stages_) {
      stage->begin(false);
      parses_ = parses_ || stage->reads_headers();
    }
  }

  /// Process one burst. @param ticks  now
  void turn(std::uint64_t ticks) noexcept {
    measure::open_region();
    measure::next_message();
    batch_.n = port_.receive(0, batch_.packets.data(), static_cast<std::uint16_t>(burst_));
    batch_.received_ticks = ticks;
    received += batch_.n;
    note();
    for (const auto& stage : stages_) stage->run(batch_);
    send();
    measure::close_region();
  }
  void collect(json& into) {
    for (const auto& stage : stages_) stage->collect(into, {});
  }

  std::uint64_t received = 0;
  std::uint64_t transmitted = 0;
  std::uint64_t held = 0;  ///< packets that stages held at any time
  std::array<std::uint64_t, kFates> dropped{};

 private:
  void note() noexcept {
    for (std::uint32_t i = 0; i < batch_.n; ++i) {
      batch_.mark[i] = 0;
      // A server's loop reads the trailer of each packet to know what it received, so this one does, too.
      const std::optional<Trailer> trailer = read_trailer(batch_.frame(i));
      batch_.fate[i] = trailer && belongs_to(*trailer, batch_.packets[i]->data_len, kTrial) ? Fate::kForward : Fate::kDropStale;
      if (parses_) batch_.parsed[i] = packet::parse(batch_.frame(i));
    }
  }
  void send() noexcept {
    std::uint32_t back = 0;
    std::uint32_t gone = 0;
    for (std::uint32_t i = 0; i < batch_.n; ++i) {
      if (batch_.fate[i] == Fate::kForward) {
        back_[back++] = batch_.packets[i];
      } else if (batch_.fate[i] == Fate::kHeld) {
        ++held;
      } else {
        ++dropped.at(static_cast<std::size_t>(batch_.fate[i]));
        gone_[gone++] = batch_.packets[i];
      }
    }
    const std::uint32_t sent = back == 0 ? 0 : port_.transmit(0, back_.data(), static_cast<std::uint16_t>(back));
    transmitted += sent;
    if (sent < back) rte_pktmbuf_free_bulk(back_.data() + sent, back - sent);
    if (gone != 0) rte_pktmbuf_free_bulk(gone_.data(), gone);
  }

  Port& port_;
  std::vector<std::unique_ptr<Stage>> stages_;
  std::uint32_t burst_;
  bool parses_ = false;
  Batch batch_;
  std::array<rte_mbuf*, kMaxPacketBurst> back_{};
  std::array<rte_mbuf*, kMaxPacketBurst> gone_{};
};

/// The other end of the link. It sends bursts and judges the replies.
class Client {
 public:
  Client(Port& port, const Traffic& traffic, Expectation* expectation, std::uint32_t burst, std::uint32_t memory_mb)
      : port_(port),
        traffic_(traffic),
        expectation_(expectation),
        burst_(burst),
        writer_(traffic, true, memory_mb),
        cursor_(traffic),
        sent_(traffic.max_frame) {
    writer_.begin(kTrial);
  }

  void send(std::uint64_t now_ns) {
    std::array<std::uint64_t, kMaxPacketBurst> due{};
    std::array<std::uint16_t, kMaxPacketBurst> bytes{};
    due.fill(now_ns);
    const std::uint32_t filled = writer_.fill(burst_, due.data(), packets_.data(), bytes.data());
    for (std::uint32_t i = 0; i < filled; ++i) sent_bytes += bytes[i];
    const std::uint32_t taken = filled == 0 ? 0 : port_.transmit(0, packets_.data(), static_cast<std::uint16_t>(filled));
    if (taken < filled) rte_pktmbuf_free_bulk(packets_.data() + taken, filled - taken);
    if (taken != burst_)
      throw Error("the link did not take a burst of " + std::to_string(burst_) + " frames: give the job more memory");
    came_back_.resize(came_back_.size() + burst_, false);
  }
  void receive() {
    const std::uint32_t n = port_.receive(0, packets_.data(), kMaxPacketBurst);
    for (std::uint32_t i = 0; i < n; ++i) judge({rte_pktmbuf_mtod(packets_[i], const std::byte*), packets_[i]->data_len});
    if (n != 0) rte_pktmbuf_free_bulk(packets_.data(), n);
  }
  /// Count the frames that did not come back. @returns how many @throws Error when one of them had to
  std::uint64_t missing() {
    std::uint64_t count = 0;
    for (std::uint64_t number = 0; number < came_back_.size(); ++number) {
      if (came_back_[number]) continue;
      ++count;
      const PacketRef packet = cursor_.at(number, number / burst_ * kBurstNs);
      if (!expectation_->may_drop(packet.index)) throw Error("frame " + std::to_string(number) + " got no reply");
    }
    return count;
  }

  std::uint64_t sent_bytes = 0;  ///< with FCS
  std::uint64_t received_bytes = 0;
  std::uint64_t undecided = 0;
  inputs::Sha256 digest;

 private:
  void judge(std::span<const std::byte> reply) {
    const std::optional<Trailer> trailer = read_trailer(reply);
    if (!trailer || trailer->number >= came_back_.size() || came_back_[trailer->number])
      throw Error("a reply carries no trailer of this run, or came twice");
    came_back_[trailer->number] = true;
    const PacketRef packet = cursor_.at(trailer->number, trailer->due_ns);
    const Shape& shape = traffic_.shapes[packet.index];
    std::memcpy(sent_.data(), shape.bytes, shape.length);
    traffic_.write_headers(packet, sent_.data());
    write_trailer({sent_.data(), shape.length}, *trailer);
    const std::span<const std::byte> sent(sent_.data(), shape.length);
    const Expectation::Answer answer = expectation_->judge(packet.index, sent, reply, false);
    if (answer == Expectation::Answer::kWrong)
      throw Error("the reply to frame " + std::to_string(trailer->number) +
                  " is wrong: " + expectation_->explain(packet.index, sent, reply));
    undecided += answer == Expectation::Answer::kCannotTell ? 1 : 0;
    received_bytes += reply.size() + kFcsBytes;
    digest.update(reply);
  }

  Port& port_;
  const Traffic& traffic_;
  Expectation* expectation_;
  std::uint32_t burst_;
  Writer writer_;
  Cursor cursor_;
  std::vector<std::byte> sent_;
  std::vector<bool> came_back_;
  std::array<rte_mbuf*, kMaxPacketBurst> packets_{};
};

const Workload& workload_of(const std::string& name) {
  const Workload* const workload = find_workload(name);
  if (workload != nullptr) return *workload;
  std::string names;
  for (const Workload* known : workloads()) names += (names.empty() ? "" : ", ") + known->info().name;
  throw Error("there is no workload '" + name + "'; there are: " + names);
}

json event_of(const WorkloadJob& job, const Core& core, Client& client, std::uint64_t bursts) {
  const std::uint64_t missing = client.missing();
  json dropped = json::object();
  std::uint64_t lost = 0;
  for (std::size_t i = 0; i < kFates; ++i) {
    lost += core.dropped.at(i);
    if (core.dropped.at(i) != 0) dropped[drop_name(static_cast<Fate>(i))] = core.dropped.at(i);
  }
  const std::uint64_t frames = bursts * job.traffic.burst;
  if (core.received != frames || core.transmitted + lost != frames || lost != missing)
    throw Error("sent " + std::to_string(frames) + " frames: " + std::to_string(core.transmitted) + " were answered, " +
                std::to_string(lost) + " were dropped, and " + std::to_string(missing) + " did not come back");
  return {{"event", "traced"},
          {"group", job.traffic.workload.name},
          {"workload", job.traffic.workload.name},
          {"bursts", bursts},
          {"input_bytes", client.sent_bytes},
          {"records", frames},
          {"output_bytes", client.received_bytes},
          {"output_digest", inputs::Sha256::hex(client.digest.finish())},
          {"dropped", dropped},
          {"facts", {{"undecided", client.undecided}}},
          {"verified", true}};
}

}  // namespace

WorkloadJob parse_workload_job(std::string_view text) {
  json whole = protocol::parse_json(text, "the job", kMostJobBytes);
  protocol::Reader reader(kWorkloadJobSchema);
  WorkloadJob job;
  if (reader.object(whole, "",
                    {"schema", "control", "frames", "seed", "time_limit_s", "memory", "burst", "max_frame", "workload", "inputs",
                     "cache_dir", "traffic"})) {
    std::string schema;
    std::string control;
    reader.text(whole, "", "schema", schema);
    reader.text(whole, "", "control", control);
    if (!schema.empty() && schema != kWorkloadJobSchema)
      reader.fault("/schema", "is '" + schema + "', but this program reads " + std::string(kWorkloadJobSchema));
    if (!control.empty() && control != "traced") reader.fault("/control", "is '" + control + "', but must be traced");
    if (!whole.contains("frames")) reader.fault("/frames", "is missing");
    reader.number(whole, "", "frames", job.frames, 1, kMostFrames);
  }
  reader.finish();
  // The rest is a client's job, except that its port is set here.
  whole["schema"] = kTrafficJobSchema;
  whole["port"] = {{"kind", "ring"}, {"role", "client"}};
  whole.erase("control");
  whole.erase("frames");
  job.traffic = parse_traffic_job(whole.dump());
  return job;
}

json run_traced(const WorkloadJob& job, const EngineCatalog& engines) {
  const Workload& workload = workload_of(job.traffic.workload.name);
  inputs::Store store(job.traffic.inputs, job.traffic.seed, job.traffic.cache_dir);
  const std::unique_ptr<Traffic> traffic =
      job.traffic.traffic.source == "capture" ? captured_traffic(job.traffic, store) : model_traffic(job.traffic, store, engines);
  const std::unique_ptr<Expectation> expectation =
      workload.expect(workload.complete(job.traffic.workload.params), store, engines, traffic->templates);
  ServerJob server;
  server.workload = job.traffic.workload;
  server.seed = job.traffic.seed;
  server.burst = job.traffic.burst;
  server.max_frame = std::max(job.traffic.max_frame, traffic->max_frame);
  Link link(server.max_frame, server.burst);
  Setting setting = complete_setting(workload, server, engines);
  setting.ports = link.server;
  const std::unique_ptr<Pipeline> pipeline = workload.open(setting, store, engines);
  Core core(*link.server.front(), pipeline->open(0), server.burst);
  Client client(*link.client, *traffic, expectation.get(), server.burst, job.traffic.memory.mb);
  const measure::Clock& clock = measure::Clock::instance();
  const std::uint64_t bursts = (job.frames + server.burst - 1) / server.burst;
  for (std::uint64_t burst = 0; burst < bursts; ++burst) {
    const std::uint64_t now_ns = burst * kBurstNs;
    client.send(now_ns);
    core.turn(clock.from_ns(static_cast<double>(now_ns + kBurstNs)));
    client.receive();
  }
  return event_of(job, core, client, bursts);
}

}  // namespace dpubench::datapath
