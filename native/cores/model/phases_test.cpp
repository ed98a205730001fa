// Tests of phases: each phase has the counts of its time, and all phases together have the total.

#include <gtest/gtest.h>

#include <string>

#include "base/error.hpp"
#include "cores/model/job.hpp"
#include "cores/model/testing.hpp"

namespace dpubench::cores::test {
namespace {

/// Return a processor whose caches and TLBs miss.
json described() {
  json description = processor();
  description["caches"] = {{"i", cache(1024, 2, 1, "memory")}, {"d", cache(1024, 2, 2, "memory")}};
  description["tlbs"] = {{"page_bytes", 4096},
                         {"instruction", {{"entries", 2}, {"ways", 2}}},
                         {"data", {{"entries", 4}, {"ways", 4}}},
                         {"walk_cycles", 20}};
  return description;
}

/// Return messages of 50 instructions with reads and writes in many places, and a branch to another page.
Program wander(unsigned messages) {
  Program program;
  for (unsigned message = 0; message < messages; ++message) {
    program.message();
    for (unsigned i = 0; i < 46; ++i) program.integer(static_cast<std::uint8_t>(1 + i % 8), {9});
    program.load(1, 2, 0x10000 + std::uint64_t{message * 7919 % 64} * 1024);
    program.load(1, 2, 0x10000);
    program.store(3, 2, 0x90000 + std::uint64_t{message * 104729 % 128} * 64);
    program.branch(Branch::kDirect, 0x1000 + std::uint64_t{message % 5} * 8192);
  }
  return program;
}

std::uint64_t sum(const json& phases, const std::string& pointer) {
  std::uint64_t total = 0;
  for (const json& phase : phases) total += phase.at(json::json_pointer(pointer)).get<std::uint64_t>();
  return total;
}

void expect_sums(const json& context) {
  const json& phases = context["phases"];
  for (const char* key : {"/instructions", "/cycles", "/branches", "/loads", "/stores"})
    EXPECT_EQ(sum(phases, key), context.at(json::json_pointer(key))) << key;
  for (const auto& [kind, count] : context["kinds"].items()) EXPECT_EQ(sum(phases, "/kinds/" + kind), count) << kind;
}

TEST(Phases, EachHasItsShareAndTheLastOneWhatIsLeft) {
  const Program program = wander(50);
  Extent extent;
  extent.phase_instructions = 1000;
  const json result = run(described(), {&program}, extent);
  const json& context = result["contexts"][0];
  const json& phases = context["phases"];
  ASSERT_EQ(phases.size(), 3U);
  EXPECT_EQ(phases[0]["instructions"], 1000);
  EXPECT_EQ(phases[1]["instructions"], 1000);
  EXPECT_EQ(phases[2]["instructions"], 500);
  EXPECT_EQ(phases[0]["loads"], 40);
  EXPECT_EQ(phases[0]["stores"], 20);
  EXPECT_EQ(phases[0]["branches"], 20);
  EXPECT_EQ(phases[2]["kinds"]["integer"], 460);
  expect_sums(context);
  for (const char* key : {"accesses", "misses"}) {
    EXPECT_EQ(sum(phases, std::string("/l1d/") + key), result["caches"]["d"][key]) << key;
    EXPECT_EQ(sum(phases, std::string("/itlb/") + key), result["tlbs"]["instruction"][key]) << key;
    EXPECT_EQ(sum(phases, std::string("/dtlb/") + key), result["tlbs"]["data"][key]) << key;
  }
  EXPECT_GT(sum(phases, "/l1d/misses"), 0U);
  EXPECT_GT(sum(phases, "/itlb/misses"), 0U);
  EXPECT_GT(sum(phases, "/dtlb/misses"), 0U);
}

TEST(Phases, ChangeNothingElse) {
  const Program program = wander(50);
  Extent extent;
  extent.phase_instructions = 1000;
  json with = run(described(), {&program}, extent);
  EXPECT_EQ(with["contexts"][0].erase("phases"), 1U);
  EXPECT_EQ(with, run(described(), {&program}));
}

TEST(Phases, BeginBehindTheWarmUpAndEndWithTheExtent) {
  const Program program = wander(100);
  Extent extent;
  extent.phase_instructions = 1000;
  extent.warm_up_messages = 30;
  extent.instructions = 2000;
  const json result = run(described(), {&program}, extent);
  const json& context = result["contexts"][0];
  ASSERT_EQ(context["phases"].size(), 2U);
  expect_sums(context);
  EXPECT_EQ(sum(context["phases"], "/instructions"), 2000U);
  // The phases include the cycle in which counting began. The chip's counters begin with the next cycle.
  for (const char* key : {"accesses", "misses"})
    EXPECT_GE(sum(context["phases"], std::string("/l1d/") + key), result["caches"]["d"][key]) << key;
}

TEST(Phases, ContextsOfCoresHaveTheirOwn) {
  json description = described();
  description["organisation"]["cores"] = 2;
  const Program one = wander(60);
  const Program other = wander(40);
  Extent extent;
  extent.phase_instructions = 1000;
  extent.warm_up_messages = 5;
  const json result = run(description, {&one, &other}, extent);
  for (const json& context : result["contexts"]) expect_sums(context);
  EXPECT_EQ(result["contexts"][0]["phases"].size(), 3U);
  EXPECT_EQ(result["contexts"][1]["phases"].size(), 2U);
}

TEST(Phases, AreNotThereUnlessAskedFor) {
  const Program program = wander(1);
  EXPECT_FALSE(run(described(), {&program})["contexts"][0].contains("phases"));
}

json job(const json& description, const json& phase_instructions, std::size_t contexts = 1) {
  json traces = json::array();
  for (std::size_t i = 0; i < contexts; ++i) traces.push_back({{"trace", "/t"}});
  return {{"schema", kJobSchema},
          {"configurations",
           {{{"id", "c"},
             {"processor", description},
             {"contexts", traces},
             {"extent", {{"phase_instructions", phase_instructions}}}}}}};
}

std::string refusal(const json& wanted) {
  try {
    parse_cores_job(wanted.dump());
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Phases, OfSensibleLengthsOnly) {
  EXPECT_EQ(refusal(job(described(), 1000)), "");
  EXPECT_EQ(refusal(job(described(), 0)), "");
  EXPECT_NE(refusal(job(described(), 999)).find("phase_instructions"), std::string::npos);
  EXPECT_NE(refusal(job(described(), -1)).find("phase_instructions"), std::string::npos);
  EXPECT_NE(refusal(job(described(), "many")).find("phase_instructions"), std::string::npos);
}

TEST(Phases, NotOfContextsThatShareACache) {
  json description = described();
  description["organisation"] = {{"cores", 1}, {"contexts", 2}, {"issue", "out-of-order"}, {"policy", "icount.2.8"}};
  EXPECT_NE(refusal(job(description, 1000, 2)).find("give each context a core"), std::string::npos);
  EXPECT_EQ(refusal(job(description, 0, 2)), "");
}

}  // namespace
}  // namespace dpubench::cores::test
