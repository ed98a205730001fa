// Tests of the model's jobs: configurations are checked before traces exist.

#include "cores/model/job.hpp"

#include <gtest/gtest.h>

#include "cores/model/testing.hpp"
#include "native/expect_error.hpp"

namespace dpubench::cores::test {

namespace {

/// Return the faults of one configuration as "/at: what".
std::vector<std::string> faults_of(const json& configuration) {
  const json checked = check_configurations(json::array({configuration}).dump());
  EXPECT_EQ(checked["event"], "checked");
  EXPECT_EQ(checked["configurations"].size(), 1U);
  std::vector<std::string> faults;
  for (const json& fault : checked["configurations"][0]["faults"])
    faults.push_back(fault["at"].get<std::string>() + ": " + fault["what"].get<std::string>());
  return faults;
}

std::vector<std::string> faults_of_extent(const json& extent, const json& description = processor()) {
  return faults_of({{"processor", description}, {"extent", extent}});
}

using Texts = std::vector<std::string>;

TEST(CheckedConfigurations, EachIsToldWhatIsWrongWithIt) {
  json wrong = processor();
  wrong["caches"]["d"]["wayz"] = 2;
  wrong["widths"]["issue"] = 0;
  const json checked = check_configurations(json{{{"processor", processor()}}, {{"processor", wrong}}, json::object(), 7}.dump());
  const json& all = checked["configurations"];
  ASSERT_EQ(all.size(), 4U);
  EXPECT_TRUE(all[0]["faults"].empty());
  ASSERT_EQ(all[1]["faults"].size(), 2U);
  EXPECT_EQ(all[1]["faults"][0]["at"], "/processor/widths/issue");
  EXPECT_EQ(all[1]["faults"][1]["at"], "/processor/caches/d/wayz");
  EXPECT_EQ(all[2]["faults"], (json{{{"at", "/processor"}, {"what", "is missing"}}}));
  EXPECT_EQ(all[3]["faults"].size(), 1U);
}

TEST(CheckedConfigurations, AnExtentIsCheckedWithItsProcessor) {
  EXPECT_EQ(faults_of_extent({{"phase_instructions", 1000}, {"instructions", 65'536'000}}), Texts{});
  EXPECT_EQ(faults_of_extent({{"phase_instructions", 10}}),
            Texts{"/extent/phase_instructions: is 10, but a phase has at least 1000 instructions"});
  EXPECT_EQ(faults_of_extent({{"phase_instructions", 1000}, {"instructions", 70'000'000}}),
            Texts{"/extent/instructions: make 70000 phases, but at most 65536 are kept apart: give fewer or larger phases"});
  EXPECT_EQ(faults_of_extent({{"every", 0}, {"measured", 2}}).size(), 1U);
  EXPECT_EQ(faults_of_extent({{"every", 2}, {"measured", 3}}).size(), 1U);
  json threads = processor();
  threads["organisation"]["contexts"] = 2;
  threads["organisation"]["policy"] = "strict";
  const Texts shared = faults_of_extent({{"phase_instructions", 1000}}, threads);
  ASSERT_EQ(shared.size(), 1U);
  EXPECT_NE(shared[0].find("share a data cache"), std::string::npos) << shared[0];
  threads["organisation"]["policy"] = "single";
  EXPECT_EQ(faults_of_extent({{"phase_instructions", 10}}, threads).size(), 2U);
}

TEST(CheckedConfigurations, WhatIsNoListIsRefused) {
  using dpubench::test::expect_error;
  expect_error([] { check_configurations("{}"); }, {"must be an array"});
  expect_error([] { check_configurations("[{"); }, {"is no JSON"});
  expect_error([] { check_configurations(R"([{"processor":{"clock":{"mhz":1,"mhz":2}}}])"); }, {"/0/processor/clock/mhz twice"});
}

}  // namespace
}  // namespace dpubench::cores::test
