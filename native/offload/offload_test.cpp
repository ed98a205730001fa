#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "native/temporary_directory.hpp"
#include "offload/compute.hpp"
#include "offload/data.hpp"
#include "offload/job.hpp"
#include "offload/plan.hpp"
#include "offload/session.hpp"
#include "offload/testing.hpp"
#include "offload/watch.hpp"

namespace dpubench::offload::test {
namespace {

using nlohmann::json;

template <class Call>
std::string fault_of(Call call) {
  try {
    call();
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

void expect_within(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) EXPECT_NE(text.find(part), std::string::npos) << part << "\nnot in\n" << text;
}

OffloadJob job_of(std::uint32_t hosts, std::uint32_t workers, std::uint64_t largest = 8192) {
  OffloadJob job;
  job.hosts = hosts;
  job.workers = workers;
  job.largest_bytes = largest;
  return job;
}

TrialSpec trial_of(Pattern pattern, std::uint64_t bytes, Path path = Path::kStaged, Assignment assignment = Assignment::kBlock) {
  TrialSpec spec;
  spec.pattern = pattern;
  spec.path = path;
  spec.assignment = assignment;
  spec.bytes = bytes;
  spec.iterations = 2;
  return spec;
}

TEST(OffloadJob, NamesEachFaultyField) {
  const OffloadJob job = parse_job(
      R"({"schema": "dpubench.offload-job/1", "hosts": 4, "workers": 2, "emulated": "allow", "cpus": {"host": [0, 1], "worker": [2]},
          "attached": {"dpu1": "node1"}, "largest_bytes": 67108864})");
  EXPECT_TRUE(job.allow_emulated);
  EXPECT_EQ(job.host_cpus, (std::vector{0, 1}));
  EXPECT_EQ(job.attached.at("dpu1"), "node1");
  const std::string fault = fault_of([] {
    parse_job(R"({"schema": "dpubench.offload-job/2", "hosts": 2, "workers": 3, "largest_bytes": 67108865, "emulated": "perhaps",
                  "limit_s": 0, "cheese": 1})");
  });
  expect_within(fault, {"/schema", "/workers", "must be at most the number of hosts, 2", "/largest_bytes", "/emulated",
                        "refuse, allow", "/limit_s", "/cheese"});
  expect_within(fault_of([] { parse_job(R"({"schema": "dpubench.offload-job/1", "hosts": 2, "workers": 0})"); }),
                {"/workers", "from 1 to 65536"});
}

TEST(OffloadJob, ReadsCommands) {
  const auto spec = parse_command(R"({"command": "trial", "pattern": "all-to-all", "path": "direct", "assignment": "topology",
                                      "bytes": 1, "work": "memory", "iterations": 7, "compute_ratio": 0.5})");
  ASSERT_TRUE(spec.has_value());
  EXPECT_EQ(spec->pattern, Pattern::kAllToAll);
  EXPECT_EQ(spec->path, Path::kDirect);
  EXPECT_EQ(spec->assignment, Assignment::kTopology);
  EXPECT_EQ(spec->work, WorkKind::kMemory);
  EXPECT_FALSE(parse_command(R"({"end": true})").has_value());
  expect_within(fault_of([] { (void)parse_command(R"({"command": "trial", "pattern": "smoke", "bytes": 0})"); }),
                {"/pattern", "broadcast, scatter", "/bytes", "from 1 to 67108864"});
  expect_within(fault_of([] { (void)parse_command(R"({"hurry": 1})"); }), {"a command is"});
}

TEST(OffloadPlan, AssignsHostsToWorkers) {
  const std::vector<std::string> hosts{"a", "a", "b", "b", "c"};
  using Workers = std::vector<std::size_t>;
  EXPECT_EQ(assign(Assignment::kCyclic, hosts, {"a", "b"}), (Workers{0, 1, 0, 1, 0}));
  EXPECT_EQ(assign(Assignment::kBlock, hosts, {"a", "b"}), (Workers{0, 0, 0, 1, 1}));
  // Hosts of a node without a worker go to the one with the least to do.
  EXPECT_EQ(assign(Assignment::kTopology, hosts, {"b", "a"}), (Workers{1, 1, 0, 0, 0}));
  EXPECT_EQ(assign(Assignment::kTopology, {"a", "a", "c", "a"}, {"a", "b"}), (Workers{0, 0, 1, 0}));
}

TEST(OffloadPlan, CountsBytesByWhoseMemoryItIs) {
  const Roster roster{{0, 1, 2}, {3}};
  const Layout layout(3, 1, 1000);
  const std::vector<std::size_t> worker_of{0, 0, 0};
  const auto traffic = [&](Pattern pattern, Path path) {
    const MemoryTraffic found = traffic_of(plan_offloaded(pattern, path, roster, layout, worker_of, 1000), roster);
    return std::pair(found.host, found.worker);
  };
  // One block is read from the root, and written to three hosts; the worker writes it once, and reads it three times.
  EXPECT_EQ(traffic(Pattern::kBroadcast, Path::kStaged), std::pair(4000UL, 4000UL));
  EXPECT_EQ(traffic(Pattern::kBroadcast, Path::kDirect), std::pair(6000UL, 0UL));
  EXPECT_EQ(traffic(Pattern::kGather, Path::kStaged), std::pair(6000UL, 6000UL));
  // Three blocks in, two additions of three accesses, one block out.
  EXPECT_EQ(traffic(Pattern::kReduce, Path::kStaged), std::pair(4000UL, 3000UL + 6000UL + 1000UL));
  const MemoryTraffic reference = traffic_of(plan_reference(Pattern::kAllgather, roster, layout, 1000), roster);
  EXPECT_EQ(reference.host, 18000U);
  EXPECT_EQ(reference.worker, 0U);
  EXPECT_EQ(communicated_bytes(Pattern::kAllgather, 3, 1000), 9000U);
  EXPECT_EQ(communicated_bytes(Pattern::kReduce, 3, 1000), 3000U);
  EXPECT_EQ(communicated_bytes(Pattern::kAllreduce, 3, 1000), 6000U);
}

TEST(OffloadPlan, KeepsInsideTheWindows) {
  for (const std::size_t workers : {1U, 2U, 5U}) {
    Roster roster;
    for (int r = 0; r < 5; ++r) roster.hosts.push_back(r);
    for (std::size_t w = 0; w < workers; ++w) roster.workers.push_back(static_cast<int>(5 + w));
    for (std::size_t p = 0; p < kPatterns.size(); ++p) {
      const auto pattern = static_cast<Pattern>(p);
      for (const std::uint64_t bytes : {1U, 63U, 1000U}) {
        const Layout layout(5, workers, 1000);
        const auto worker_of =
            assign(Assignment::kCyclic, std::vector<std::string>(5, "n"), std::vector<std::string>(workers, "n"));
        const Plan plan = plan_offloaded(pattern, Path::kStaged, roster, layout, worker_of, bytes);
        for (std::size_t rank = 0; rank < plan.scripts.size(); ++rank) {
          for (const Round& round : plan.scripts[rank]) {
            for (const auto& batch : round.batches) {
              for (const Step& step : batch) {
                for (const auto* copies : {&step.in, &step.out}) {
                  for (const Copy& copy : *copies) {
                    const Role role = roster.is_host(copy.rank) ? Role::kHost : Role::kWorker;
                    EXPECT_LE(copy.there + copy.bytes, layout.window(role) - Layout::kGuard) << kPatterns.at(p);
                    EXPECT_LE(copy.here + copy.bytes, layout.window(Role::kWorker) - Layout::kGuard) << kPatterns.at(p);
                  }
                }
              }
            }
          }
        }
      }
    }
  }
}

TEST(OffloadData, FindsEveryByteThatDidNotCome) {
  Data data(7, 2);
  data.next_epoch();
  for (const Pattern pattern : {Pattern::kAllgather, Pattern::kReduce}) {
    const auto expected = deliveries(pattern, 2, 0, 5000);
    std::vector<std::byte> output(10000 + Layout::kGuard);
    poison(data, expected, output.data(), 10000);
    const std::uint64_t all = pattern == Pattern::kReduce ? 5000 : 10000;
    EXPECT_EQ(check(data, expected, output.data(), 10000).wrong, all);
    for (const Delivery& one : expected) data.write(one, 0, output.data() + one.output, one.bytes);
    EXPECT_EQ(check(data, expected, output.data(), 10000).right, all);
    EXPECT_EQ(check(data, expected, output.data(), 10000).wrong, 0U);
    output[4321] ^= std::byte{1};
    output.back() = std::byte{0};
    const Checked checked = check(data, expected, output.data(), 10000);
    EXPECT_EQ(checked.wrong, 2U);  // a byte of the data, and a mark behind them
    expect_within(checked.first, {"byte 4321"});
  }
}

TEST(OffloadData, EachEpochChangesEachByte) {
  Data data(7, 1);
  std::vector<std::byte> before(300);
  std::vector<std::byte> after(300);
  for (int epoch = 0; epoch < 300; ++epoch) {
    data.write(0, 3, before.data(), before.size());
    data.next_epoch();
    data.write(0, 3, after.data(), after.size());
    for (std::size_t i = 0; i < before.size(); ++i) ASSERT_NE(before[i], after[i]);
  }
  // Parts are the same bytes as the whole.
  std::vector<std::byte> part(50);
  data.write(0, 3 + 111, part.data(), part.size());
  EXPECT_TRUE(std::equal(part.begin(), part.end(), after.begin() + 111));
}

TEST(OffloadCompute, IsCheckedWordByWord) {
  Compute compute(4 * Compute::kUnitBytes);
  for (const std::uint64_t units : {0U, 1U, 3U, 4U, 17U}) {
    compute.run(units);
    EXPECT_EQ(compute.check(), "");
  }
  compute.block(2)[63] ^= 1U;
  expect_within(compute.check(), {"the computation is wrong", "word 191"});
}

struct Setting {
  std::uint32_t hosts;
  std::uint32_t workers;
};

class OffloadSession : public testing::TestWithParam<Setting> {};

TEST_P(OffloadSession, MovesEveryByteOfEveryCombination) {
  const auto [hosts, workers] = GetParam();
  std::vector<json> trials;
  json opened;
  const std::string error = run_ranks(job_of(hosts, workers, 4099), {}, [&, workers = workers](int rank, Session& session) {
    if (rank == 0) opened = session.opened();
    for (std::size_t p = 0; p < kPatterns.size(); ++p) {
      for (std::size_t path = 0; path < kPaths.size(); ++path) {
        if (!impossible(static_cast<Pattern>(p), static_cast<Path>(path)).empty()) continue;
        // With one worker all assignments are the same.
        for (std::size_t a = 0; a < (workers == 1 ? 1 : kAssignments.size()); ++a) {
          for (const std::uint64_t bytes : {1U, 4099U}) {
            json told =
                session.trial(trial_of(static_cast<Pattern>(p), bytes, static_cast<Path>(path), static_cast<Assignment>(a)));
            if (rank == 0) trials.push_back(std::move(told));
          }
        }
      }
    }
  });
  ASSERT_EQ(error, "");
  EXPECT_EQ(opened["one_sided"]["emulated"], false);
  EXPECT_EQ(trials.size(), 13U * (workers == 1 ? 1U : 3U) * 2U);
  for (const json& trial : trials) {
    const auto pattern = static_cast<Pattern>(std::find(kPatterns.begin(), kPatterns.end(), trial["pattern"].get<std::string>()) -
                                              kPatterns.begin());
    std::uint64_t delivered = 0;
    for (std::size_t h = 0; h < hosts; ++h) {
      for (const Delivery& one : deliveries(pattern, hosts, h, trial["message_bytes"].get<std::uint64_t>()))
        delivered += one.bytes;
    }
    // Five phases move data.
    EXPECT_EQ(trial["verified_bytes"], 5 * delivered) << trial.dump();
    EXPECT_EQ(trial["arrived_during_compute_bytes"], delivered) << trial.dump();
    for (const char* phase : {"reference", "communication", "compute", "overlapped", "mpi_blocking", "mpi_nonblocking"}) {
      EXPECT_EQ(trial["phases"][phase]["ns"].size(), 2U) << phase;
      for (const json& ns : trial["phases"][phase]["ns"]) EXPECT_GT(ns.get<double>(), 0) << phase;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, OffloadSession, testing::Values(Setting{1, 1}, Setting{2, 1}, Setting{3, 2}, Setting{3, 3}),
                         [](const auto& one) {
                           return std::to_string(one.param.hosts) + "Hosts" + std::to_string(one.param.workers) + "Workers";
                         });

/// A transport that spoils what workers put to hosts in one phase.
class Spoiled final : public ThreadTransport {
 public:
  enum class How : std::uint8_t { kFlip, kDrop, kShift, kLate };
  Spoiled(World& world, How how, const std::string& phase) : ThreadTransport(world), how_(how), phase_(phase) {}
  void put(int rank, std::uint64_t there, const std::byte* from, std::size_t bytes) override {
    // Flags are 8 bytes; the tests' messages are longer.
    if (phase_ != spoiled_phase || bytes == 8) return ThreadTransport::put(rank, there, from, bytes);
    if (how_ == How::kDrop) return;
    if (how_ == How::kShift) return ThreadTransport::put(rank, there + 1, from, bytes);
    std::vector<std::byte> changed(from, from + bytes);
    changed[bytes / 2] ^= std::byte{0x10};
    ThreadTransport::put(rank, there, changed.data(), bytes);
  }
  std::string spoiled_phase;

 private:
  How how_;
  const std::string& phase_;
};

TEST(OffloadFaults, APlantedCorruptionIsFound) {
  for (const auto how : {Spoiled::How::kFlip, Spoiled::How::kDrop, Spoiled::How::kShift}) {
    for (const char* phase : {"communication", "overlapped"}) {
      for (const Pattern pattern : {Pattern::kBroadcast, Pattern::kAllgather, Pattern::kAllreduce}) {
        std::string after;
        const std::string error = run_ranks(
            job_of(2, 1),
            [&](int rank, World& world, const Rank& parts) {
              if (rank < 2) return;
              auto spoiled = std::make_unique<Spoiled>(world, how, *parts.phase);
              spoiled->spoiled_phase = phase;
              *parts.transport = std::move(spoiled);
            },
            [&](int rank, Session& session) {
              const std::string fault = fault_of([&] { session.trial(trial_of(pattern, 1000)); });
              // All ranks know it, and can go on: the reference of the next trial is right again.
              if (rank == 0) after = fault;
            });
        EXPECT_EQ(error, "");
        expect_within(after, {std::string("phase ") + phase, "wrong bytes: byte "});
      }
    }
  }
}

/// A transport whose gets bring nothing, so that a worker sends what its memory holds from the phase before.
class Forgetful final : public ThreadTransport {
 public:
  Forgetful(World& world, const std::string& phase) : ThreadTransport(world), phase_(phase) {}
  Ticket get(int rank, std::uint64_t there, std::byte* into, std::size_t bytes) override {
    return phase_ == "overlapped" ? nullptr : ThreadTransport::get(rank, there, into, bytes);
  }

 private:
  const std::string& phase_;
};

TEST(OffloadFaults, BytesOfTheLastPhaseAreFound) {
  for (const std::uint64_t bytes : {1U, 100U}) {
    std::string found;
    const std::string error = run_ranks(
        job_of(2, 1),
        [](int rank, World& world, const Rank& parts) {
          if (rank == 2) *parts.transport = std::make_unique<Forgetful>(world, *parts.phase);
        },
        [&](int rank, Session& session) {
          const std::string fault = fault_of([&] { session.trial(trial_of(Pattern::kGather, bytes)); });
          if (rank == 0) found = fault;
        });
    EXPECT_EQ(error, "");
    expect_within(found, {"phase overlapped", "host 0 has " + std::to_string(2 * bytes) + " wrong bytes"});
  }
}

TEST(OffloadFaults, EmulatedTransfersAreRefusedOrLabelled) {
  const auto emulate = [](int /*rank*/, World& /*world*/, const Rank& parts) { (*parts.transport)->emulates_puts = true; };
  OffloadJob job = job_of(2, 1);
  job.proof_limit_s = 0.3;
  expect_within(run_ranks(job, emulate, [](int, Session&) { FAIL(); }),
                {"puts do not complete while hosts compute", "emulated", "allow"});
  job.allow_emulated = true;
  json opened;
  json trial;
  std::string direct;
  const std::string error = run_ranks(job, emulate, [&](int rank, Session& session) {
    const json told = session.trial(trial_of(Pattern::kAllgather, 5000));
    const std::string fault = fault_of([&] { session.trial(trial_of(Pattern::kBroadcast, 1, Path::kDirect)); });
    if (rank != 0) return;
    opened = session.opened();
    trial = told;
    direct = fault;
  });
  EXPECT_EQ(error, "");
  EXPECT_EQ(opened["one_sided"]["emulated"], true);
  EXPECT_EQ(opened["one_sided"]["put"], false);
  EXPECT_EQ(trial["arrived_during_compute_bytes"], 0);
  EXPECT_EQ(trial["complete_at_compute_end"], 0.0);
  EXPECT_EQ(trial["verified_bytes"], 5 * 2 * 10000);
  expect_within(direct, {"/path: direct needs memory of hosts that workers can map"});
}

TEST(OffloadFaults, EmulatedGetsAreFoundToo) {
  OffloadJob job = job_of(1, 1);
  job.proof_limit_s = 0.3;
  expect_within(run_ranks(
                    job, [](int /*rank*/, World& /*world*/, const Rank& parts) { (*parts.transport)->emulates_gets = true; },
                    [](int, Session&) { FAIL(); }),
                {"gets do not complete while hosts compute"});
}

TEST(OffloadFaults, RolesMustFitTheJobAndTheLauncher) {
  const auto nothing = [](int, Session&) { FAIL(); };
  expect_within(run_ranks(
                    job_of(2, 1), [](int, World&, const Rank& parts) { *parts.role = Role::kHost; }, nothing),
                {"3 ranks with --role host and 0 with --role worker", "hosts 2 and workers 1"});
  expect_within(run_ranks(
                    job_of(1, 1),
                    [](int rank, World&, const Rank& parts) { *parts.role = rank == 0 ? Role::kWorker : Role::kHost; }, nothing),
                {"rank 0 has --role worker"});
  expect_within(
      run_ranks(
          job_of(2, 1), [](int rank, World&, const Rank& parts) { parts.wire->block_number = rank == 0 ? 0 : 1; }, nothing),
      {"ranks 1 and 2 are of one block", "MPI_APPNUM 1", "host and worker"});
  // Launchers that number no blocks give all ranks the same number.
  EXPECT_EQ(run_ranks(
                job_of(2, 1), [](int, World&, const Rank& parts) { parts.wire->block_number = 0; }, [](int, Session&) {}),
            "");
}

TEST(OffloadFaults, CpusThatAreNotThereAreNamed) {
  OffloadJob job = job_of(1, 1);
  job.worker_cpus = {1000};
  expect_within(run_ranks(job, {}, [](int, Session&) { FAIL(); }), {"rank 1: cannot run on CPU 1000", "cpus/worker"});
}

TEST(OffloadFaults, TooMuchMemoryIsRefused) {
  const std::string error = run_ranks(job_of(1, 1, std::uint64_t{1} << 46), {}, [](int, Session&) { FAIL(); });
  expect_within(error, {"the windows of the ranks on node here take", "lower largest_bytes"});
}

TEST(OffloadFaults, ATrialThatIsTooLargeIsRefused) {
  std::string found;
  EXPECT_EQ(run_ranks(job_of(1, 1, 100), {},
                      [&](int rank, Session& session) {
                        const std::string fault = fault_of([&] { session.trial(trial_of(Pattern::kGather, 101)); });
                        if (rank == 0) found = fault;
                      }),
            "");
  expect_within(found, {"/bytes: 101 is more than the job's largest_bytes, 100"});
}

TEST(OffloadSessionWork, MemoryBoundWorkCountsItsBytes) {
  json trial;
  const std::string error = run_ranks(job_of(1, 1), {}, [&](int rank, Session& session) {
    TrialSpec spec = trial_of(Pattern::kBroadcast, 4096);
    spec.work = WorkKind::kMemory;
    spec.iterations = 0;
    spec.window_ms = 0;
    const json told = session.trial(spec);
    if (rank == 0) trial = told;
  });
  EXPECT_EQ(error, "");
  EXPECT_EQ(trial["iterations"], 3);  // the least of a calibration
  const auto computed = trial["compute_units"].get<std::uint64_t>() * 2 * Compute::kUnitBytes;
  EXPECT_EQ(trial["phases"]["compute"]["host_memory"], computed);
  EXPECT_EQ(trial["bytes"]["host_memory"], 2 * 4096 + computed);
  EXPECT_EQ(trial["bytes"]["worker_memory"], 2 * 4096);
  EXPECT_EQ(trial["bytes"]["communicated"], 4096);
}

TEST(OffloadSessionWork, CountersOfNodesTellRolesApartWhereNodesDo) {
  // A counter that moved by 1,000 counts of 64 bytes with each reading, in a file instead of a kernel.
  const dpubench::test::TemporaryDirectory folder;
  const std::string pmu = "bus/event_source/devices/uncore_imc_0/";
  for (const auto& [name, text] :
       std::initializer_list<std::pair<const char*, const char*>>{{"type", "18\n"},
                                                                  {"cpumask", "0\n"},
                                                                  {"format/event", "config:0-7\n"},
                                                                  {"events/cas_count_read", "event=0x04\n"},
                                                                  {"events/cas_count_read.unit", "MiB\n"},
                                                                  {"events/cas_count_read.scale", "6.103515625e-5\n"}}) {
    (void)folder.write(pmu + name, text);
  }
  std::string readings;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const std::array<std::uint64_t, 3> reading{1000 * i, i, i};  // counts, enabled, running
    readings.append(reinterpret_cast<const char*>(reading.data()), sizeof reading);
  }
  const std::string counter = folder.write("counter", readings);
  for (const bool apart : {true, false}) {
    json opened;
    json trial;
    const std::string error = run_ranks(
        job_of(2, 1),
        [&](int rank, World& /*world*/, const Rank& parts) {
          if (rank == 2 && apart) parts.wire->node_name = "device";
          *parts.meter = std::make_unique<measure::MemoryMeter>(
              folder.path(), [&](std::uint32_t, std::uint64_t, int) { return ::open(counter.c_str(), O_RDONLY); });
        },
        [&](int rank, Session& session) {
          const json told = session.trial(trial_of(Pattern::kGather, 4096));
          if (rank == 0) opened = session.opened(), trial = told;
        });
    EXPECT_EQ(error, "");
    EXPECT_EQ(opened["memory_counters"]["host"], apart);
    EXPECT_EQ(trial["bytes"]["origin"], apart ? "counted" : "algorithm");
    // One reading before two iterations, and one behind, by one rank of each node.
    EXPECT_EQ(trial["bytes"]["host_memory"], apart ? 64000 / 2 : 4 * 4096);
    EXPECT_EQ(trial["bytes"]["worker_memory"], apart ? 64000 / 2 : 4 * 4096);
    EXPECT_EQ(trial["phases"]["mpi_blocking"].contains("counted_host_memory"), apart);
    if (!apart) expect_within(opened["memory_counters"]["reason"], {"hosts and workers share node here"});
  }
}

TEST(OffloadWatchDeathTest, NamesThePhaseThatTakesTooLong) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        protocol::EventWriter events(stderr);
        Watch watch(events, -1);
        watch.begin("overlapped", 0.2);
        while (true) std::this_thread::yield();
      },
      testing::ExitedWithCode(1), "\"message\":\"did not end within 0.2 s.*\"phase\":\"overlapped\"");
}

}  // namespace
}  // namespace dpubench::offload::test
