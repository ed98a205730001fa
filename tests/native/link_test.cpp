// The job of a link, its sockets, and how both ends greet each other.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "expect_error.hpp"
#include "link/content.hpp"
#include "link/greeting.hpp"
#include "link/job.hpp"
#include "link/socket.hpp"
#include "link_ends.hpp"

namespace {

using namespace dpubench::link;
using namespace dpubench::test;

using nlohmann::json;

TEST(LinkJobs, AreRead) {
  const LinkJob job = parse_link_job(R"({"schema": "dpubench.link-job/1", "role": "client", "address": "fd00::1", "port": 5000,
      "test": "transfer", "file_bytes": 4294967296, "protection": "ktls-nic", "duration_s": 0.5, "seed": 7, "cpu": 3,
      "time_limit_s": 20})");
  EXPECT_EQ(job.role, Role::kClient);
  EXPECT_EQ(job.address, "fd00::1");
  EXPECT_EQ(job.port, 5000);
  EXPECT_EQ(job.protection, Protection::kKtlsNic);
  EXPECT_EQ(job.cpu, 3);
  EXPECT_EQ(job.time_limit_s, 20);
  EXPECT_EQ(agreement(job), "test=transfer file_bytes=4294967296 protection=ktls-nic seed=7");
  const LinkJob server = parse_link_job(
      R"({"schema": "dpubench.link-job/1", "role": "server", "address": "::", "test": "latency", "message_bytes": 64})");
  EXPECT_EQ(server.port, 0);
  EXPECT_FALSE(server.cpu);
  EXPECT_EQ(agreement(server), "test=latency message_bytes=64 seed=1");
}

TEST(LinkJobs, NameEveryFault) {
  const json good = {{"schema", kJobSchema}, {"role", "client"},  {"address", "::1"}, {"port", 1},
                     {"test", "latency"},    {"message_bytes", 1}};
  const auto faulty = [&](const json& change, std::initializer_list<std::string_view> parts) {
    json job = good;
    job.merge_patch(change);
    expect_error([&] { parse_link_job(job.dump()); }, parts);
  };
  EXPECT_NO_THROW(parse_link_job(good.dump()));
  faulty({{"schema", "dpubench.job/1"}}, {"/schema: must be dpubench.link-job/1"});
  faulty({{"role", "peer"}, {"test", "jitter"}}, {"/role: must be one of: server, client", "/test: must be one of: latency"});
  faulty({{"role", nullptr}, {"address", nullptr}}, {"/role: is missing", "/address: is missing"});
  faulty({{"port", nullptr}}, {"/port: must be the server's"});
  faulty({{"port", 65536}}, {"/port: must be a whole number from 0 to 65535"});
  faulty({{"message_bytes", nullptr}}, {"/message_bytes: is missing"});
  faulty({{"message_bytes", 0}}, {"/message_bytes: must be a whole number from 1 to 1048576"});
  faulty({{"file_bytes", 1}, {"protection", "tls"}}, {"/file_bytes: belongs to test transfer", "/protection: belongs to"});
  faulty({{"test", "transfer"}},
         {"/file_bytes: is missing", "/protection: is missing", "/message_bytes: belongs to test latency"});
  faulty({{"test", "transfer"}, {"protection", "ssl"}}, {"/protection: must be one of: plain, tls, ktls, ktls-nic"});
  faulty({{"duration_s", 0}, {"cpu", -1}, {"seed", -1}, {"time_limit_s", 0}}, {"/duration_s", "/cpu", "/seed", "/time_limit_s"});
  faulty({{"speed", 1}}, {"/speed: is not a field"});
  expect_error([] { parse_link_job("{"); }, {"the job is no JSON"});
}

TEST(Sockets, CarryBytesOfBothFamilies) {
  for (const char* address : {"127.0.0.1", "::1"}) {
    Watch watch(nullptr, kTestSilence);
    std::optional<Listener> listener;
    try {
      listener.emplace(address, 0);
    } catch (const dpubench::Error&) {
      GTEST_SKIP() << address << " is not here";
    }
    Socket client = Socket::connect(address, listener->port(), watch);
    Socket server = listener->accept(watch);
    EXPECT_EQ(client.peer(), std::string(address) + " port " + std::to_string(listener->port()));
    client.send_note("one");
    EXPECT_EQ(server.receive_note(), "one");
    server.send_note("two\x1b\n");
    EXPECT_EQ(client.receive_note(), "two??");
    client.end_sending();
    std::byte more;
    EXPECT_EQ(server.receive_some({&more, 1}), 0U);
    server.send_note("late");
    EXPECT_EQ(client.receive_note(), "late");
  }
}

TEST(Sockets, SayWhyTheyCannotListen) {
  const Listener taken(kHere, 0);
  expect_error([&] { Listener(kHere, taken.port()); }, {"cannot listen at 127.0.0.1 port", "the port is taken", "0 for any"});
  expect_error([] { Listener("198.51.100.7", 0); }, {"198.51.100.7 port 0: this machine has no such address"});
  expect_error([] { Listener("localhost", 0); }, {"localhost: is no IP address"});
  expect_error([] { Listener("127.0.0.256", 0); }, {"is no IP address"});
}

TEST(Sockets, SayThatNobodyListens) {
  std::uint16_t port = 0;
  {
    const Listener before(kHere, 0);
    port = before.port();
  }
  Watch watch(nullptr, kTestSilence);
  expect_error([&] { Socket::connect(kHere, port, watch); }, {"cannot connect to 127.0.0.1 port", "nobody listens there"});
}

TEST(Sockets, DoNotWaitForASilentEnd) {
  Listener listener(kHere, 0);
  Watch watch(nullptr, std::chrono::milliseconds(200));
  Socket client = Socket::connect(kHere, listener.port(), watch);
  const Socket server = listener.accept(watch);
  std::vector<std::byte> bytes(std::size_t{64} << 20);
  expect_error([&] { client.receive_all(Room(bytes).first(1)); }, {"cannot receive from 127.0.0.1", "no progress for 200 ms"});
  expect_error([&] { client.send_all(bytes); }, {"cannot send to 127.0.0.1", "no progress for 200 ms"});
  const ContentFile file(1, bytes.size());
  expect_error([&] { client.send_file(file.fd(), bytes.size()); }, {"cannot send a file to 127.0.0.1", "no progress"});
}

TEST(Sockets, SayThatTheOtherEndWentAway) {
  const auto three_bytes = [](Socket& socket) { socket.send_all(Bytes(content(1, 3))); };
  with_both(three_bytes, [](Socket& socket) {
    std::vector<std::byte> room(10);
    expect_error([&] { socket.receive_all(room); }, {"closed the connection after 3 of 10 bytes"});
    const std::vector<std::byte> much(std::size_t{64} << 20);
    expect_error([&] { socket.send_all(much); }, {"the other end closed the connection: its own failure says why"});
  });
}

TEST(Sockets, SendNoMoreThanAFileHas) {
  const ContentFile file(1, 1000);
  std::vector<std::byte> room(1000);
  with_both([&](Socket& socket) { socket.receive_all(room); },
            [&](Socket& socket) { expect_error([&] { socket.send_file(file.fd(), 1001); }, {"shorter than 1001 bytes"}); });
}

TEST(Greeting, ComparesJobs) {
  const auto greets = [](const LinkJob& job) { return [job](Socket& socket) { greet(socket, job); }; };
  with_both(greets(latency_job(Role::kServer, 64)), greets(latency_job(Role::kClient, 64)));
  const auto refuses = [](const LinkJob& job, std::string_view own, std::string_view other) {
    return [=](Socket& socket) { expect_error([&] { greet(socket, job); }, {"the jobs of both ends differ", own, other}); };
  };
  with_both(refuses(latency_job(Role::kServer, 64), "this one has 'test=latency message_bytes=64", "other one 'test=transfer"),
            refuses(transfer_job(Role::kClient, 64), "this one has 'test=transfer file_bytes=64", "other one 'test=latency"));
}

TEST(Greeting, RefusesOtherPrograms) {
  const auto http = [](Socket& socket) { socket.send_note("GET / HTTP/1.1\r\n\r\n"); };
  with_both(
      [](Socket& socket) {
        expect_error([&] { greet(socket, latency_job(Role::kServer, 64)); }, {"is no dpubench-link of this version"});
      },
      http);
}

}  // namespace
