// Tests the real program: jobs and commands on its standard input, packets over a memif link to this process.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <rte_mbuf.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <thread>

#include "datapath/frame/trailer.hpp"
#include "datapath/ports/port.hpp"
#include "datapath/test_memory.hpp"
#include "native/emulator.hpp"
#include "native/temporary_directory.hpp"
#include "operators/support/testing/built_engines.hpp"

namespace dpubench::datapath {
namespace {

using nlohmann::json;
using test::TemporaryDirectory;
using Time = std::chrono::steady_clock;

constexpr auto kPatience = std::chrono::seconds(60);

/// A running dpubench-server with its pipes. The destructor kills it if it has not ended.
class Program {
 public:
  Program() {
    std::vector<std::string> words = dpubench::test::emulator();
    words.push_back((test::build_folder("DPUBENCH_ENGINE_DIR").parent_path() / "dpubench-server").string());
    std::array<int, 2> in;
    std::array<int, 2> out;
    EXPECT_EQ(pipe2(in.data(), O_CLOEXEC), 0);
    EXPECT_EQ(pipe2(out.data(), O_CLOEXEC), 0);
    pid_ = fork();
    if (pid_ == 0) {
      dup2(in[0], STDIN_FILENO);
      dup2(out[1], STDOUT_FILENO);
      std::vector<char*> arguments;
      for (std::string& word : words) arguments.push_back(word.data());
      arguments.push_back(nullptr);
      execvp(arguments[0], arguments.data());
      _exit(127);
    }
    close(in[0]);
    close(out[1]);
    in_ = in[1];
    out_ = out[0];
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() {
    end_input();
    close(out_);
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

  void say(const json& line) {
    const std::string text = line.dump() + '\n';
    ASSERT_EQ(write(in_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void end_input() {
    if (in_ >= 0) close(in_);
    in_ = -1;
  }
  void signal(int number) const { kill(pid_, number); }
  /// Return the next event of this kind, or null when the output ends before, or nothing comes in time.
  json hear(const std::string& kind) {
    const auto until = Time::now() + kPatience;
    while (true) {
      const std::size_t end = read_.find('\n');
      if (end != std::string::npos) {
        const json event = json::parse(read_.substr(0, end));
        read_.erase(0, end + 1);
        if (event["event"] == kind) return event;
        continue;
      }
      pollfd waiting{out_, POLLIN, 0};
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Time::now()).count();
      std::array<char, 4096> chunk;
      if (left <= 0 || poll(&waiting, 1, static_cast<int>(left)) != 1) return nullptr;
      const ssize_t n = ::read(out_, chunk.data(), chunk.size());
      if (n <= 0) return nullptr;
      read_.append(chunk.data(), static_cast<std::size_t>(n));
    }
  }
  /// Wait for the program and return its exit status, or -1 when it does not end in time, or ends by a signal.
  int wait() {
    const auto until = Time::now() + kPatience;
    int status = 0;
    while (waitpid(pid_, &status, WNOHANG) == 0) {
      if (Time::now() > until) return -1;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_ = -1;
  int in_ = -1;
  int out_ = -1;
  std::string read_;
};

json job(const json& port) {
  return {{"schema", "dpubench.server-job/1"},
          {"time_limit_s", 60},
          {"memory", {{"mb", 128}}},
          {"ports", json::array({port})},
          {"workload", {{"name", "forward"}}}};
}

json memif(const TemporaryDirectory& folder) {
  return {{"kind", "memif"}, {"role", "server"}, {"arguments", {{"socket", folder.path() / "s"}}}};
}

/// Send `count` frames of a trial, few at a time so that none is lost, and receive as many.
void exchange(Port& port, rte_mempool* pool, std::uint16_t trial, std::uint64_t count) {
  const auto until = Time::now() + kPatience;
  while (!port.is_up()) {
    ASSERT_LT(Time::now(), until);
    std::this_thread::yield();
  }
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  while (received < count) {
    ASSERT_LT(Time::now(), until) << "sent " << sent << ", received " << received;
    if (sent < count && sent - received < 32) {
      rte_mbuf* packet = rte_pktmbuf_alloc(pool);
      auto* const data = reinterpret_cast<std::byte*>(rte_pktmbuf_append(packet, 60));
      std::memset(data, 0x11, 60);
      std::memset(data, 0x22, 6);
      write_trailer({data, 60}, {.trial = trial, .number = sent, .due_ns = 0, .frame = 0});
      if (port.transmit(0, &packet, 1) == 1) {
        ++sent;
      } else {
        rte_pktmbuf_free(packet);
      }
    }
    std::array<rte_mbuf*, 32> packets;
    const std::uint16_t n = port.receive(0, packets.data(), 32);
    for (std::uint16_t i = 0; i < n; ++i) {
      EXPECT_EQ(rte_pktmbuf_mtod(packets[i], const unsigned char*)[0], 0x11);
      EXPECT_EQ(rte_pktmbuf_mtod(packets[i], const unsigned char*)[6], 0x22);
      rte_pktmbuf_free(packets[i]);
    }
    received += n;
  }
}

TEST(ServerProgram, ServesTrialsOverMemifAndLeavesNothing) {
  test::start_memory();
  static rte_mempool* const pool = make_pool("program-test", 2048, 1518);
  const TemporaryDirectory folder;
  Program program;
  program.say(job(memif(folder)));
  const json ready = program.hear("ready");
  ASSERT_FALSE(ready.is_null());
  EXPECT_EQ(ready["ports"][0]["kind"], "memif");
  EXPECT_EQ(ready["stages"][0]["name"], "swap");
  {
    const auto port = open_port({"memif", Role::kClient, {{"socket", folder.path() / "s"}}}, {pool, 1, 1518});
    for (const std::uint16_t trial : {std::uint16_t{1}, std::uint16_t{2}}) {
      program.say({{"begin", trial}});
      EXPECT_EQ(program.hear("begun")["trial"], trial);
      exchange(*port, pool, trial, 500);
      program.say({{"collect", trial}, {"dump", folder.path() / "dump"}});
      const json served = program.hear("served");
      ASSERT_FALSE(served.is_null());
      EXPECT_EQ(served["received"], 500);
      EXPECT_EQ(served["transmitted"], 500);
      EXPECT_EQ(served["stale"], 0);
      EXPECT_EQ(served["foreign"], 0);
      EXPECT_EQ(std::filesystem::file_size(folder.path() / "dump/received.bitmap"), (500 + 7) / 8);
    }
  }
  program.say({{"end", true}});
  const json done = program.hear("done");
  EXPECT_EQ(done["trials"], 2);
  EXPECT_EQ(done["failures"], 0);
  EXPECT_EQ(program.wait(), 0);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "s"));
}

TEST(ServerProgram, ASignalOrTheEndOfItsInputEndsItInGoodOrder) {
  for (const int number : {SIGTERM, SIGINT, 0}) {
    const TemporaryDirectory folder;
    Program program;
    program.say(job(memif(folder)));
    ASSERT_FALSE(program.hear("ready").is_null());
    EXPECT_TRUE(std::filesystem::exists(folder.path() / "s"));
    if (number == 0) {
      program.end_input();
    } else {
      program.signal(number);
    }
    EXPECT_FALSE(program.hear("done").is_null());
    EXPECT_EQ(program.wait(), 0);
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "s"));
  }
}

TEST(ServerProgram, SaysWhatItCannotDo) {
  {
    Program program;
    program.say({{"schema", "dpubench.server-job/1"}});
    EXPECT_EQ(program.hear("failure")["phase"], "job");
    EXPECT_EQ(program.wait(), 2);
  }
  {
    Program program;
    program.say(job({{"kind", "memiff"}}));
    const json failure = program.hear("failure");
    EXPECT_EQ(failure["phase"], "ports");
    EXPECT_NE(failure["message"].get<std::string>().find("memif"), std::string::npos);
    EXPECT_EQ(program.wait(), 4);
  }
  {
    Program program;
    json wrong = job({{"kind", "null"}});
    wrong["workload"]["name"] = "backward";
    program.say(wrong);
    EXPECT_EQ(program.hear("failure")["phase"], "prepare");
    EXPECT_EQ(program.wait(), 4);
  }
  {
    Program program;
    program.say(job({{"kind", "null"}}));
    ASSERT_FALSE(program.hear("ready").is_null());
    program.say({{"check", 1}, {"dump", "/nowhere"}});
    EXPECT_EQ(program.hear("failure")["phase"], "serve");
    program.say({{"collect", 1}});
    EXPECT_EQ(program.hear("failure")["phase"], "serve");
    program.say({{"end", true}});
    EXPECT_EQ(program.hear("done")["failures"], 2);
    EXPECT_EQ(program.wait(), 1);
  }
}

TEST(ServerProgram, EndsWhenItsTimeIsOver) {
  Program program;
  json limited = job({{"kind", "null"}});
  limited["time_limit_s"] = 2;
  program.say(limited);
  ASSERT_FALSE(program.hear("ready").is_null());
  EXPECT_NE(program.hear("failure")["message"].get<std::string>().find("limit"), std::string::npos);
  EXPECT_EQ(program.wait(), 1);
}

}  // namespace
}  // namespace dpubench::datapath
