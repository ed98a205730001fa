// Tests the flow table: every engine against the model, the stage, and the dump.
#include <gtest/gtest.h>
#include <rte_mbuf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "../../../../tests/native/shared_data.hpp"
#include "datapath/test_memory.hpp"
#include "datapath/workloads/flow-table/oracle.hpp"
#include "datapath/workloads/flow-table/stage.hpp"
#include "datapath/workloads/workload.hpp"

namespace dpubench::datapath::flow_table {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kSeed = 7;

/// Return key number `i`, which differs from the others in its source address.
Key numbered(std::uint32_t i) {
  Key key;
  key.version = 4;
  key.destination_port = static_cast<std::uint16_t>(i % 50'000);
  std::memcpy(key.source.data(), &i, sizeof i);
  key.destination[0] = std::byte{10};
  return key;
}

const StageEngineEntry& entry_of(std::string_view name) {
  for (const StageEngineEntry& entry : stage_engines(kWorkload)) {
    if (entry.info.name == name) return entry;
  }
  throw Error("no engine " + std::string(name));
}

const TableEngine& table_engine(const StageEngine& engine) {
  return static_cast<const TableEngine&>(engine);
}

/// Engines whose tables the loop works on, by name.
class Tables : public testing::TestWithParam<const char*> {
 protected:
  static const TableEngine& engine() { return table_engine(*entry_of(GetParam()).engine); }
  static std::unique_ptr<FlowTable> table(const Limits& limits) {
    const TableSetting setting{.limits = limits, .seed = kSeed};
    return engine().open_tables(setting)->open(0);
  }
};

INSTANTIATE_TEST_SUITE_P(FlowTable, Tables, testing::Values("portable", "dpdk-hash"), [](const auto& instance) {
  return std::string(instance.param) == "portable" ? "portable" : "dpdk_hash";
});

/// Count `keys` in bursts of 32, each packet with 64 bytes. @returns packets refused
std::uint64_t count_all(FlowTable& table, std::span<const Key> keys, std::uint32_t now_ms = 0) {
  std::array<std::uint32_t, 32> bytes;
  bytes.fill(64);
  std::array<bool, 32> refused{};
  std::uint64_t n_refused = 0;
  for (std::size_t at = 0; at < keys.size(); at += 32) {
    n_refused += table.count(keys.subspan(at, std::min<std::size_t>(32, keys.size() - at)), bytes.data(), refused.data(), now_ms);
  }
  return n_refused;
}

std::vector<Key> numbered_keys(std::uint32_t n) {
  std::vector<Key> keys;
  for (std::uint32_t i = 0; i < n; ++i) keys.push_back(numbered(i));
  return keys;
}

std::string file_text(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "dpubench-flows-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw Error("no temporary folder");
    path_ = name;
  }
  ~Folder() {
    std::error_code none;
    fs::remove_all(path_, none);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

TEST_P(Tables, EqualTheModelOnGeneratedFrames) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    inputs::Store store({}, seed);
    EXPECT_NE(engine().verify({.seed = seed}, verification_frames(store, seed)), "");
  }
}

TEST_P(Tables, EqualTheModelOnRealCaptures) {
  NEED_SHARED_DATA("pcap");
  std::size_t captures = 0;
  for (const auto& file : fs::directory_iterator(dpubench::test::shared_data() / "pcap")) {
    if (file.path().extension() != ".pcap") continue;
    inputs::Store store({{"capture", {file.path()}}}, kSeed);
    EXPECT_NE(engine().verify({.seed = kSeed}, verification_frames(store, kSeed)), "") << file.path();
    ++captures;
  }
  EXPECT_GT(captures, 0U);
}

TEST_P(Tables, CountsEachFlowOfAFullTable) {
  for (const std::uint32_t flows : {1'000U, 1'000'000U}) {
    const std::unique_ptr<FlowTable> full = table({.flows = flows});
    const std::vector<Key> keys = numbered_keys(flows);
    EXPECT_EQ(count_all(*full, keys), 0U);
    EXPECT_EQ(count_all(*full, std::span(keys).first(flows / 2)), 0U);
    EXPECT_EQ(full->totals(), (Totals{.flows = flows, .inserted = flows}));
    const Key one_more = numbered(flows);
    EXPECT_EQ(count_all(*full, {&one_more, 1}), 1U);
    std::uint64_t seen = 0;
    full->for_each([&](const FlowRecord& record) {
      std::uint32_t i = 0;
      std::memcpy(&i, record.key.source.data(), sizeof i);
      const std::uint64_t packets = i < flows / 2 ? 2 : 1;
      if (record.packets != packets || record.bytes != packets * 64 || !(record.key == numbered(i))) {
        ADD_FAILURE() << "flow " << i << " has " << record.packets << " packets";
      }
      ++seen;
    });
    EXPECT_EQ(seen, flows);
    full->clear();
    EXPECT_EQ(full->totals(), Totals{});
    EXPECT_TRUE(sorted_records(*full).empty());
    EXPECT_EQ(count_all(*full, keys), 0U);
  }
}

TEST_P(Tables, LosesNothingWhateverTheScanDoes) {
  // The scan looks at some places only, so the time when a flow retires may differ. The sums of each key do not.
  const std::unique_ptr<FlowTable> aging = table({.flows = 1000, .idle_ms = 5, .full = Full::kEvictOldest});
  inputs::Random random(kSeed);
  std::map<Key, std::uint64_t> sent;
  std::uint32_t now_ms = 0;
  for (int burst = 0; burst < 20'000; ++burst) {
    std::vector<Key> keys;
    for (std::uint64_t n = 1 + random.below(32); n > 0; --n)
      keys.push_back(numbered(static_cast<std::uint32_t>(random.below(1500))));
    for (const Key& key : keys) ++sent[key];
    EXPECT_EQ(count_all(*aging, keys, now_ms), 0U);
    if (random.below(8) == 0) ++now_ms;
    aging->age(now_ms, static_cast<std::uint32_t>(random.below(100)));
  }
  std::map<Key, std::uint64_t> counted;
  std::uint64_t records = 0;
  aging->for_each([&](const FlowRecord& record) {
    counted[record.key] += record.packets;
    EXPECT_EQ(record.bytes, record.packets * 64);
    ++records;
  });
  EXPECT_EQ(counted, sent);
  const Totals totals = aging->totals();
  EXPECT_GT(totals.aged, 0U);
  EXPECT_GT(totals.evicted, 0U);
  EXPECT_EQ(totals.inserted, totals.flows + totals.aged + totals.evicted);
  EXPECT_EQ(records, totals.inserted);
}

TEST_P(Tables, KeepsItsFlowsAndForgetsTheirCounts) {
  const std::unique_ptr<FlowTable> kept = table({.flows = 1000, .full = Full::kEvictOldest});
  const std::vector<Key> keys = numbered_keys(1'100);
  count_all(*kept, keys);
  EXPECT_EQ(kept->totals(), (Totals{.flows = 1000, .inserted = 1'100, .evicted = 100}));
  kept->zero();
  EXPECT_EQ(kept->totals(), (Totals{.flows = 1000}));
  EXPECT_TRUE(sorted_records(*kept).empty());
  // Known flows do not enter again. A flow that had no packet since leaves no record when it has to make room.
  count_all(*kept, std::span(keys).last(500));
  EXPECT_EQ(kept->totals(), (Totals{.flows = 1000}));
  count_all(*kept, std::span(keys).first(1));
  EXPECT_EQ(kept->totals(), (Totals{.flows = 1000, .inserted = 1, .evicted = 1}));
  std::map<Key, std::uint64_t> counted;
  kept->for_each([&](const FlowRecord& record) { counted[record.key] += record.packets; });
  EXPECT_EQ(counted.size(), 501U);
  for (const auto& [key, packets] : counted) EXPECT_EQ(packets, 1U);
}

TEST_P(Tables, SaysHowManyRetiredRecordsTheLogCouldNotHold) {
  const std::unique_ptr<FlowTable> small = table({.flows = 1000, .full = Full::kEvictOldest});
  const auto n = static_cast<std::uint32_t>(kMaxRetired + 1000 + 5);
  for (std::uint32_t first = 0; first < n;) {
    std::vector<Key> keys;
    for (; keys.size() < 32 && first < n; ++first) keys.push_back(numbered(first));
    count_all(*small, keys);
  }
  EXPECT_EQ(small->totals(), (Totals{.flows = 1000, .inserted = n, .evicted = kMaxRetired + 5, .retired_lost = 5}));
  std::uint64_t records = 0;
  small->for_each([&](const FlowRecord&) { ++records; });
  EXPECT_EQ(records, kMaxRetired + 1000);
}

TEST_P(Tables, DumpsTheSameTwice) {
  const Folder folder;
  std::array<std::string, 2> dumps;
  for (std::string& text : dumps) {
    const std::unique_ptr<FlowTable> some = table({.flows = 1000, .full = Full::kEvictOldest});
    count_all(*some, numbered_keys(3000));
    dump(*some, KeyKind::kPaper, folder.path(), false);
    text = file_text(folder.path() / "flows.bin");
  }
  EXPECT_EQ(dumps[0].size(), 3000 * kDumpRecordBytes);
  EXPECT_EQ(dumps[0], dumps[1]);
}

TEST(FlowTableModel, RefusesEvictsAndAges) {
  ModelTable model({.flows = 2, .idle_ms = 10, .full = Full::kEvictOldest});
  const std::vector<Key> keys = numbered_keys(3);
  count_all(model, std::span(keys).first(2), 0);
  count_all(model, std::span(keys).first(1), 5);
  count_all(model, std::span(keys).subspan(2), 6);  // evicts the first, which entered first
  EXPECT_EQ(model.totals(), (Totals{.flows = 2, .inserted = 3, .evicted = 1}));
  count_all(model, std::span(keys).subspan(1, 1), 11);  // idle since 0
  EXPECT_EQ(model.totals(), (Totals{.flows = 2, .inserted = 4, .aged = 1, .evicted = 1}));
  model.age(16, 0);  // the third is idle for 10 ms: not longer
  EXPECT_EQ(model.totals().aged, 1U);
  model.age(17, 0);
  EXPECT_EQ(model.totals(), (Totals{.flows = 1, .inserted = 4, .aged = 2, .evicted = 1}));
}

TEST(FlowTableModel, DiffersWhereATableIsWrong) {
  const std::vector<Key> keys = numbered_keys(2);
  ModelTable right({.flows = 2});
  ModelTable wrong({.flows = 2});
  count_all(right, keys);
  count_all(wrong, std::span(keys).first(1));
  EXPECT_THROW(require_equal(wrong, right, "test"), Error);
  count_all(wrong, std::span(keys).first(1));
  EXPECT_THROW(require_equal(wrong, right, "test"), Error);
}

/// Return a frame of 60 bytes: UDP over IPv4 from 10.0.0.1:4660 to 10.0.0.2:80, with a VLAN tag.
std::vector<std::byte> tagged_udp() {
  constexpr unsigned char kFrame[] = {2, 0,    0, 0,  0,  2, 2, 0,  0, 0, 0, 1,  0x81, 0, 0, 5,    8,    0, 0x45, 0, 0, 28, 0,
                                      1, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0,    0, 2, 0x12, 0x34, 0, 80,   0, 8, 0,  0};
  std::vector<std::byte> frame(std::as_bytes(std::span(kFrame)).begin(), std::as_bytes(std::span(kFrame)).end());
  frame.resize(60);
  return frame;
}

TEST(FlowTableKey, HoldsWhatItsKindSays) {
  const auto frame = tagged_udp();
  Key paper;
  Key five;
  ASSERT_TRUE(make_key(frame, packet::parse(frame), KeyKind::kPaper, paper));
  ASSERT_TRUE(make_key(frame, packet::parse(frame), KeyKind::kFiveTuple, five));
  EXPECT_EQ(paper.destination_port, 80);
  EXPECT_EQ(paper.protocol, 0);
  EXPECT_EQ(paper.source_port(KeyKind::kPaper), 0);
  EXPECT_EQ(std::memcmp(paper.rest.data(), frame.data() + 6, 6), 0);
  EXPECT_EQ(std::memcmp(paper.rest.data() + 6, frame.data(), 6), 0);
  EXPECT_EQ(five.protocol, 17);
  EXPECT_EQ(five.source_port(KeyKind::kFiveTuple), 0x1234);
  EXPECT_EQ(five.source[3], std::byte{1});
  EXPECT_EQ(five.destination[3], std::byte{2});
  auto arp = frame;
  arp[17] = std::byte{6};
  EXPECT_FALSE(make_key(arp, packet::parse(arp), KeyKind::kPaper, paper));
}

/// A batch whose packets are the given frames.
class Packets {
 public:
  explicit Packets(Frames frames) : frames_(std::move(frames)), mbufs_(frames_.size()) {
    batch.n = static_cast<std::uint32_t>(frames_.size());
    for (std::uint32_t i = 0; i < batch.n; ++i) {
      mbufs_[i].buf_addr = frames_[i].data();
      mbufs_[i].data_len = static_cast<std::uint16_t>(frames_[i].size());
      batch.packets[i] = &mbufs_[i];
      batch.parsed[i] = packet::parse(batch.frame(i));
      batch.fate[i] = Fate::kForward;
    }
  }
  Batch batch;

 private:
  Frames frames_;
  std::vector<rte_mbuf> mbufs_;
};

/// Return the workload's pipeline with these parameters, by default with engine portable.
std::unique_ptr<Pipeline> pipeline(const Params& given, const std::string& engine = "portable", std::uint32_t cores = 1) {
  const Workload* const workload = find_workload("flow-table");
  Setting setting;
  setting.params = workload->complete(given);
  setting.engines["table"] = engine;
  setting.stages = {"table"};
  setting.cores = cores;
  inputs::Store store({}, kSeed);
  return workload->open(setting, store, EngineCatalog{});
}

TEST(FlowTableStage, AccountsForEveryPacketOfABatch) {
  const auto open = pipeline({{"flows", "1000"}});
  EXPECT_NE(open->report().at(0).verified, "");
  EXPECT_GT(open->report().at(0).memory_bytes, 64'000U);
  const auto stages = open->open(0);
  ASSERT_EQ(stages.size(), 1U);
  stages[0]->begin(false);
  auto arp = tagged_udp();
  arp[17] = std::byte{6};
  Packets packets({tagged_udp(), arp, std::vector<std::byte>(10), tagged_udp(), tagged_udp()});
  packets.batch.fate[4] = Fate::kDropChecksum;
  EXPECT_EQ(stages[0]->run(packets.batch), 3U);
  EXPECT_EQ(packets.batch.fate[0], Fate::kForward);
  EXPECT_EQ(packets.batch.fate[1], Fate::kForward);
  EXPECT_EQ(packets.batch.fate[2], Fate::kDropShort);
  EXPECT_EQ(packets.batch.fate[4], Fate::kDropChecksum);
  EXPECT_EQ(packets.batch.frame(0)[5], std::byte{1});  // the destination is the former source
  EXPECT_EQ(packets.batch.frame(0)[11], std::byte{2});
  EXPECT_EQ(packets.batch.frame(1)[5], std::byte{1});
  const Folder folder;
  nlohmann::json into;
  stages[0]->collect(into, folder.path());
  EXPECT_EQ(into["flow_table"]["flows"], 1);
  EXPECT_EQ(into["flow_table"]["unkeyed"], 1);
  EXPECT_EQ(into["flow_table"]["refused"], 0);
  // 4; 0; no source port; 80; 0; 10.0.0.1; 10.0.0.2; 2 packets; 128 bytes with FCS
  std::string expected("\x04\0\0\0\x50\0\0\0\x0a\0\0\x01", 12);
  expected += std::string(12, '\0') + std::string("\x0a\0\0\x02", 4) + std::string(12, '\0');
  expected += std::string("\x02\0\0\0\0\0\0\0\x80\0\0\0\0\0\0\0", 16);
  EXPECT_EQ(file_text(folder.path() / "flows.bin"), expected);
  stages[0]->begin(false);
  nlohmann::json again;
  stages[0]->collect(again, "");
  EXPECT_EQ(again["flow_table"]["flows"], 0);
  EXPECT_EQ(again["flow_table"]["unkeyed"], 0);
}

Frames frames_of_flows(std::uint32_t first, std::uint32_t n) {
  Frames frames;
  for (std::uint32_t i = first; i < first + n; ++i) {
    frames.push_back(tagged_udp());
    frames.back()[31] = static_cast<std::byte>(i >> 16 & 0xffU);
    frames.back()[32] = static_cast<std::byte>(i >> 8 & 0xffU);
    frames.back()[33] = static_cast<std::byte>(i & 0xffU);
  }
  return frames;
}

TEST(FlowTableStage, DropsOrForwardsWhatFindsNoPlace) {
  for (const char* const full : {"drop", "forward_uncounted", "evict_oldest"}) {
    const auto open = pipeline({{"flows", "1000"}, {"full", full}});
    const auto stages = open->open(0);
    stages[0]->begin(false);
    std::uint64_t dropped = 0;
    for (std::uint32_t first = 0; first < 1100; first += 100) {
      Packets packets(frames_of_flows(first, 100));
      EXPECT_EQ(stages[0]->run(packets.batch), 100U);
      for (std::uint32_t i = 0; i < packets.batch.n; ++i) dropped += packets.batch.fate[i] == Fate::kDropFull ? 1 : 0;
    }
    nlohmann::json into;
    stages[0]->collect(into, "");
    const bool evicts = std::string(full) == "evict_oldest";
    EXPECT_EQ(dropped, std::string(full) == "drop" ? 100U : 0U);
    EXPECT_EQ(into["flow_table"]["refused"], evicts ? 0 : 100);
    EXPECT_EQ(into["flow_table"]["evicted"], evicts ? 100 : 0);
    EXPECT_EQ(into["flow_table"]["flows"], 1000);
  }
}

TEST(FlowTableStage, AgesWhenNothingComes) {
  const auto open = pipeline({{"flows", "1000"}, {"idle_ms", "100"}});
  const auto stages = open->open(0);
  stages[0]->begin(false);
  Packets packets(frames_of_flows(0, 200));
  packets.batch.received_ticks = measure::Clock::instance().ticks();
  stages[0]->run(packets.batch);
  const auto now_ns = static_cast<std::uint64_t>(measure::Clock::instance().to_ns(packets.batch.received_ticks));
  const auto aged = [&](std::uint64_t after_ms) {
    for (int polls = 0; polls < 4; ++polls) stages[0]->idle(now_ns + after_ms * 1'000'000);
    nlohmann::json into;
    stages[0]->collect(into, "");
    EXPECT_EQ(into["flow_table"]["flows"].get<int>() + into["flow_table"]["aged"].get<int>(), 200);
    return into["flow_table"]["aged"].get<int>();
  };
  EXPECT_EQ(aged(50), 0);
  EXPECT_EQ(aged(150), 200);
}

/// Return a stage's counts for a trial whose measured part has 200 flows. The table knows 150 of them if it kept its flows.
nlohmann::json measured_part(const Params& given, bool keeps_flows) {
  const auto open = pipeline(given);
  const auto stages = open->open(0);
  stages[0]->begin(false);
  Packets fill(frames_of_flows(0, 100));
  stages[0]->run(fill.batch);
  stages[0]->begin(keeps_flows);
  Packets ramp(frames_of_flows(100, 50));
  stages[0]->run(ramp.batch);
  stages[0]->measured(true);
  Packets part(frames_of_flows(0, 200));
  stages[0]->run(part.batch);
  stages[0]->measured(false);
  Packets drain(frames_of_flows(500, 10));
  stages[0]->run(drain.batch);
  nlohmann::json into;
  stages[0]->collect(into, "");
  return into["flow_table"];
}

TEST(FlowTableStage, TellsTheInsertsOfTheMeasuredPart) {
  const auto prefilled = measured_part({{"flows", "1000"}}, true);
  EXPECT_EQ(prefilled["measured"], (nlohmann::json{{"packets", 200}, {"inserted", 50}, {"flows", 150}}));
  EXPECT_EQ(prefilled["inserted"], 110);
  EXPECT_EQ(prefilled["flows"], 210);
  for (const bool keeps_flows : {false, true}) {  // a cold table begins empty whatever it is told
    const auto cold = measured_part({{"flows", "1000"}, {"start", "cold"}}, keeps_flows);
    EXPECT_EQ(cold["measured"], (nlohmann::json{{"packets", 200}, {"inserted", 150}, {"flows", 50}}));
    EXPECT_EQ(cold["flows"], 210);
  }
}

TEST(FlowTableStage, DumpsOfAllCoresLieInOneFile) {
  const auto open = pipeline({{"flows", "1000"}}, "portable", 2);
  std::vector<std::unique_ptr<Stage>> cores;
  for (std::uint32_t core = 0; core < 2; ++core) cores.push_back(std::move(open->open(core).at(0)));
  const Folder folder;
  for (std::uint32_t trial = 1; trial <= 2; ++trial) {
    nlohmann::json into;
    for (std::uint32_t core = 0; core < 2; ++core) {
      cores[core]->begin(false);
      Packets packets(frames_of_flows(core * 100, 10 * trial));
      cores[core]->run(packets.batch);
    }
    for (const auto& stage : cores) stage->collect(into, folder.path());
    EXPECT_EQ(into["flow_table"]["flows"], 20 * trial);
    EXPECT_EQ(fs::file_size(folder.path() / "flows.bin"), 20 * trial * kDumpRecordBytes);
  }
}

TEST(FlowTableStage, SaysWhyADumpCannotBeWritten) {
  const ModelTable empty({});
  try {
    dump(empty, KeyKind::kPaper, "/nowhere", false);
    ADD_FAILURE() << "wrote to a folder that does not exist";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("/nowhere/flows.bin"), std::string::npos) << error.what();
  }
}

std::string open_error(const Params& params, const std::string& engine) {
  try {
    pipeline(params, engine);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(FlowTableWorkload, RefusesWhatDoesNotExist) {
  EXPECT_NE(open_error({}, "cuckoo").find("it has portable, dpdk-hash"), std::string::npos) << open_error({}, "cuckoo");
  EXPECT_NE(open_error({{"flows", "999"}}, "portable"), "");
  EXPECT_NE(open_error({{"flows", "10000001"}}, "portable"), "");
  EXPECT_NE(open_error({{"full", "explode"}}, "portable"), "");
}

TEST(FlowTableWorkload, ListsEveryEngineAndWhyItCannotRun) {
  const StageInfo& stage = find_workload("flow-table")->info().stages.at(0);
  std::vector<std::string> names;
  for (const StageEngineInfo& engine : stage.engines) names.push_back(engine.name);
  EXPECT_EQ(names, (std::vector<std::string>{"portable", "dpdk-hash", "rte-flow", "xdp"}));
}

TEST(FlowTableWorkload, ExpectsTheFrameWithItsAddressesSwapped) {
  const Workload* const workload = find_workload("flow-table");
  inputs::Store store({}, kSeed);
  const auto expectation = workload->expect(workload->complete({}), store, EngineCatalog{}, {});
  const auto sent = tagged_udp();
  auto reply = sent;
  EXPECT_EQ(expectation->judge(0, sent, reply, false), Expectation::Answer::kWrong);
  EXPECT_NE(expectation->explain(0, sent, reply), "");
  std::swap_ranges(reply.begin(), reply.begin() + 6, reply.begin() + 6);
  EXPECT_EQ(expectation->judge(0, sent, reply, false), Expectation::Answer::kRight);
  reply[40] ^= std::byte{1};
  EXPECT_EQ(expectation->judge(0, sent, reply, false), Expectation::Answer::kWrong);
  EXPECT_FALSE(expectation->may_drop(0));
}

/// Return this process's pool of packet buffers, made once.
rte_mempool* pool() {
  static rte_mempool* const made = [] {
    test::start_memory();
    return make_pool("flow_table", 1023, 1518);
  }();
  return made;
}

TEST(FlowTableRteFlow, TellsTheDriversReason) {
  const TableEngine& device = table_engine(*entry_of("rte-flow").engine);
  EXPECT_NE(device.unsupported_table({}).find("kind pci"), std::string::npos);
  std::vector<std::unique_ptr<Port>> ports;
  ports.push_back(open_port({.kind = "null", .role = Role::kServer, .arguments = {}}, {.pool = pool()}));
  TableSetting setting{.key = KeyKind::kPaper, .ports = ports};
  EXPECT_NE(device.unsupported_table(setting).find("key=five_tuple"), std::string::npos);
  setting.key = KeyKind::kFiveTuple;
  const std::string reason = device.unsupported_table(setting);
  EXPECT_NE(reason.find("net_null counts no flows: "), std::string::npos) << reason;
  EXPECT_GT(reason.size(), std::string("net_null counts no flows: ").size()) << reason;
  EXPECT_NE(device.verify(setting, verification_frames(*std::make_unique<inputs::Store>(inputs::Files{}, kSeed), kSeed)), "");
}

TEST(FlowTableXdp, EqualsTheParserAndTheModelInTheKernelsTestRun) {
  const StageEngineEntry& xdp = entry_of("xdp");
  if (!xdp.info.reason.empty()) GTEST_SKIP() << xdp.info.reason;
  if (syscall(SYS_bpf, 0, nullptr, 0) == -1 && errno == ENOSYS) GTEST_SKIP() << "no system call bpf here: an emulator has none";
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    inputs::Store store({}, seed);
    EXPECT_NE(table_engine(*xdp.engine).verify({}, verification_frames(store, seed)), "");
  }
  NEED_SHARED_DATA("pcap");
  for (const auto& file : fs::directory_iterator(dpubench::test::shared_data() / "pcap")) {
    if (file.path().extension() != ".pcap") continue;
    inputs::Store store({{"capture", {file.path()}}}, kSeed);
    EXPECT_NE(table_engine(*xdp.engine).verify({}, verification_frames(store, kSeed)), "") << file.path();
  }
}

TEST(FlowTableXdp, SaysWhatItDoesNotDo) {
  const StageEngineEntry& xdp = entry_of("xdp");
  if (!xdp.info.reason.empty()) GTEST_SKIP() << xdp.info.reason;
  EXPECT_NE(open_error({}, "xdp").find("port of kind xdp"), std::string::npos);
}

}  // namespace
}  // namespace dpubench::datapath::flow_table
