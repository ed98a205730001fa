// Descriptions of processors: what is refused, and by which name.

#include "cores/model/description.hpp"

#include <gtest/gtest.h>

#include "cores/model/testing.hpp"
#include "native/expect_error.hpp"

namespace dpubench::cores::test {

using dpubench::test::expect_error;

namespace {

json with(const char* pointer, const json& value) {
  json description = processor();
  description["caches"]["d"] = cache(1024, 2, 2, "l2");
  description["caches"]["l2"] = cache(16384, 4, 12, "memory");
  description[json::json_pointer(pointer)] = value;
  return description;
}

void refuses(const char* pointer, const json& value, std::initializer_list<std::string_view> parts) {
  SCOPED_TRACE(pointer);
  expect_error([&] { parse_description(with(pointer, value), "/processor"); }, parts);
}

TEST(Description, ReadsWhatIsThere) {
  const Description read = parse_description(with("/organisation/cores", 2), "/processor");
  EXPECT_EQ(read.name, "by-hand");
  EXPECT_EQ(read.organisation.cores, 2U);
  EXPECT_EQ(read.caches.at(read.data_cache).name, "d");
  EXPECT_EQ(read.caches.at(read.caches.at(read.data_cache).next).name, "l2");
  EXPECT_EQ(read.units.at(1).executes.at(static_cast<std::size_t>(Kind::kMultiply))->latency_cycles, 4U);
}

TEST(Description, TheLatencyOfACacheWithAClockOfItsOwnIsInNanoseconds) {
  json description = with("/caches/l2/latency_ns", 12.4);
  description["caches"]["l2"].erase("latency_cycles");
  for (const auto& [mhz, cycles] : {std::pair{1000.0, 12U}, {2500.0, 31U}}) {
    description["clock"]["mhz"] = mhz;
    const Description read = parse_description(description, "/processor");
    EXPECT_EQ(read.caches.at(read.caches.at(read.data_cache).next).latency_cycles, cycles) << mhz;
  }
  refuses("/caches/l2/latency_ns", 12.4, {"/processor/caches/l2/latency_ns", "give one of them"});
  description["caches"]["l2"]["latency_ns"] = 1e5;
  expect_error([&] { parse_description(description, "/processor"); }, {"latency_ns", "more than 1000 cycles"});
}

TEST(Description, UnknownKeysAreRefusedByName) {
  refuses("/bogus", 1, {"/processor/bogus", "is not a field"});
  refuses("/widths/rename", 1, {"/processor/widths/rename"});
  refuses("/caches/d/associativity", 1, {"/processor/caches/d/associativity"});
  refuses("/units/0/executes/teleport", {{"latency_cycles", 1}, {"every_cycles", 1}}, {"/processor/units/0/executes/teleport"});
}

TEST(Description, ImpossibleValuesAreRefusedByName) {
  refuses("/caches/d/ways", 0, {"/processor/caches/d/ways", "from 1"});
  refuses("/caches/d/size_bytes", 1000, {"/processor/caches/d/size_bytes", "cannot be divided into 2 ways"});
  refuses("/caches/d/line_bytes", 48, {"48 bytes is no power of two"});
  refuses("/widths/issue", 0, {"/processor/widths/issue"});
  refuses("/widths/fetch", 2.5, {"/processor/widths/fetch", "whole number"});
  refuses("/window/instructions", 0, {"/processor/window/instructions"});
  refuses("/units/0/count", 0, {"/processor/units/0/count"});
  refuses("/units/0/queue", "none", {"/processor/units/0/queue", "there is no queue 'none'"});
  refuses("/clock/mhz", 0, {"/processor/clock/mhz"});
  refuses("/memory/bandwidth_gbps", -1, {"/processor/memory/bandwidth_gbps"});
  refuses("/caches/d/latency_cycles", 20, {"/processor/caches/d/latency_cycles", "longer than that of 'l2'"});
  refuses("/caches/l2/shared_by", 3, {"/processor/caches/l2/shared_by", "cannot be divided into groups of 3"});
}

TEST(Description, ACircleOfCachesIsRefused) {
  refuses("/caches/l2/next", "d", {"goes in a circle", "never reach memory"});
  refuses("/caches/l2/next", "l2", {"goes in a circle"});
  refuses("/caches/l2/next", "l9", {"/processor/caches/l2/next", "there is no cache 'l9'"});
}

TEST(Description, WhatIsMissingIsNamed) {
  json description = processor();
  description.erase("memory");
  description["widths"].erase("commit");
  description["units"].erase(2);
  expect_error([&] { parse_description(description, "/p"); },
               {"/p/memory: is missing", "/p/widths/commit: is missing", "no unit executes instructions of kind 'load'"});
}

TEST(Description, PoliciesAndContextsHaveToFit) {
  refuses("/organisation/policy", "icount.2.4", {"fetches 4 instructions a cycle, and widths/fetch says 8"});
  refuses("/organisation/policy", "oldest", {"is 'oldest'", "icount.N.M"});
  refuses("/organisation/contexts", 2, {"is single, and the core has 2 contexts"});
  json divided = with("/organisation/window", "divided");
  divided["organisation"]["contexts"] = 3;
  divided["organisation"]["policy"] = "rr.2.8";
  expect_error([&] { parse_description(divided, ""); }, {"64 entries cannot be divided among 3 contexts"});
}

TEST(Description, PredictorsNeedTheirTables) {
  refuses("/branches/predictor", "gshare", {"/processor/branches/entries: is missing", "/processor/branches/history"});
  refuses("/branches", {{"predictor", "oracle"}}, {"is 'oracle', and must be one of: perfect, bimodal, gshare, tage"});
}

TEST(Description, DmaGoesWhereThereIsACache) {
  const auto dma = [](const char* deliver) { return json{{"line_rate_gbps", 10}, {"frame_bytes", 64}, {"deliver", deliver}}; };
  EXPECT_TRUE(parse_description(with("/dma", dma("l2")), "").dma.has_value());
  refuses("/dma", dma("l5"), {"/processor/dma/deliver", "'l5'"});
  refuses("/dma", dma("d"), {"/processor/dma/deliver", "a cache of the first level"});
}

TEST(Chip, MoreContextsThanTracesAreRefused) {
  const Program program;
  json description = processor();
  description["organisation"]["cores"] = 2;
  expect_error([&] { run(description, {&program}); }, {"has 2 contexts (2 cores of 1), and there are 1 traces"});
}

}  // namespace
}  // namespace dpubench::cores::test
