// Tests of lpm: engines against brute force on dense random tables, sizes of tables, and refused tables.

#include "operators/lpm/lpm.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <set>

#include "inputs/traffic.hpp"
#include "operators/support/testing/built_engines.hpp"
#include "operators/verify.hpp"

namespace dpubench {
namespace {

using inputs::Prefix4;
using inputs::Prefix6;
using lpm::LpmWork;

using test::engines;

/// Return a work with prefixes of every length over few distinct bits, so that most of them lie inside others. Its destinations
/// are drawn in the same way.
std::unique_ptr<LpmWork> crowded(const std::string& version, const std::string& lookup, std::uint64_t seed) {
  auto work = std::make_unique<LpmWork>();
  work->params = {{"ip_version", version}, {"lookup", lookup}, {"stream", "zipf"}, {"prefixes", "2000"}, {"fill", "fast"}};
  inputs::Random random(seed);
  const bool v6 = version == "6";
  const auto address = [&] {
    std::array<std::uint8_t, 16> a{};
    for (std::size_t i = 0; i < (v6 ? 16U : 4U); ++i)
      a[i] = random.below(4) == 0 ? static_cast<std::uint8_t>(random.below(256)) : 0x20;
    return a;
  };
  std::set<std::pair<std::array<std::uint8_t, 16>, unsigned>> known;
  for (int i = 0; i < 2000; ++i) {
    auto a = address();
    const auto length = static_cast<std::uint8_t>(random.below(v6 ? 129 : 33));
    for (std::size_t bit = length; bit < 128; ++bit) a[bit / 8] = static_cast<std::uint8_t>(a[bit / 8] & ~(0x80U >> bit % 8));
    if (!known.emplace(a, length).second) continue;
    const std::uint32_t next_hop = work->next_hops++;
    if (v6) {
      work->routes6.push_back({a, length, next_hop});
    } else {
      const auto host = static_cast<std::uint32_t>(a[0]) << 24 | static_cast<std::uint32_t>(a[1]) << 16 |
                        static_cast<std::uint32_t>(a[2]) << 8 | a[3];
      work->routes4.push_back({host, length, next_hop});
    }
  }
  for (int i = 0; i < 3000; ++i) {
    inputs::Flow flow;
    flow.version = v6 ? 6 : 4;
    flow.destination = address();
    work->items.push_back({make_packet(flow, 0, random), {}, 0});
  }
  return work;
}

TEST(Lpm, EveryEngineAgreesWithBruteForceOnCrowdedTables) {
  const Operator& op = *find_operator("lpm");
  std::size_t checked = 0;
  for (const std::string version : {"4", "6"}) {
    for (const std::string lookup : {"single", "bulk"}) {
      const auto work = crowded(version, lookup, 7);
      std::vector<Output> want;
      for (std::size_t i = 0; i < work->items.size(); ++i) want.push_back(*op.oracle(*work, i));
      for (const EngineSlot* slot : engines().of(op)) {
        if (!slot->reason.empty() || !slot->engine->unsupported(work->params).empty()) continue;
        const auto session = slot->engine->prepare(*work);
        for (const std::uint32_t burst : {1U, 7U, 32U, 256U}) {
          const auto got = run_once(*work, *session, burst);
          for (std::size_t i = 0; i < got.size(); ++i) {
            ASSERT_EQ(op.check(*work, i, got[i], &want[i]), "")
                << slot->name << " IPv" << version << ' ' << lookup << " item " << i;
          }
          ++checked;
        }
      }
    }
  }
  EXPECT_GE(checked, 16U);  // the portable engine alone gives 16
}

TEST(Lpm, AnEngineLeavesTheThreadsAffinityAlone) {
  cpu_set_t before{};
  cpu_set_t after{};
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  const auto work = crowded("4", "bulk", 1);
  for (const EngineSlot* slot : engines().of(*find_operator("lpm"))) {
    if (slot->reason.empty() && slot->engine->unsupported(work->params).empty()) {
      EXPECT_GE(slot->engine->prepare(*work)->memory_bytes(), std::size_t{64} << 20) << slot->name;
    }
  }
  ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

TEST(Lpm, AWholeIpv4TableIsLeftToFillAny) {
  const EngineSlot* slot = engines().find("lpm", "dpdk-lpm");
  if (slot == nullptr || slot->engine == nullptr) GTEST_SKIP() << "dpdk-lpm is not built here";
  const Operator& op = *find_operator("lpm");
  EXPECT_NE(slot->engine->unsupported(op.complete({})).find("fill=any"), std::string::npos);
  EXPECT_EQ(slot->engine->unsupported(op.complete({{"fill", "any"}})), "");
  EXPECT_EQ(slot->engine->unsupported(op.complete({{"prefixes", "100000"}})), "");
  EXPECT_EQ(slot->engine->unsupported(op.complete({{"ip_version", "6"}})), "");
}

TEST(Lpm, ANextHopThatTheTableCannotHoldIsRefused) {
  const EngineSlot* slot = engines().find("lpm", "dpdk-lpm");
  if (slot == nullptr || !slot->reason.empty()) GTEST_SKIP() << "dpdk-lpm cannot run here";
  auto work = crowded("6", "bulk", 1);
  work->next_hops = (1U << 21) + 1;
  EXPECT_THROW(static_cast<void>(slot->engine->prepare(*work)), Error);
}

TEST(Lpm, ExtensionTablesAreCountedPerDistinctStart) {
  EXPECT_EQ(lpm::extension_tables(std::vector<Prefix4>{{0x0a000000, 24, 0}, {0x0b000000, 8, 1}}), 0U);
  EXPECT_EQ(lpm::extension_tables(std::vector<Prefix4>{{0x0a000000, 25, 0}, {0x0a000080, 32, 1}, {0x0a000100, 25, 2}}), 2U);
  EXPECT_EQ(lpm::extension_tables(std::vector<Prefix6>{{{0x20, 1}, 48, 0}, {{0x20, 1, 0, 0, 1}, 48, 1}}), 4U);
}

TEST(Lpm, ADefaultRouteBecomesItsHalvesUnlessTheyAreTaken) {
  const auto routes = lpm::without_default(std::vector<Prefix4>{{0, 0, 5}, {0x80000000, 1, 6}});
  EXPECT_EQ(routes, (std::vector<Prefix4>{{0x80000000, 1, 6}, {0, 1, 5}}));
}

}  // namespace
}  // namespace dpubench
