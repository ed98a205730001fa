#include "measure/memory_traffic.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <map>
#include <string>
#include <vector>

#include "native/temporary_directory.hpp"

namespace dpubench::measure::test {
namespace {

std::string format_of(const std::string& field) {
  const std::map<std::string, std::string> places{{"event", "config:0-7"},
                                                  {"umask", "config:8-15"},
                                                  {"edge", "config:18"},
                                                  {"far", "config1:0-7"},
                                                  {"split", "config:0-7,32-35"}};
  const auto found = places.find(field);
  return found == places.end() ? "" : found->second;
}

TEST(MemoryTraffic, PutsAnEventTogether) {
  EXPECT_EQ(event_config("event=0x04,umask=0x0f", format_of), 0x0F04U);
  EXPECT_EQ(event_config("event=0xff,umask=0x20,edge", format_of), 0x420FFU);
  for (const char* unknown : {"event=1,ldlat=3", "far=1", "split=1"}) EXPECT_FALSE(event_config(unknown, format_of)) << unknown;
}

TEST(MemoryTraffic, SaysWhyThereIsNone) {
  const dpubench::test::TemporaryDirectory folder;
  EXPECT_NE(MemoryMeter(folder.path()).fault().reason.find("lists no memory controllers"), std::string::npos);
  (void)folder.write("bus/event_source/devices/uncore_imc/type", "9\n");
  const MemoryMeter meter(folder.path());
  EXPECT_FALSE(meter.available());
  EXPECT_NE(meter.fault().reason.find("have no events"), std::string::npos);
  EXPECT_FALSE(meter.bytes_between(meter.read(), meter.read()));
}

TEST(MemoryTraffic, OpensEachControllerInEachSocket) {
  const dpubench::test::TemporaryDirectory folder;
  for (const char* pmu : {"uncore_imc_0", "uncore_imc_1", "uncore_cha_0"}) {
    const std::string base = std::string("bus/event_source/devices/") + pmu + "/";
    (void)folder.write(base + "type", pmu[11] == '1' ? "21\n" : "20\n");
    (void)folder.write(base + "cpumask", "0,24\n");
    (void)folder.write(base + "format/event", "config:0-7\n");
    (void)folder.write(base + "format/umask", "config:8-15\n");
    for (const char* event : {"cas_count_read", "cas_count_write"}) {
      (void)folder.write(base + "events/" + event, "event=0x04,umask=0x03\n");
      (void)folder.write(base + "events/" + event + ".unit", "MiB\n");
      (void)folder.write(base + "events/" + event + ".scale", "6.103515625e-5\n");
    }
  }
  std::vector<std::pair<std::uint32_t, int>> opened;
  const MemoryMeter meter(folder.path(), [&](std::uint32_t type, std::uint64_t config, int cpu) {
    EXPECT_EQ(config, 0x0304U);
    opened.emplace_back(type, cpu);
    return opened.size() == 8 ? -EACCES : 1'000'000;  // no descriptor: nothing is read here
  });
  // Two controllers, two events, two sockets; the last one may not be opened, and then none is used.
  EXPECT_EQ(opened.size(), 8U);
  EXPECT_EQ(opened.front(), std::pair(20U, 0));
  EXPECT_EQ(opened.back(), std::pair(21U, 24));
  EXPECT_FALSE(meter.available());
  EXPECT_FALSE(meter.fault().reason.empty());
}

}  // namespace
}  // namespace dpubench::measure::test
