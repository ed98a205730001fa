// Every operator, configuration and engine of this build: known answers, real input, equivalence, at edge sizes and bursts.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include "capture_builder.hpp"
#include "operators/support/testing/built_engines.hpp"
#include "operators/verify.hpp"
#include "temporary_directory.hpp"

namespace dpubench {
namespace {

namespace fs = std::filesystem;

using test::engines;

/// Flows of four packets, of both IP versions, TCP and UDP, to many addresses; some payloads hold what rules find.
std::vector<std::byte> generated_capture(inputs::Random& random) {
  constexpr std::uint32_t kRawIp = 101;  // LINKTYPE_RAW
  std::vector<std::vector<std::byte>> frames;
  for (std::uint32_t flow = 0; flow < 75; ++flow) {
    const bool is_tcp = flow % 2 == 0;
    const bool is_v6 = flow % 5 == 0;
    std::array<std::byte, 3> host{};
    for (std::byte& b : host) b = static_cast<std::byte>(random.below(256));
    for (int i = 0; i < 4; ++i) {
      test::Bytes payload;
      for (std::uint64_t words = random.below(40); words > 0; --words) payload.u32(random.next());
      if (i == 0) payload.hex("474554202f 61747461636b");  // GET /attack
      std::vector<std::byte> segment =
          is_tcp ? test::tcp() : test::Bytes().u16(1024 + flow).u16(53).u16(8 + payload.size()).u16(0).get();
      segment = test::join(std::move(segment), payload.get());
      const std::uint8_t protocol = is_tcp ? 6 : 17;
      std::vector<std::byte> packet = is_v6 ? test::ipv6(protocol, segment) : test::ipv4(protocol, segment);
      const std::ptrdiff_t destination_end = is_v6 ? 40 : 20;
      std::copy(host.begin(), host.end(), packet.begin() + destination_end - static_cast<std::ptrdiff_t>(host.size()));
      frames.push_back(std::move(packet));
    }
  }
  return test::pcap(kRawIp, frames);
}

/// Inputs made here, so that the test needs no file: what real data adds is tested by the parsers' and the study's tests.
inputs::Files generated_inputs(const fs::path& dir) {
  fs::create_directories(dir / "corpus");
  inputs::Random random(7);
  std::ofstream routes4(dir / "routes4");
  std::ofstream routes6(dir / "routes6");
  for (std::uint64_t i = 0; i < 2000; ++i) {
    // Lengths 9 to 32 with the host bits cleared; many prefixes nest.
    const auto length = static_cast<unsigned>(9 + random.below(24));
    const auto address = static_cast<std::uint32_t>(random.below(1U << 20) << 12) & (~0U << (32 - length));
    routes4 << (address >> 24) << '.' << (address >> 16 & 255) << '.' << (address >> 8 & 255) << '.' << (address & 255) << '/'
            << length << ',' << random.below(500) << '\n';
    const auto length6 = static_cast<unsigned>(17 + random.below(32));
    const auto high = static_cast<std::uint32_t>(random.below(1U << 24) << 8 | 0x20000000U);
    const std::uint64_t top = (std::uint64_t{high} << 32 | random.below(1U << 16) << 16) & (~std::uint64_t{0} << (64 - length6));
    routes6 << std::hex << (top >> 48) << ':' << (top >> 32 & 0xFFFF) << ':' << (top >> 16 & 0xFFFF) << ':' << (top & 0xFFFF)
            << "::/" << std::dec << length6 << ',' << random.below(500) << '\n';
  }
  std::ofstream(dir / "rules") << "1:/attack/\n2:/[0-9]{4}-[0-9]{2}/\n3:/select.{1,20}from/i\n4:/^GET /\n5:/(foo|bar)+baz/\n";
  std::ofstream text(dir / "corpus" / "text");
  const char* words[] = {"select ", "route ", "GET ", "attack ", "packet 2021-04 ", "from table ", "foobarbaz ", "the ", "and "};
  for (int i = 0; i < 30'000; ++i) text << words[random.below(std::size(words))];
  std::ofstream noise(dir / "corpus" / "noise", std::ios::binary);
  for (int i = 0; i < 100'000; ++i) noise.put(static_cast<char>(random.below(256)));
  const std::vector<std::byte> packets = generated_capture(random);
  std::ofstream(dir / "capture", std::ios::binary)
      .write(reinterpret_cast<const char*>(packets.data()), static_cast<std::streamsize>(packets.size()));
  return {{"capture", {dir / "capture"}},
          {"routes4", {dir / "routes4"}},
          {"routes6", {dir / "routes6"}},
          {"rules", {dir / "rules"}},
          {"corpus", {dir / "corpus"}}};
}

inputs::Store& store() {
  static const test::TemporaryDirectory dir;
  static inputs::Store store(generated_inputs(dir.path()), 11);
  return store;
}

struct Case {
  const Operator* op;
  Params params;
};

/// Each mode, and around its defaults every value of each other choice and the edges of each number's range.
std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Operator* op : operators()) {
    for (const Params& base : op->configurations()) {
      all.push_back({op, base});
      for (const Parameter& parameter : op->info().parameters) {
        if (!parameter.belongs_to(base)) continue;
        std::vector<std::string> values = parameter.values;
        if (parameter.is_number()) {
          for (const std::uint64_t value :
               {std::uint64_t{1}, std::uint64_t{15}, std::uint64_t{16}, std::uint64_t{17}, std::uint64_t{1500}, parameter.max}) {
            if (parameter.name == "size" && value >= parameter.min && value <= parameter.max)
              values.push_back(std::to_string(value));
          }
        }
        for (const std::string& value : values) {
          if (parameter.is_mode || value == parameter.default_value) continue;
          Params params = base;
          params.set(parameter.name, value);
          if (op->invalid(params).empty()) all.push_back({op, params});
        }
      }
    }
  }
  return all;
}

class Configurations : public testing::TestWithParam<Case> {};

TEST_P(Configurations, EveryEngineIsVerified) {
  const auto& [op, params] = GetParam();
  const Params complete = op->complete(params);
  const bool huge = complete.has("size") && complete.number("size") > 65536;
  const std::uint32_t items = huge ? 5 : 40;  // few, and no whole number of bursts
  const std::unique_ptr<Work> work = op->prepare(complete, store(), {items});
  work->params = complete;
  ASSERT_FALSE(work->items.empty());
  bool verified = false;
  for (const std::uint32_t burst : {1U, 32U, 256U}) {
    Verifier verifier(*op, *work, engines(), burst);
    for (const EngineSlot* slot : engines().of(*op)) {
      if (!slot->reason.empty() || !slot->engine->unsupported(work->params).empty()) continue;
      SCOPED_TRACE(slot->name + " burst " + std::to_string(burst));
      const std::unique_ptr<Session> session = slot->engine->prepare(*work);
      std::vector<Output> outputs;
      try {
        EXPECT_EQ(verifier.verify(*slot->engine, *session, outputs).compared, work->items.size());
        EXPECT_FALSE(session->path().isa.empty());
        verified = true;
      } catch (const Error& error) {
        ADD_FAILURE() << error.what();
      }
    }
  }
  if (!verified) GTEST_SKIP() << "no engine of " << op->info().name << " here does " << params.str();
}

INSTANTIATE_TEST_SUITE_P(All, Configurations, testing::ValuesIn(cases()), [](const auto& test) {
  std::string name = test.param.op->info().name + "_" + test.param.params.str();
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
});

TEST(Catalog, DescribesEveryOperatorCompletely) {
  for (const Operator* op : operators()) {
    const OperatorInfo& info = op->info();
    SCOPED_TRACE(info.name);
    EXPECT_FALSE(info.summary.empty());
    EXPECT_FALSE(info.definition.empty());
    EXPECT_FALSE(info.equivalence_text.empty());
    EXPECT_FALSE(info.sources.empty());
    EXPECT_FALSE(info.scenarios.empty());
    EXPECT_TRUE(info.primary_metric == "gbps" || info.primary_metric == "mops" || info.primary_metric == "kops")
        << info.primary_metric;
    EXPECT_TRUE(info.primary_metric != "gbps" || info.processes_all_bytes);
    EXPECT_NE(engines().find(info.name, info.reference_engine), nullptr) << "no reference engine";
    for (const Parameter& p : info.parameters) {
      EXPECT_FALSE(p.summary.empty()) << p.name;
      EXPECT_TRUE(p.is_number() || std::find(p.values.begin(), p.values.end(), p.default_value) != p.values.end()) << p.name;
    }
    for (const Params& params : op->configurations()) EXPECT_EQ(op->complete(params), params);
  }
}

}  // namespace
}  // namespace dpubench
