// The job parser: what it accepts, and what it says about what it does not.

#include "protocol/job.hpp"

#include <gtest/gtest.h>

namespace dpubench::protocol {
namespace {

constexpr const char* kSmallest =
    R"({"schema":"dpubench.job/1","groups":[{"id":"g","operator":"aes","points":[{"id":"p","engine":"portable"}]}]})";

std::string fault_of(std::string_view text) {
  try {
    parse_job(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Job, FillsInDefaults) {
  const Job job = parse_job(kSmallest);
  EXPECT_EQ(job.seed, 1U);
  EXPECT_EQ(job.control, Control::kAuto);
  EXPECT_TRUE(job.canaries);
  ASSERT_EQ(job.groups.size(), 1U);
  EXPECT_EQ(job.groups[0].burst, 32U);
  EXPECT_EQ(job.groups[0].footprint, Footprint::kStream);
  EXPECT_EQ(job.groups[0].points[0].engine, "portable");
}

TEST(Job, ATraceIsOfOneThreadAndOnePoint) {
  const auto traced = [](const std::string& rest, const std::string& group = "") {
    return R"({"schema":"dpubench.job/1","control":"traced")" + rest + R"(,"groups":[{"id":"g","operator":"aes")" + group +
           R"(,"points":[{"id":"p","engine":"e"}]}]})";
  };
  EXPECT_EQ(parse_job(traced(R"(,"operations":5)")).operations, 5U);
  EXPECT_NE(fault_of(traced("")).find("/operations: is missing"), std::string::npos);
  EXPECT_NE(fault_of(traced(R"(,"operations":0)")).find("/operations: must be a whole number from 1 to "), std::string::npos);
  EXPECT_NE(fault_of(traced(R"(,"operations":5)", R"(,"threads":2)")).find("/groups/0/threads: must be 1"), std::string::npos);
}

TEST(Job, ReadsEveryField) {
  const Job job = parse_job(R"({"schema":"dpubench.job/1","seed":7,"round":3,"control":"stepped",
    "inputs":{"corpus":["/a","/b"],"rules":["/r"]},"cache_dir":"/c","cpus":[1,0],
    "window":{"min_ms":1.5,"max_ms":9,"min_bursts":5,"threaded_min_ms":100},"cycles":9,"canaries":false,"time_limit_s":2.5,
    "groups":[{"id":"g","operator":"aes","params":{"mode":"gcm"},"threads":4,"burst":256,"footprint":"resident",
               "points":[{"id":"p","engine":"e"},{"id":"q","engine":"e","in_flight":512}]}]})");
  EXPECT_EQ(job.seed, 7U);
  EXPECT_EQ(job.round, 3U);
  EXPECT_EQ(job.control, Control::kStepped);
  EXPECT_EQ(job.inputs.at("corpus").size(), 2U);
  EXPECT_EQ(job.cache_dir, "/c");
  EXPECT_EQ(job.cpus, (std::vector<int>{1, 0}));
  EXPECT_EQ(job.window.min_ms, 1.5);
  EXPECT_EQ(job.window.max_ms, 9);
  EXPECT_EQ(job.window.min_bursts, 5U);
  EXPECT_EQ(job.window.threaded_min_ms, 100);
  EXPECT_EQ(job.cycles, 9U);
  EXPECT_FALSE(job.canaries);
  EXPECT_EQ(job.time_limit_s, 2.5);
  EXPECT_EQ(job.groups[0].params.text("mode"), "gcm");
  EXPECT_EQ(job.groups[0].threads, 4U);
  EXPECT_EQ(job.groups[0].burst, 256U);
  EXPECT_EQ(job.groups[0].footprint, Footprint::kResident);
  ASSERT_EQ(job.groups[0].points.size(), 2U);
  EXPECT_EQ(job.groups[0].points[0].in_flight, 0U);
  EXPECT_EQ(job.groups[0].points[1].in_flight, 512U);
}

struct BadJob {
  const char* name;
  const char* text;
  const char* says;
};

class BadJobs : public testing::TestWithParam<BadJob> {};

TEST_P(BadJobs, NameTheFieldAndTheRemedy) {
  const std::string fault = fault_of(GetParam().text);
  EXPECT_NE(fault.find(GetParam().says), std::string::npos) << fault;
}

#define GROUP(fields) R"({"schema":"dpubench.job/1","groups":[{"id":"g","operator":"aes",)" fields R"(}]})"
#define TOP(fields) \
  R"({"schema":"dpubench.job/1","groups":[{"id":"g","operator":"a","points":[{"id":"p","engine":"e"}]}],)" fields "}"
#define POINTS R"("points":[{"id":"p","engine":"e"}])"

INSTANTIATE_TEST_SUITE_P(
    Table, BadJobs,
    testing::Values(
        BadJob{"NotJson", "hello", "is no JSON"}, BadJob{"Empty", "", "is no JSON"},
        BadJob{"CutOff", R"({"schema":)", "is no JSON"}, BadJob{"Array", "[]", "must be an object"},
        BadJob{"NoSchema", R"({"groups":[]})", "/schema: is missing"},
        BadJob{"OtherSchema", R"({"schema":"dpubench.job/9","groups":[]})", "this program reads dpubench.job/1"},
        BadJob{"NoGroups", R"({"schema":"dpubench.job/1"})", "/groups: is missing"},
        BadJob{"EmptyGroups", R"({"schema":"dpubench.job/1","groups":[]})", "at least one group"},
        BadJob{"GroupsNoArray", R"({"schema":"dpubench.job/1","groups":7})", "/groups: must be an array"},
        BadJob{"GroupNoObject", R"({"schema":"dpubench.job/1","groups":[7]})", "/groups/0: must be an object"},
        BadJob{"UnknownField", TOP(R"("speed":1)"), "/speed: is not a field"},
        BadJob{"SeedText", TOP(R"("seed":"x")"), "/seed: must be a whole number"},
        BadJob{"SeedNegative", TOP(R"("seed":-1)"), "/seed"}, BadJob{"SeedFraction", TOP(R"("seed":1.5)"), "/seed"},
        BadJob{"Control", TOP(R"("control":"maybe")"), "/control"},
        BadJob{"InputsArray", TOP(R"("inputs":[])"), "/inputs: must be an object"},
        BadJob{"InputText", TOP(R"("inputs":{"rules":"x"})"), "/inputs/rules: must be an array"},
        BadJob{"InputNumber", TOP(R"("inputs":{"rules":[1]})"), "must hold paths"},
        BadJob{"CacheDir", TOP(R"("cache_dir":7)"), "/cache_dir"}, BadJob{"Cpus", TOP(R"("cpus":["a"])"), "/cpus"},
        BadJob{"CpusNoArray", TOP(R"("cpus":1)"), "/cpus: must be an array"}, BadJob{"Cpu", TOP(R"("cpus":[-1])"), "/cpus"},
        BadJob{"Window", TOP(R"("window":{"min_ms":0})"), "/window/min_ms"},
        BadJob{"WindowArray", TOP(R"("window":[])"), "/window: must be"}, BadJob{"Cycles", TOP(R"("cycles":0)"), "/cycles"},
        BadJob{"Canaries", TOP(R"("canaries":1)"), "/canaries: must be true or false"},
        BadJob{"Limit", TOP(R"("time_limit_s":0)"), "/time_limit_s"},
        BadJob{"NoPoints", GROUP(R"("burst":1)"), "/groups/0/points: is missing"},
        BadJob{"EmptyPoints", GROUP(R"("points":[])"), "at least one point"},
        BadJob{"PointText", GROUP(R"("points":["a"])"), "/groups/0/points/0: must be an object"},
        BadJob{"NoEngine", GROUP(R"("points":[{"id":"p"}])"), "/groups/0/points/0/engine: is missing"},
        BadJob{"EmptyId", GROUP(R"("points":[{"id":"","engine":"e"}])"), "/id: must be a text"},
        BadJob{"SameIdTwice", GROUP(R"("points":[{"id":"p","engine":"e"},{"id":"p","engine":"f"}])"), "used twice"},
        BadJob{"InFlight0", GROUP(R"("points":[{"id":"p","engine":"e","in_flight":0}])"), "/in_flight: must be a whole"},
        BadJob{"InFlightMuch", GROUP(R"("points":[{"id":"p","engine":"e","in_flight":5000}])"),
               "/in_flight: must be a whole number from 1 to "},
        BadJob{"InFlightLessThanABurst", GROUP(R"("burst":64,"points":[{"id":"p","engine":"e","in_flight":63}])"),
               "/in_flight: must be at least the burst, 64"},
        BadJob{"Threads0", GROUP(POINTS R"(,"threads":0)"), "/groups/0/threads: must be a whole number from 1 to "},
        BadJob{"Burst257", GROUP(POINTS R"(,"burst":257)"), "/groups/0/burst"},
        BadJob{"Footprint", GROUP(POINTS R"(,"footprint":"cold")"), "\"resident\", \"stream\" or \"memory\""},
        BadJob{"Params", GROUP(POINTS R"(,"params":[])"), "/groups/0/params: must be an object"},
        BadJob{"ParamNumber", GROUP(POINTS R"(,"params":{"size":1024})"), "/groups/0/params/size: must be a text"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(Job, CollectsAllFaults) {
  const std::string fault = fault_of(TOP(R"("seed":"x","cycles":0,"canaries":3)"));
  EXPECT_NE(fault.find("/seed"), std::string::npos);
  EXPECT_NE(fault.find("/cycles"), std::string::npos);
  EXPECT_NE(fault.find("/canaries"), std::string::npos);
}

TEST(Job, RefusesDeepNestingAndHugeTexts) {
  EXPECT_NE(fault_of(std::string(100'000, '[')).find("nested deeper"), std::string::npos);
  EXPECT_NE(fault_of(std::string(kMaxJobBytes + 1, ' ')).find("larger than"), std::string::npos);
}

TEST(Job, RefusesAKeyThatStandsThereTwiceByItsPlace) {
  EXPECT_NE(fault_of(TOP(R"("seed":1,"seed":2)")).find("has the key /seed twice"), std::string::npos);
  const std::string fault = fault_of(R"({"groups":[{"id":"a"},{"points":[[],{"id":"p"},{"id":"q","engine":"e","id":"r"}]}]})");
  EXPECT_NE(fault.find("the job has the key /groups/1/points/2/id twice"), std::string::npos) << fault;
  // The same key in objects side by side or one in the other is not twice.
  EXPECT_EQ(fault_of(R"({"a":{"a":[{"a":1},{"a":1}]},"b":{"a":1}})").find("twice"), std::string::npos);
}

TEST(Command, ReadsWindowAndEnd) {
  EXPECT_EQ(parse_command(R"({"window":"p"})").window, "p");
  EXPECT_EQ(parse_command(R"({"end":true})").window, "");
  for (const char* bad : {"", "{}", "[]", "x", R"({"window":7})", R"({"end":false})", R"({"window":"p","end":true})"}) {
    EXPECT_THROW(parse_command(bad), Error) << bad;
  }
}

}  // namespace
}  // namespace dpubench::protocol
