// Tests of traces as the model reads them (order, targets, accesses, messages), and of jobs that run them.

#include "cores/model/trace_source.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cores/model/job.hpp"
#include "cores/model/run_job.hpp"
#include "cores/model/testing.hpp"
#include "native/expect_error.hpp"
#include "native/temporary_directory.hpp"
#include "trace_writer.hpp"

namespace dpubench::cores::test {

using dpubench::test::expect_error;
using dpubench::test::TemporaryDirectory;

namespace {

// Arm ARM C6.2: add x1, x1, #1; ldr x2, [x1]; str x2, [x1]; b.ne -8; ret; and a word that is no instruction.
constexpr std::uint32_t kAdd = 0x91000421;
constexpr std::uint32_t kLoad = 0xf9400022;
constexpr std::uint32_t kStore = 0xf9000022;
constexpr std::uint32_t kBranchBack = 0x54ffffc1;
constexpr std::uint32_t kReturn = 0xd65f03c0;
constexpr std::uint32_t kNothing = 0x00000000;

/// Write messages of three rounds of a loop (add, load, branch back) and a store.
void write_loop(const std::filesystem::path& folder, unsigned messages) {
  TraceWriter writer("loop");
  const std::uint32_t loop = writer.block(0x4000, {kAdd, kLoad, kBranchBack});
  const std::uint32_t tail = writer.block(0x400c, {kStore, kReturn});
  writer.open();
  for (unsigned m = 0; m < messages; ++m) {
    writer.message();
    for (unsigned i = 0; i < 3; ++i) {
      writer.run(loop);
      writer.access(0x10000 + 8 * i, 1, 3, false);
    }
    writer.run(tail);
    writer.access(0x20000, 0, 3, true);
  }
  writer.close();
  writer.end();
  writer.write(folder);
}

std::vector<Executed> all(TraceSource& source, std::vector<Access>& accesses) {
  std::vector<Executed> executed;
  for (auto part = source.next(); !part.empty(); part = source.next()) {
    for (const Executed& one : part) {
      executed.push_back(one);
      accesses.insert(accesses.end(), one.accesses, one.accesses + one.number_of_accesses);
    }
  }
  return executed;
}

TEST(TraceSource, GivesInstructionsWithWhereTheyWentAndWhatTheyAccessed) {
  const TemporaryDirectory folder;
  write_loop(folder.path(), 2);
  TraceSource source(folder.path());
  std::vector<Access> accesses;
  const auto executed = all(source, accesses);
  ASSERT_EQ(executed.size(), 2U * 11);
  EXPECT_EQ(executed[0].messages, 1);
  EXPECT_EQ(executed[1].messages, 0);
  EXPECT_EQ(executed[11].messages, 1);
  EXPECT_EQ(executed[1].number_of_accesses, 1U);
  EXPECT_EQ(executed[2].what->branch, Branch::kConditional);
  EXPECT_TRUE(executed[2].taken());
  EXPECT_EQ(executed[2].next_pc, 0x4000U);
  EXPECT_FALSE(executed[8].taken());
  EXPECT_EQ(executed[10].next_pc, 0x4000U);              // returns to the next message
  EXPECT_EQ(executed[21].next_pc, executed[21].pc + 4);  // here the target is unknown
  ASSERT_EQ(accesses.size(), 8U);
  EXPECT_EQ(accesses[1].address, 0x10008U);
  EXPECT_TRUE(accesses[3].is_store);
}

TEST(TraceSource, BeginsAgainAtTheFirstInstruction) {
  const TemporaryDirectory folder;
  write_loop(folder.path(), 1000);  // several batches
  TraceSource source(folder.path());
  std::vector<Access> accesses;
  EXPECT_EQ(all(source, accesses).size(), 11000U);
  source.rewind();
  EXPECT_EQ(all(source, accesses).size(), 11000U);
  EXPECT_EQ(accesses.size(), 8000U);
}

struct Ran {
  std::size_t results = 0;
  std::vector<json> events;
  [[nodiscard]] const json& only(const std::string& kind) const {
    static const json none;
    const json* found = &none;
    for (const json& event : events) {
      if (event["event"] == kind) found = &event;
    }
    return *found;
  }
};

json job_of(const std::filesystem::path& trace) {
  return {{"schema", kJobSchema},
          {"configurations", {{{"id", "one"}, {"processor", processor()}, {"contexts", {{{"trace", trace.string()}}}}}}}};
}

Ran run_it(const json& job) {
  char* buffer = nullptr;
  std::size_t size = 0;
  std::FILE* out = open_memstream(&buffer, &size);
  protocol::EventWriter events(out);
  Ran ran;
  ran.results = run_job(parse_cores_job(job.dump()), events);
  std::fclose(out);
  std::istringstream lines(std::string(buffer, size));
  std::free(buffer);  // NOLINT: open_memstream allocates with malloc
  for (std::string line; std::getline(lines, line);) ran.events.push_back(json::parse(line));
  return ran;
}

TEST(CoresJob, SaysHowManyCyclesATraceTakes) {
  const TemporaryDirectory folder;
  write_loop(folder.path(), 100);
  const Ran ran = run_it(job_of(folder.path()));
  const json& result = ran.only("result");
  EXPECT_EQ(ran.results, 1U);
  EXPECT_EQ(result["group"], "one");
  EXPECT_TRUE(result["modelled"].get<bool>());
  EXPECT_EQ(result["instructions"], 1100);
  EXPECT_EQ(result["contexts"][0]["messages"], 100);
  EXPECT_EQ(result["contexts"][0]["kinds"]["load"], 300);
  EXPECT_EQ(result["contexts"][0]["trace"]["kernel"], "loop");
  // The only ALU executes seven of the eleven instructions of a message: three additions and four branches.
  EXPECT_EQ(result["cycles"], 700 + 3);
  EXPECT_EQ(run_it(job_of(folder.path())).only("result"), result);
}

TEST(CoresJob, FaultsAreTheConfigurationsAndTheRestGoesOn) {
  const TemporaryDirectory folder;
  write_loop(folder.path(), 10);
  json job = job_of(folder.path());
  json broken = job["configurations"][0];
  broken["id"] = "absent";
  broken["contexts"][0]["trace"] = (folder.path() / "none").string();
  job["configurations"].insert(job["configurations"].begin(), broken);
  const Ran ran = run_it(job);
  EXPECT_EQ(ran.results, 1U);
  EXPECT_EQ(ran.only("failure")["group"], "absent");
  EXPECT_NE(ran.only("failure")["message"].get<std::string>().find("none"), std::string::npos);
  EXPECT_EQ(ran.only("result")["group"], "one");
}

TEST(CoresJob, TooManyUnknownInstructionsAreRefused) {
  const TemporaryDirectory folder;
  TraceWriter writer;
  const std::uint32_t known = writer.block(0x4000, std::vector<std::uint32_t>(500, kAdd));
  const std::uint32_t unknown = writer.block(0x8000, {kNothing});
  writer.open();
  for (unsigned i = 0; i < 2; ++i) writer.run(known);
  for (unsigned i = 0; i < 2; ++i) writer.run(unknown);
  writer.close();
  writer.end();
  writer.write(folder.path());
  const Ran ran = run_it(job_of(folder.path()));
  EXPECT_EQ(ran.results, 0U);
  EXPECT_NE(ran.only("failure")["message"].get<std::string>().find("2 of 1002 executed instructions (0.200 %)"),
            std::string::npos)
      << ran.only("failure");
}

TEST(CoresJob, ARunOfNothingIsAFailure) {
  const TemporaryDirectory folder;
  write_loop(folder.path(), 10);
  json job = job_of(folder.path());
  job["configurations"][0]["extent"] = {{"warm_up_messages", 10}};
  EXPECT_NE(run_it(job).only("failure")["message"].get<std::string>().find("no instruction was counted"), std::string::npos);
}

TEST(CoresJob, FaultsOfAJobAreNamed) {
  json job = job_of("/trace");
  job["schema"] = "dpubench.job/1";
  job["configurations"][0]["extent"] = {{"every", 2}, {"measured", 3}};
  job["configurations"][0]["contexts"].push_back({{"trace", "/other"}, {"offset", 1}});
  job["configurations"][0]["frame_buffers"] = {{{"address", 0}, {"stride_bytes", 64}, {"count", 1}}};
  expect_error(
      [&] { parse_cores_job(job.dump()); },
      {"this program reads dpubench.cores-job/1", "/configurations/0/contexts/1/offset", "of 2 messages, 3 cannot be measured",
       "has 1 contexts (1 cores of 1), but there are 2 traces", "has no DMA agent"});
  job = job_of("/trace");
  job["configurations"][0]["processor"]["caches"]["d"]["ways"] = 0;
  expect_error([&] { parse_cores_job(job.dump()); }, {"/configurations/0/processor/caches/d/ways"});
  expect_error([&] { parse_cores_job("{"); }, {"is no JSON"});
}

TEST(CoresJob, ContextsOfOneTraceShareItsAddressesUnlessTheJobSaysOtherwise) {
  json job = job_of("/a");
  job["configurations"][0]["processor"]["organisation"]["cores"] = 3;
  job["configurations"][0]["contexts"] = {{{"trace", "/a"}}, {{"trace", "/b"}}, {{"trace", "/a"}, {"data_space", 7}}};
  const CoresJob read = parse_cores_job(job.dump());
  const auto& contexts = read.configurations.at(0).contexts;
  EXPECT_EQ(contexts[0].data_space, 0U);
  EXPECT_EQ(contexts[1].data_space, 1U);
  EXPECT_EQ(contexts[2].code_space, 0U);
  EXPECT_EQ(contexts[2].data_space, 7U);
}

}  // namespace
}  // namespace dpubench::cores::test
