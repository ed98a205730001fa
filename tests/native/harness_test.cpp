// The harness: what it reports, the order of windows, and that no misbehaving engine gets past it.

#include "operators/harness.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>
#include <tuple>

#include "operators/catalog.hpp"
#include "operators/footprint.hpp"
#include "operators/support/testing/built_engines.hpp"
#include "protocol/machine.hpp"
#include "temporary_directory.hpp"

namespace dpubench {
namespace {

using nlohmann::json;

const EngineCatalog& engines() {
  static const EngineCatalog& catalog = *[] {
    auto* c = new EngineCatalog;  // engines live as long as their modules: until the process ends
    c->load(test::build_folder("DPUBENCH_ENGINE_DIR"));
    c->load(test::build_folder("DPUBENCH_FIXTURE_DIR"));
    return c;
  }();
  return catalog;
}

struct Ran {
  JobStatus status;
  std::vector<json> events;
  [[nodiscard]] std::vector<json> of(const std::string& kind) const {
    std::vector<json> found;
    for (const json& event : events) {
      if (event["event"] == kind) found.push_back(event);
    }
    return found;
  }
};

Ran run(const std::string& text, const std::string& commands = "") {
  char* buffer = nullptr;
  std::size_t size = 0;
  std::FILE* out = open_memstream(&buffer, &size);
  protocol::EventWriter events(out);
  std::istringstream in(commands);
  Ran ran;
  ran.status = run_job(protocol::parse_job(text), engines(), events, in);
  std::fclose(out);
  std::istringstream lines(std::string(buffer, size));
  std::free(buffer);  // NOLINT: open_memstream allocates with malloc
  for (std::string line; std::getline(lines, line);) ran.events.push_back(json::parse(line));
  return ran;
}

std::string job(const std::vector<std::string>& names, const std::string& more = "", const std::string& group = "") {
  std::string points;
  for (const std::string& name : names)
    points += (points.empty() ? "" : ",") + ("{\"id\":\"" + name + "\",\"engine\":\"" + name + "\"}");
  return R"({"schema":"dpubench.job/1","window":{"min_ms":0.2,"max_ms":1000,"min_bursts":100,"threaded_min_ms":5},"cycles":2)" +
         more + R"(,"groups":[{"id":"g","operator":"sha256","params":{"size":"64"})" + group + R"(,"points":[)" + points + "]}]}";
}

TEST(Harness, AlternatesPointsPalindromically) {
  const Ran ran = run(job({"portable", "honest"}));
  EXPECT_EQ(ran.status, JobStatus::kDone);
  std::string order;
  for (const json& window : ran.of("window")) {
    const std::string point = window["point"];
    order += point == "canary-core" ? 'c' : point == "canary-memory" ? 'm' : point == "portable" ? 'p' : 'h';
  }
  EXPECT_EQ(order, "phcmmchpphcmmchp");
}

TEST(Harness, ReportsWhatWindowsConsistOf) {
  const Ran ran = run(job({"portable"}, R"(,"canaries":false,"round":4)", R"(,"threads":2,"burst":8,"footprint":"resident")"));
  const auto windows = ran.of("window");
  ASSERT_EQ(windows.size(), 4U);
  for (const json& w : windows) {
    EXPECT_EQ(w["round"], 4);
    EXPECT_EQ(w["operations"].get<std::uint64_t>(), w["bursts"].get<std::uint64_t>() * 8);
    EXPECT_EQ(w["in_bytes"].get<std::uint64_t>(), w["operations"].get<std::uint64_t>() * 64);
    EXPECT_EQ(w["out_bytes"].get<std::uint64_t>(), w["operations"].get<std::uint64_t>() * 32);
    EXPECT_GT(w["elapsed_ns"].get<double>(), 0);
  }
  const auto prepared = ran.of("prepared");
  ASSERT_EQ(prepared.size(), 1U);
  EXPECT_EQ(prepared[0]["buffers"], 32);
  EXPECT_EQ(prepared[0]["touched_bytes"], 32 * (64 + 64)) << "a line of input and one of output each";
  EXPECT_EQ(prepared[0]["distinct_messages"], 32);
  EXPECT_FALSE(prepared[0].contains("distinct_keys")) << "nothing is looked up";
  EXPECT_EQ(prepared[0]["input"]["sha256"].get<std::string>().size(), 64U);
  const auto verified = ran.of("verified");
  ASSERT_EQ(verified.size(), 1U);
  EXPECT_GE(verified[0]["known_answers"].get<int>(), 1);
  EXPECT_EQ(ran.events.back()["event"], "done");
  EXPECT_EQ(ran.events.back()["windows"], 4);
}

TEST(Harness, WindowsHaveWhatTheMachineCounts) {
  const json machine = protocol::machine();
  const Ran ran = run(job({"portable"}, R"(,"canaries":false)", R"(,"threads":2)"));
  const auto windows = ran.of("window");
  ASSERT_EQ(windows.size(), 4U);
  const auto with = [&](const char* field) {
    return std::count_if(windows.begin(), windows.end(), [&](const json& w) { return w.contains(field); });
  };
  for (const auto& [field, counter, has] :
       {std::tuple("core_cycles", "cycle_counter", "source"), std::tuple("energy_uj", "energy", "domains")}) {
    SCOPED_TRACE(machine[counter].dump());
    if (machine[counter].contains(has)) {
      EXPECT_GE(with(field), 1) << field;  // single windows may lack it: others of the machine used the counter meanwhile
    } else {
      EXPECT_EQ(with(field), 0) << field;
      EXPECT_FALSE(machine[counter].at("unavailable").get<std::string>().empty());
      EXPECT_FALSE(machine[counter].at("remedy").get<std::string>().empty());
    }
  }
}

TEST(Harness, SameSeedSameInput) {
  const auto hash = [](const std::string& more) { return run(job({"portable"}, more)).of("prepared")[0]["input"]["sha256"]; };
  EXPECT_EQ(hash(R"(,"seed":5)"), hash(R"(,"seed":5)"));
  EXPECT_NE(hash(R"(,"seed":5)"), hash(R"(,"seed":6)"));
}

TEST(Harness, StreamsThroughFourTimesL2) {
  const Ran ran = run(job({"portable"}));
  EXPECT_GE(ran.of("prepared")[0]["touched_bytes"].get<std::size_t>(), stream_bytes(protocol::caches()));
}

struct FaultCase {
  const char* engine;
  const char* phase;
  const char* says;
};

class Faults : public testing::TestWithParam<FaultCase> {};

TEST_P(Faults, AreRecordedAndTheRestGoesOn) {
  const FaultCase& fault = GetParam();
  const Ran ran = run(job({fault.engine, "honest"}, R"(,"canaries":false)"));
  EXPECT_EQ(ran.status, JobStatus::kFailed);
  const auto failures = ran.of("failure");
  ASSERT_GE(failures.size(), 1U);
  EXPECT_EQ(failures[0]["point"], fault.engine);
  EXPECT_EQ(failures[0]["phase"], fault.phase);
  EXPECT_NE(failures[0]["message"].get<std::string>().find(fault.says), std::string::npos) << failures[0];
  std::size_t honest = 0;
  for (const json& window : ran.of("window")) honest += window["point"] == "honest" ? 1 : 0;
  EXPECT_EQ(honest, 4U) << "the other point lost windows";
}

INSTANTIATE_TEST_SUITE_P(
    Table, Faults,
    testing::Values(FaultCase{"wrong", "verify", "output differs"}, FaultCase{"wrong-later", "measure", "output differs"},
                    FaultCase{"idle", "verify", "left it unprocessed"}, FaultCase{"idle-later", "measure", "left it unprocessed"},
                    FaultCase{"overruns", "verify", "past its 32 bytes"}, FaultCase{"boasts", "verify", "reports 33 bytes"},
                    FaultCase{"mute", "verify", "did not say"}, FaultCase{"scribbles", "verify", "wrote to its input"},
                    FaultCase{"scribbles-later", "measure", "wrote to its input"}, FaultCase{"rejects", "verify", "status 1"},
                    FaultCase{"throws", "prepare", "no key of that name"},
                    FaultCase{"nonesuch", "prepare", "no engine 'nonesuch'"}),
    [](const auto& test) {
      std::string name = test.param.engine;
      std::erase(name, '-');
      return name;
    });

// Signatures with random nonces are never the bytes that were accepted before; of later windows only a sample is verified.
TEST(Harness, FindsLiesAmongRandomizedOutputs) {
  if (engines().find("ecdsa", "lies-later") == nullptr)
    GTEST_SKIP() << "this build has no libcrypto: there is nothing to sign with";
  const auto signing = [](const std::string& engine) {
    return run(
        R"({"schema":"dpubench.job/1","window":{"min_ms":0.2,"max_ms":1000,"min_bursts":100,"threaded_min_ms":5},"cycles":9,)"
        R"("canaries":false,"groups":[{"id":"g","operator":"ecdsa","params":{"operation":"sign"},"burst":1,"points":[{"id":"p","engine":")" +
        engine + "\"}]}]}");
  };
  const Ran lying = signing("lies-later");
  ASSERT_EQ(lying.of("verified").size(), 1U);
  EXPECT_EQ(lying.of("verified")[0]["how"], "inverse-sampled");
  ASSERT_EQ(lying.of("failure").size(), 1U);
  EXPECT_EQ(lying.of("failure")[0]["phase"], "measure");
  EXPECT_NE(lying.of("failure")[0]["message"].get<std::string>().find("inverse with openssl: "), std::string::npos);
  EXPECT_LT(lying.of("window").size(), 18U);
  EXPECT_GE(lying.of("window").size(), 1U) << "the lies must begin after the windows that are judged in full";
  const Ran honest = signing("openssl");
  EXPECT_EQ(honest.status, JobStatus::kDone) << honest.events.back();
  EXPECT_EQ(honest.of("window").size(), 18U);
}

struct InFlightCase {
  const char* name;
  std::string point;  ///< fields of the point
  std::string group;
  int effective;
  std::size_t buffers;  ///< at least
};

class InFlight : public testing::TestWithParam<InFlightCase> {};

std::string one_point(const std::string& engine, const std::string& point, const std::string& group, const std::string& cycles) {
  return R"({"schema":"dpubench.job/1","window":{"min_ms":0.2,"max_ms":1000,"min_bursts":100,"threaded_min_ms":5},"canaries":false,)"
         R"("cycles":)" +
         cycles + R"(,"groups":[{"id":"g","operator":"sha256","params":{"size":"64"})" + group +
         R"(,"points":[{"id":"p","engine":")" + engine + "\"" + point + "}]}]}";
}

TEST_P(InFlight, IsWhatWasAskedForAsFarAsTheDeviceGoes) {
  const InFlightCase& c = GetParam();
  const Ran ran = run(one_point("batches", c.point, c.group, "2"));
  ASSERT_EQ(ran.status, JobStatus::kDone) << ran.events.back();
  const json path = ran.of("prepared")[0]["path"];
  EXPECT_EQ(path["driver"], "batch-driver");
  EXPECT_EQ(path["device"], "batch0");
  EXPECT_EQ(path["in_flight"], c.effective);
  EXPECT_GE(ran.of("prepared")[0]["buffers"].get<std::size_t>(), c.buffers);
  EXPECT_EQ(ran.of("window").size(), 4U);
  for (const json& w : ran.of("window")) {
    EXPECT_EQ(w["in_bytes"].get<std::uint64_t>(), w["operations"].get<std::uint64_t>() * 64);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Table, InFlight,
    testing::Values(InFlightCase{"Default", "", "", 96, 32},
                    InFlightCase{"Asked", R"(,"in_flight":200)", R"(,"burst":8,"footprint":"resident")", 200, 200},
                    InFlightCase{"OneBurst", R"(,"in_flight":32)", "", 32, 32},
                    InFlightCase{"TwoThreads", R"(,"in_flight":64)", R"(,"threads":2)", 64, 32},
                    InFlightCase{"MoreThanTheDeviceTakes", R"(,"in_flight":4096)", R"(,"burst":1)", 512, 512}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(Harness, SynchronousEnginesHaveNoDeviceAndNoJobsInFlight) {
  const json path = run(job({"portable"})).of("prepared")[0]["path"];
  for (const char* key : {"driver", "device", "in_flight"}) EXPECT_FALSE(path.contains(key)) << key;
  const auto failures = run(one_point("portable", R"(,"in_flight":64)", "", "1")).of("failure");
  ASSERT_EQ(failures.size(), 1U);
  EXPECT_NE(failures[0]["message"].get<std::string>().find("synchronous"), std::string::npos);
}

TEST(Harness, ALostBurstFailsThePointAndTheRestGoesOn) {
  const Ran ran = run(job({"loses-later", "honest"}, R"(,"canaries":false)"));
  EXPECT_EQ(ran.status, JobStatus::kFailed);
  const auto failures = ran.of("failure");
  ASSERT_EQ(failures.size(), 1U);
  EXPECT_EQ(failures[0]["point"], "loses-later");
  EXPECT_NE(failures[0]["message"].get<std::string>().find("still in flight"), std::string::npos);
  std::size_t honest = 0;
  for (const json& window : ran.of("window")) honest += window["point"] == "honest" ? 1 : 0;
  EXPECT_EQ(honest, 4U);
}

TEST(Harness, CatalogTellsWhichEnginesAreDevices) {
  const json all = catalog(engines());
  for (const json& op : all["operators"]) {
    for (const json& engine : op["engines"]) {
      if (op["name"] != "sha256") continue;
      if (engine["name"] == "portable") {
        EXPECT_FALSE(engine.contains("in_flight") || engine.contains("software_device"));
      }
      if (engine["name"] == "batches") {
        EXPECT_EQ(engine["in_flight"], 100);
        EXPECT_EQ(engine["software_device"], true);
      }
    }
  }
}

TEST(Harness, SaysWhenNothingRan) {
  const Ran ran = run(job({"wrong"}));
  EXPECT_EQ(ran.status, JobStatus::kNothingRan);
}

TEST(Harness, RefusesBadParameters) {
  const auto message = [](const std::string& params) {
    std::string text = job({"portable"});
    const std::string old = R"({"size":"64"})";
    text.replace(text.find(old), old.size(), params);
    const auto failures = run(text).of("failure");
    return failures.empty() ? std::string() : failures[0]["message"].get<std::string>();
  };
  EXPECT_NE(message(R"({"size":"0"})").find("must be from 1 to"), std::string::npos);
  EXPECT_NE(message(R"({"size":"-5"})").find("whole number"), std::string::npos);
  EXPECT_NE(message(R"({"size":"10000000000"})").find("must be from 1 to"), std::string::npos);
  EXPECT_NE(message(R"({"sizes":"64"})").find("has no parameter 'sizes'; it has: size"), std::string::npos);
}

TEST(Harness, StepsOnCommand) {
  const Ran ran =
      run(job({"portable", "honest"}, R"(,"control":"stepped")"),
          "{\"window\":\"honest\"}\n{\"window\":\"portable\"}\n{\"window\":\"canary-core\"}\nrubbish\n{\"window\":\"x\"}\n"
          "{\"window\":\"honest\"}\n{\"end\":true}\n{\"window\":\"honest\"}\n");
  const auto windows = ran.of("window");
  ASSERT_EQ(windows.size(), 4U);
  EXPECT_EQ(windows[0]["point"], "honest");
  EXPECT_EQ(windows[1]["point"], "portable");
  EXPECT_EQ(windows[2]["point"], "canary-core");
  EXPECT_EQ(windows[3]["point"], "honest");
  EXPECT_EQ(windows[3]["cycle"], 1);
  EXPECT_EQ(windows[3]["half"], 1);
  EXPECT_EQ(ran.of("ready").size(), 1U);
  EXPECT_EQ(ran.of("failure").size(), 2U);
}

TEST(Harness, TracesWholeBurstsOnceAndChecksThem) {
  const Ran ran = run(job({"honest"}, R"(,"control":"traced","operations":70)"));
  EXPECT_EQ(ran.status, JobStatus::kDone);
  const auto traced = ran.of("traced");
  ASSERT_EQ(traced.size(), 1U);
  EXPECT_EQ(traced[0]["bursts"], 3);
  EXPECT_EQ(traced[0]["operations"], 96);
  EXPECT_EQ(traced[0]["in_bytes"], 96 * 64);
  EXPECT_TRUE(ran.of("window").empty());
}

TEST(Engines, ReferenceComesFirst) {
  const auto slots = engines().of(*find_operator("sha256"));
  ASSERT_FALSE(slots.empty());
  EXPECT_EQ(slots[0]->name, "portable");
}

TEST(Engines, AFolderThatIsNotThereIsAnError) {
  EngineCatalog catalog;
  EXPECT_THROW(catalog.load("/nonexistent/engines"), Error);
}

TEST(Engines, ModulesThatCannotBeLoadedAreListedWithTheReason) {
  const test::TemporaryDirectory dir;
  dir.write("sha256__broken_one.so", "not a library");
  dir.write("sha256__absent.missing", "not built: libabsent was not found\n");
  EngineCatalog catalog;
  catalog.load(dir.path());
  ASSERT_NE(catalog.find("sha256", "broken-one"), nullptr);
  EXPECT_NE(catalog.find("sha256", "broken-one")->reason, "");
  EXPECT_EQ(catalog.find("sha256", "absent")->reason, "not built: libabsent was not found");
}

}  // namespace
}  // namespace dpubench
