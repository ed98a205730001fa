// Counters of cycles and energy: what is refused, what is summed, what the kernel's own counters say, and why there is none.

#include "measure/counters.hpp"

#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <initializer_list>
#include <iostream>
#include <thread>

#include "measure/canary.hpp"
#include "measure/window.hpp"
#include "temporary_directory.hpp"

namespace dpubench::measure {
namespace {

using test::TemporaryDirectory;

// --------------------------------------------------------------------------- cycles

TEST(Cycles, AreCountedOnlyWhereTheCounterRanThroughout) {
  const CycleReading start{1000, 500, 400};
  EXPECT_EQ(cycles_between(start, {4000, 1500, 1400}), 3000U);         // what was missed before is no matter
  EXPECT_EQ(cycles_between(start, {4000, 1500, 1399}), std::nullopt);  // multiplexed for a nanosecond
  EXPECT_EQ(cycles_between(start, {4000, 1500, 400}), std::nullopt);   // did not run at all
  EXPECT_EQ(cycles_between(start, {4000, 500, 400}), std::nullopt);    // no time went by
  EXPECT_EQ(cycles_between(start, {1000, 1500, 1400}), std::nullopt);  // opened, but counts nothing
  EXPECT_EQ(cycles_between(start, {999, 1500, 1400}), std::nullopt);   // fell
}

/// A counter that gives these readings, one after the other.
std::unique_ptr<CycleCounter> scripted(std::initializer_list<CycleReading> readings) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) throw std::runtime_error("no pipe");
  for (const CycleReading& reading : readings) {
    if (write(ends[1], &reading, sizeof reading) != sizeof reading) throw std::runtime_error("pipe is full");
  }
  close(ends[1]);
  return std::make_unique<CycleCounter>(Descriptor(ends[0]), false);
}

TEST(Cycles, AReadingThatFailsIsNone) {
  const auto counter = scripted({{7, 8, 9}});
  const auto reading = counter->read();
  ASSERT_TRUE(reading);
  EXPECT_EQ(reading->cycles, 7U);
  EXPECT_EQ(reading->enabled_ns, 8U);
  EXPECT_EQ(reading->running_ns, 9U);
  EXPECT_EQ(counter->read(), std::nullopt);  // as a counter in error state: end of file
  EXPECT_EQ(CycleCounter(Descriptor(-1), false).read(), std::nullopt);
}

Window window_of(std::vector<std::unique_ptr<CycleCounter>> counters) {
  ThreadTeam team(2, {});
  CoreCanary a;
  CoreCanary b;
  Stepper* const steppers[] = {&a, &b};
  WindowSpec spec;
  spec.min_ms = 0.2;
  spec.threaded_min_ms = 0.2;
  spec.min_bursts = 1;
  return run_window(team, steppers, 8, spec, Clock::instance(), counters);
}

TEST(Cycles, OfAWindowAreThoseOfAllThreads) {
  std::vector<std::unique_ptr<CycleCounter>> counters;
  counters.push_back(scripted({{100, 10, 10}, {1'100, 20, 20}}));
  counters.push_back(scripted({{0, 5, 5}, {30'000, 9, 9}}));
  EXPECT_EQ(window_of(std::move(counters)).core_cycles, 31'000U);
}

TEST(Cycles, OfAWindowAreAbsentWhereOneThreadHasNone) {
  std::vector<std::unique_ptr<CycleCounter>> multiplexed;
  multiplexed.push_back(scripted({{100, 10, 10}, {1'100, 20, 20}}));
  multiplexed.push_back(scripted({{0, 5, 5}, {30'000, 9, 8}}));
  EXPECT_EQ(window_of(std::move(multiplexed)).core_cycles, std::nullopt);
  std::vector<std::unique_ptr<CycleCounter>> broken;
  broken.push_back(scripted({{100, 10, 10}}));
  broken.push_back(scripted({}));
  EXPECT_EQ(window_of(std::move(broken)).core_cycles, std::nullopt);
  EXPECT_EQ(window_of({}).core_cycles, std::nullopt);
}

TEST(Cycles, ReadsWhatTheKernelWrites) {
  // A software counter has the same form as the hardware's and exists in virtual machines too: it counts the thread's
  // nanoseconds.
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.size = sizeof attributes;
  attributes.config = PERF_COUNT_SW_TASK_CLOCK;
  attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  attributes.exclude_kernel = 1;
  const auto fd = static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
  if (fd < 0) GTEST_SKIP() << "perf_event_open: " << std::strerror(errno) << ": no counter of any kind can be opened here";
  const CycleCounter counter(Descriptor(fd), true);
  const auto before = counter.read();
  const std::uint64_t start = Clock::monotonic_raw_ns();
  while (Clock::monotonic_raw_ns() - start < 5'000'000) {
  }
  const auto after = counter.read();
  const std::uint64_t elapsed = Clock::monotonic_raw_ns() - start;
  ASSERT_TRUE(before && after);
  const auto counted = cycles_between(*before, *after);
  ASSERT_TRUE(counted);
  EXPECT_GT(*counted, 0U);
  EXPECT_LE(*counted, elapsed + elapsed / 10);  // a thread has no more time than there was
}

TEST(Cycles, OfThisMachineAreCoreCyclesOrHaveAReason) {
  CounterFault why;
  const auto counter = CycleCounter::open(why);
  if (counter == nullptr) {
    std::cout << "no cycle counter here: " << why.reason << "; " << why.remedy << '\n';
    EXPECT_FALSE(why.reason.empty());
    EXPECT_FALSE(why.remedy.empty());
    ThreadTeam team(2, {});
    EXPECT_TRUE(open_cycle_counters(team).empty());
    return;
  }
  std::cout << "cycle counter: " << (counter->user_mode_only() ? "user mode only" : "user and kernel mode") << '\n';
  CoreCanary canary;
  for (int attempt = 0; attempt < 20; ++attempt) {
    const auto before = counter->read();
    const std::uint64_t steps = canary.step(4096);
    const auto after = counter->read();
    ASSERT_TRUE(before && after);
    const auto cycles = cycles_between(*before, *after);
    if (!cycles) continue;  // others use it just now
    const double each = static_cast<double>(*cycles) / static_cast<double>(steps);
    EXPECT_GT(each, 1);  // a dependent multiplication takes several cycles on every core known, and never tens of them
    EXPECT_LT(each, 20);
    if (CoreCanary::multiply_cycles() != 0) {
      EXPECT_NEAR(each, CoreCanary::multiply_cycles(), 1);
    }
    return;
  }
  FAIL() << "the counter could be opened, but was multiplexed 20 times in a row";
}

TEST(Cycles, EveryErrorHasAReasonAndARemedy) {
  struct Case {
    int error;
    const char* paranoid;
    const char* says;
    const char* remedy;
  };
  for (const Case& c :
       {Case{ENOENT, "1", "offers no cycle counter", "performance monitoring unit"},
        Case{EOPNOTSUPP, "", "offers no cycle counter", "performance monitoring unit"},
        Case{ENOSYS, "", "no perf events", "CONFIG_PERF_EVENTS"}, Case{EBUSY, "1", "another program", "perf"},
        Case{EACCES, "4", "perf_event_paranoid = 4", "kernel.perf_event_paranoid=1"},
        Case{EPERM, "3\n", "perf_event_paranoid = 3", "kernel.perf_event_paranoid=1"},
        Case{EPERM, "2", "forbidden here", "CAP_PERFMON"}, Case{EACCES, "", "forbidden here", "CAP_PERFMON"},
        Case{EACCES, "-1", "forbidden here", "CAP_PERFMON"}, Case{EMFILE, "1", "Too many open files", "perf_event_open(2)"}}) {
    const CounterFault fault = cycle_counter_fault(c.error, c.paranoid);
    EXPECT_NE(fault.reason.find(c.says), std::string::npos) << fault.reason;
    EXPECT_NE(fault.remedy.find(c.remedy), std::string::npos) << fault.remedy;
  }
}

// --------------------------------------------------------------------------- energy

/// A made-up tree under which the kernel's would be.
class Energy : public testing::Test {
 protected:
  void zone(const std::string& folder, const std::string& name, const std::string& energy,
            const std::string& range = "262143328850") {
    tree.write("class/powercap/" + folder + "/name", name + "\n");
    tree.write("class/powercap/" + folder + "/energy_uj", energy + "\n");
    tree.write("class/powercap/" + folder + "/max_energy_range_uj", range + "\n");
  }
  void sensor(const std::string& chip, const std::string& name, const std::string& input, const std::string& value,
              const std::string& label = "") {
    tree.write("class/hwmon/" + chip + "/name", name + "\n");
    tree.write("class/hwmon/" + chip + "/" + input + "_input", value + "\n");
    if (!label.empty()) tree.write("class/hwmon/" + chip + "/" + input + "_label", label + "\n");
  }
  [[nodiscard]] std::string reason() const { return EnergyMeter(tree.path(), std::chrono::milliseconds(1)).fault().reason; }

  TemporaryDirectory tree;
};

TEST_F(Energy, OfAllPackagesIsSummedAndOfNothingElse) {
  zone("intel-rapl:0", "package-0", "1000");
  zone("intel-rapl:0:0", "core", "5");  // a part of package-0
  zone("intel-rapl:0:1", "dram", "6");  // beside the package
  zone("intel-rapl:1", "package-1", "20");
  zone("intel-rapl:2", "psys", "90000");           // the whole platform, packages and all
  zone("intel-rapl-mmio:0", "package-0", "1000");  // the same counter by another way
  tree.write("class/powercap/intel-rapl/enabled", "1\n");
  const EnergyMeter meter(tree.path());
  ASSERT_TRUE(meter.available());
  EXPECT_EQ(meter.fault().reason, "");
  EXPECT_EQ(meter.domains(), (std::vector<std::string>{"RAPL package-0", "RAPL package-1"}));
  const auto before = meter.read();
  EXPECT_EQ(before, (std::vector<std::uint64_t>{1000, 20}));
  zone("intel-rapl:0", "package-0", "1750");
  zone("intel-rapl:1", "package-1", "120");
  EXPECT_EQ(meter.uj_between(before, meter.read()), 850);
  EXPECT_EQ(meter.uj_between(before, before), 0);  // it may not have stepped in a short window
}

TEST_F(Energy, GoesOnWhereACounterWrapsAround) {
  zone("intel-rapl:0", "package-0", "999000", "1000000");
  zone("intel-rapl:1", "package-1", "10", "1000000");
  const EnergyMeter meter(tree.path());
  const auto before = meter.read();
  zone("intel-rapl:0", "package-0", "500", "1000000");
  zone("intel-rapl:1", "package-1", "20", "1000000");
  EXPECT_EQ(meter.uj_between(before, meter.read()), 1000 + 500 + 10);
}

TEST_F(Energy, IsNothingWhereACounterFallsWithoutAKnownRange) {
  zone("intel-rapl:0", "package-0", "999000", "");
  const EnergyMeter meter(tree.path());
  const auto before = meter.read();
  zone("intel-rapl:0", "package-0", "500", "");
  EXPECT_EQ(meter.uj_between(before, meter.read()), std::nullopt);
}

TEST_F(Energy, IsNothingWhereAReadingFails) {
  zone("intel-rapl:0", "package-0", "1000");
  const EnergyMeter meter(tree.path());
  const auto before = meter.read();
  zone("intel-rapl:0", "package-0", "1000 and more");
  EXPECT_TRUE(meter.read().empty());
  EXPECT_EQ(meter.uj_between(before, meter.read()), std::nullopt);
  EXPECT_EQ(meter.uj_between(meter.read(), before), std::nullopt);
}

TEST_F(Energy, OfOnePackageOnlyWouldBeTakenForAll) {
  zone("intel-rapl:0", "package-0", "1000");
  // A folder in place of the file: readable for nobody, not even for root, who runs these tests in a container.
  std::filesystem::create_directories(tree.path() / "class/powercap/intel-rapl:1/energy_uj");
  tree.write("class/powercap/intel-rapl:1/name", "package-1\n");
  const EnergyMeter meter(tree.path());
  EXPECT_FALSE(meter.available());
  EXPECT_TRUE(meter.read().empty());
  EXPECT_EQ(meter.uj_between({}, {}), std::nullopt);
  EXPECT_EQ(meter.fault().reason, "RAPL counters are there but cannot be read (package-1)");
  EXPECT_NE(meter.fault().remedy.find("chmod a+r"), std::string::npos);
}

TEST_F(Energy, OfHwmonIsUsedWhereThereIsNoPackage) {
  sensor("hwmon0", "coretemp", "temp1", "40000");
  sensor("hwmon1", "amd_energy", "energy1", "11", "Ecore000");
  sensor("hwmon1", "amd_energy", "energy2", "12", "Ecore001");
  sensor("hwmon1", "amd_energy", "energy3", "1000", "Esocket0");
  std::atomic<bool> stop = false;
  std::thread counting([&] {
    // In place: a file that is emptied first could be read as one without a number.
    const auto file = tree.path() / "class/hwmon/hwmon1/energy3_input";
    for (int uj = 1001; !stop; ++uj) {
      std::fstream(file, std::ios::in | std::ios::out) << uj;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  const EnergyMeter meter(tree.path(), std::chrono::seconds(30));
  stop = true;
  counting.join();
  ASSERT_TRUE(meter.available()) << meter.fault().reason;
  EXPECT_EQ(meter.domains(), std::vector<std::string>{"hwmon amd_energy Esocket0"});
  sensor("hwmon1", "amd_energy", "energy3", "5000", "Esocket0");
  const auto before = meter.read();
  sensor("hwmon1", "amd_energy", "energy3", "5700", "Esocket0");
  EXPECT_EQ(meter.uj_between(before, meter.read()), 700);
  zone("intel-rapl:0", "package-0", "1000");
  EXPECT_EQ(EnergyMeter(tree.path()).domains(), std::vector<std::string>{"RAPL package-0"});  // never both: they may be the same
}

TEST_F(Energy, OfASlowCounterIsRefused) {
  sensor("hwmon0", "ibmaem", "energy1", "1000");
  EXPECT_EQ(reason(), "hwmon ibmaem advances less often than every 1 ms: a window is shorter");
}

TEST_F(Energy, ThatMayOverlapIsNotSummed) {
  sensor("hwmon0", "scmi_sensors", "energy1", "1000", "big");
  sensor("hwmon0", "scmi_sensors", "energy2", "9000", "system");
  EXPECT_NE(reason().find("(scmi_sensors), and one may include another"), std::string::npos) << reason();
  std::filesystem::remove(tree.path() / "class/hwmon/hwmon0/energy2_input");
  sensor("hwmon1", "ibmaem", "energy1", "1000");
  EXPECT_NE(reason().find("(ibmaem, scmi_sensors), and one may include another"), std::string::npos) << reason();
}

TEST_F(Energy, SensorsOfPowerAreNamedAndNotUsed) {
  sensor("hwmon0", "power_meter", "power1", "55000000");
  sensor("hwmon1", "ina226", "power1", "9000000");
  tree.write("class/ipmi/ipmi0/dev", "240:0\n");
  EXPECT_EQ(reason(), "the power sensors (IPMI, hwmon ina226, hwmon power_meter) average over more than a window");
}

TEST_F(Energy, OfAGraphicsCardIsNone) {
  sensor("hwmon0", "i915", "energy1", "1000");
  EXPECT_EQ(reason(), "no energy counter of the processor packages (RAPL in powercap, hwmon)");
}

TEST_F(Energy, AbsentHasAReasonAndARemedy) {
  const EnergyMeter nothing(tree.path());
  EXPECT_FALSE(nothing.available());
  EXPECT_EQ(nothing.fault().reason, "no energy counter of the processor packages (RAPL in powercap, hwmon)");
  EXPECT_FALSE(nothing.fault().remedy.empty());
}

TEST(EnergyHere, IsCountedOrHasAReason) {
  const EnergyMeter meter;
  if (!meter.available()) {
    std::cout << "no energy here: " << meter.fault().reason << "; " << meter.fault().remedy << '\n';
    EXPECT_FALSE(meter.fault().reason.empty());
    EXPECT_FALSE(meter.fault().remedy.empty());
    return;
  }
  for (const std::string& domain : meter.domains()) std::cout << "energy: " << domain << '\n';
  const auto before = meter.read();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const auto used = meter.uj_between(before, meter.read());
  ASSERT_TRUE(used);
  EXPECT_GT(*used, 0);    // even an idle package takes some
  EXPECT_LT(*used, 1e9);  // and none takes a kilojoule in a moment
}

}  // namespace
}  // namespace dpubench::measure
