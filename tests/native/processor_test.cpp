// How long a multiplication takes: on processors of the list what its sources say, on others nothing.
#include "measure/processor.hpp"

#include <gtest/gtest.h>

#include "measure/canary.hpp"

namespace dpubench::measure {
namespace {

TEST(Processor, LatenciesAreThoseOfTheSources) {
  struct Case {
    Signature processor;
    double cycles;
    std::string_view name;
  };
  const Case cases[] = {
      {{"GenuineIntel", 6, 0x55}, 3, "Skylake, Cascade Lake or Cooper Lake server"},
      {{"GenuineIntel", 6, 0x8f}, 3, "Sapphire Rapids (Golden Cove)"},
      {{"AuthenticAMD", 0x17, 0x01}, 4, "Zen or Zen+"},  // the first EPYC: one cycle more than its successors
      {{"AuthenticAMD", 0x17, 0x31}, 3, "Zen 2"},
      {{"AuthenticAMD", 0x19, 0x01}, 3, "Zen 3"},
      {{"AuthenticAMD", 0x19, 0x11}, 3, "Zen 4"},
      {{"AuthenticAMD", 0x1a, 0x02}, 3, "Zen 5"},
  };
  for (const Case& c : cases) {
    const MultiplyLatency found = multiply_latency(c.processor);
    EXPECT_EQ(found.cycles, c.cycles) << c.name;
    EXPECT_EQ(found.processor, c.name);
    EXPECT_FALSE(found.source.empty());
    EXPECT_TRUE(found.reason.empty());
  }
}

TEST(Processor, WhatIsNotInTheListHasNoLatencyAndAReason) {
  const Signature unknown[] = {
      {"GenuineIntel", 6, 0x9a},   // Alder Lake: two kinds of cores, 3 and 5 cycles
      {"GenuineIntel", 6, 0x86},   // Tremont: 5 cycles
      {"AuthenticAMD", 15, 0x6b},  // what QEMU shows as qemu64
      {"HygonGenuine", 0x18, 0},   // no vendor of the list
      {"AuthenticAMD", 0x1b, 0},   // not out yet
  };
  for (const Signature& processor : unknown) {
    const MultiplyLatency found = multiply_latency(processor);
    EXPECT_EQ(found.cycles, 0) << processor.vendor << processor.model;
    EXPECT_NE(found.reason.find(processor.vendor + " family " + std::to_string(processor.family)), std::string::npos);
  }
  EXPECT_NE(multiply_latency({}).reason.find("between the cores"), std::string::npos);
}

TEST(Processor, TheCanaryHasTheLatencyOfThisProcessor) {
  EXPECT_EQ(CoreCanary::multiply_cycles(), multiply_latency(signature()).cycles);
#if defined(__x86_64__)
  EXPECT_EQ(signature().vendor.size(), 12U);
#else
  EXPECT_TRUE(signature().vendor.empty());
#endif
}

}  // namespace
}  // namespace dpubench::measure
