// Tests of processor descriptions: the faults that are refused, and the names in the messages.

#include "cores/model/description.hpp"

#include <gtest/gtest.h>

#include "cores/model/testing.hpp"
#include "native/expect_error.hpp"
#include "protocol/reader.hpp"

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

TEST(Description, MemoryHasItsTimesInNanosecondsOrInCycles) {
  const json in_cycles = {{"latency_cycles", 62}, {"banks", 8}, {"bank_busy_cycles", 30}, {"bytes_per_cycle", 3.2}};
  const json in_ns = {{"latency_ns", 62}, {"banks", 8}, {"bank_busy_ns", 30}, {"bandwidth_gbps", 25.6}};
  for (const double mhz : {100.0, 300.0, 1000.0}) {
    json description = with("/memory", in_cycles);
    description["clock"]["mhz"] = mhz;
    const Memory constant = parse_description(description, "/processor").memory;
    EXPECT_EQ(constant.latency_cycles, 62U) << mhz;
    EXPECT_EQ(constant.bank_busy_cycles, 30U) << mhz;
    EXPECT_EQ(constant.bytes_per_cycle, 3.2) << mhz;
    description["memory"] = in_ns;
    const Memory follows = parse_description(description, "/processor").memory;
    EXPECT_EQ(follows.latency_cycles, mhz == 1000 ? 62U : mhz == 300 ? 19U : 7U) << mhz;
    EXPECT_DOUBLE_EQ(follows.bytes_per_cycle, 3200 / mhz) << mhz;
  }
  refuses("/memory/latency_cycles", 62, {"/processor/memory/latency_ns", "is given beside latency_cycles: give one of them"});
  refuses("/memory/bytes_per_cycle", 1, {"/processor/memory/bandwidth_gbps", "is given beside bytes_per_cycle"});
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
  refuses("/caches/d/line_bytes", 48, {"48 bytes is not a power of two"});
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
  refuses("/caches/l2/next", "l2", {"goes in a circle: 'l2', 'l2'"});
  refuses("/caches/l2/next", "l9", {"/processor/caches/l2/next", "there is no cache 'l9'"});
}

/// Return the faults of the description after setting `value` at `pointer`.
std::vector<protocol::Fault> faults_with(const char* pointer, const json& value) {
  try {
    parse_description(with(pointer, value), "");
  } catch (const protocol::Refused& refused) {
    return refused.faults();
  }
  return {};
}

TEST(Description, OneFaultIsToldOnce) {
  const json tlbs = {{"page_bytes", 4096},
                     {"instruction", {{"entries", 32}, {"ways", 32}}},
                     {"data", {{"entries", 32}, {"ways", 32}}},
                     {"second", {{"entries", 512}, {"ways", 4}, {"latency_cycles", 5}}},
                     {"walk_cycles", 20}};
  const auto tlbs_with = [&](const char* pointer, const json& value) {
    json changed = tlbs;
    changed[json::json_pointer(pointer)] = value;
    return changed;
  };
  EXPECT_TRUE(faults_with("/tlbs", tlbs).empty());
  const json dma = {{"line_rate_gbps", 10}, {"frame_bytes", 64}, {"deliver", 3}};
  json gshare = {{"predictor", "gshare"}, {"entries", 4096}, {"history", 12},          {"target_entries", 3},
                 {"target_ways", 0},      {"returns", 8},    {"target_miss_cycles", 1}};
  json tage = gshare;
  tage["predictor"] = "tage";
  tage["target_entries"] = tage["target_ways"] = 4;
  tage["tagged_entries"] = 512;
  tage["tagged_tables"] = 12;
  tage.erase("history");
  const json two = {{"cores", 1}, {"contexts", 2}, {"issue", "in-order"}, {"policy", "oldest"}, {"switch_cycles", 3}};
  const json latency = {{"size_bytes", 1024},    {"ways", 2},           {"line_bytes", 64}, {"latency_ns", -1},
                        {"replacement", "plru"}, {"miss_registers", 4}, {"next", "memory"}};
  for (const auto& [pointer, value, at] : {
           std::tuple<const char*, json, const char*>{"/tlbs", tlbs_with("/data/ways", 0), "/tlbs/data/ways"},
           {"/tlbs", tlbs_with("/second/entries", -4), "/tlbs/second/entries"},
           {"/tlbs", tlbs_with("/page_bytes", 1000), "/tlbs/page_bytes"},
           {"/caches/d/ways", 0, "/caches/d/ways"},
           {"/caches/d/size_bytes", "8", "/caches/d/size_bytes"},
           {"/caches/d/line_bytes", 4096, "/caches/d/line_bytes"},
           {"/caches/l2/latency_cycles", 0, "/caches/l2/latency_cycles"},
           {"/caches/l2", latency, "/caches/l2/latency_ns"},
           {"/caches/l2/next", "d", "/caches/d/next"},
           {"/data_cache", 7, "/data_cache"},
           {"/dma", dma, "/dma/deliver"},
           {"/branches", gshare, "/branches/target_ways"},
           {"/branches", tage, "/branches/history"},
           {"/organisation", two, "/organisation/policy"},
           {"/organisation/cores", 0, "/organisation/cores"},
           {"/widths/fetch", 0, "/widths/fetch"},
           {"/queues/0/name", "", "/queues/0/name"},
           {"/queues", 5, "/queues"},
           {"/units/0/queue", 5, "/units/0/queue"},
           {"/units/0/executes", 5, "/units/0/executes"},
       }) {
    const auto faults = faults_with(pointer, value);
    std::string told;
    for (const protocol::Fault& fault : faults) told += fault.where + ": " + fault.what + "\n";
    EXPECT_EQ(faults.size(), 1U) << pointer << " " << value << ":\n" << told;
    EXPECT_TRUE(!faults.empty() && faults.front().where == at) << pointer << " " << value << ":\n" << told;
  }
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
  refuses("/organisation/policy", "icount.2.4", {"fetches 4 instructions a cycle, but widths/fetch says 8"});
  refuses("/organisation/policy", "oldest", {"is 'oldest'", "icount.N.M"});
  refuses("/organisation/contexts", 2, {"is single, but the core has 2 contexts"});
  json divided = with("/organisation/window", "divided");
  divided["organisation"]["contexts"] = 3;
  divided["organisation"]["policy"] = "rr.2.8";
  expect_error([&] { parse_description(divided, ""); }, {"64 entries cannot be divided among 3 contexts"});
}

TEST(Description, PredictorsNeedTheirTables) {
  refuses("/branches/predictor", "gshare", {"/processor/branches/entries: is missing", "/processor/branches/history"});
  refuses("/branches", {{"predictor", "oracle"}},
          {"is 'oracle', and must be one of: perfect, bimodal, gshare, tournament, tage"});
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
  expect_error([&] { run(description, {&program}); }, {"has 2 contexts (2 cores of 1), but there are 1 traces"});
}

}  // namespace
}  // namespace dpubench::cores::test
