// Latency: both ends, and ends that answer wrongly or go away.
#include <gtest/gtest.h>

#include <functional>
#include <string_view>
#include <vector>

#include "expect_error.hpp"
#include "link/latency.hpp"
#include "link_ends.hpp"

namespace {

using namespace dpubench::link;
using namespace dpubench::test;

/// Receive `bytes` and send back what `change` makes of them, until the other end is done.
void echo(Socket& socket, std::size_t bytes, const std::function<void(std::vector<std::byte>&)>& change) {
  for (std::vector<std::byte> message(bytes);;) {
    message.resize(bytes);
    const std::size_t got = socket.receive_some(message);
    if (got == 0) return;
    socket.receive_all(Room(message).subspan(got));
    change(message);
    socket.send_all(message);
  }
}

class Latency : public testing::TestWithParam<std::size_t> {};

TEST_P(Latency, IsMeasuredOnVerifiedMessages) {
  const std::size_t bytes = GetParam();
  RoundTrips trips;
  Phase client_phase;
  const Answered answered = with_both(
      [&](Socket& socket) {
        Phase phase;
        return answer_messages(socket, latency_job(Role::kServer, bytes), phase);
      },
      [&](Socket& socket) { trips = measure_round_trips(socket, latency_job(Role::kClient, bytes), client_phase); });
  EXPECT_GE(trips.messages, 1U);
  EXPECT_EQ(trips.messages, trips.times.count());
  EXPECT_EQ(answered.messages, trips.messages);
  EXPECT_EQ(trips.verified, 2 * verified_messages(bytes));
  EXPECT_GE(trips.taken.elapsed_ns, 20'000'000U);
  EXPECT_GT(trips.taken.cpu_ns, 0U);
  EXPECT_GT(answered.taken.cpu_ns, 0U);
  EXPECT_LE(trips.times.mean_ns() * static_cast<double>(trips.messages), static_cast<double>(trips.taken.elapsed_ns));
}

INSTANTIATE_TEST_SUITE_P(Sizes, Latency, testing::Values(1, 7, 64, 1500, std::size_t{1} << 20));

/// Expect that a client which is answered with changed messages fails.
void expect_noticed(const std::function<void(std::vector<std::byte>&)>& change, std::string_view phase,
                    std::initializer_list<std::string_view> parts) {
  Phase told;
  with_both(
      [&](Socket& socket) {
        try {
          echo(socket, 64, change);
        } catch (const dpubench::Error&) {  // the client left
        }
      },
      [&](Socket& socket) { expect_error([&] { measure_round_trips(socket, latency_job(Role::kClient, 64), told); }, parts); });
  EXPECT_EQ(told.name(), phase);
}

TEST(LatencyClient, NoticesWrongAnswers) {
  int n = 0;
  const auto is_timed = [](const std::vector<std::byte>& message) { return (message[0] & std::byte{0x80}) != std::byte{0}; };
  expect_noticed([&](auto& message) { message[32] ^= std::byte{n++ == 9}; }, "verify", {"answer 9 is not the message"});
  expect_noticed([&](auto& message) { message[63] ^= std::byte{is_timed(message)}; }, "measure", {"is not the message"});
  bool was_timed = false;
  expect_noticed(
      [&](auto& message) {
        was_timed = was_timed || is_timed(message);
        message[32] ^= std::byte{was_timed && !is_timed(message)};
      },
      "verify", {"is not the message"});
}

TEST(LatencyClient, NoticesAnswersOfAnotherLength) {
  expect_noticed([](auto& message) { message.push_back(std::byte{1}); }, "verify", {"a message was longer than 64 bytes"});
}

TEST(LatencyClient, NoticesThatTheServerWentAway) {
  Phase phase;
  with_both(
      [](Socket& socket) {
        std::vector<std::byte> message(64);
        socket.receive_all(message);
        socket.send_all(message);
      },
      [&](Socket& socket) {
        expect_error([&] { measure_round_trips(socket, latency_job(Role::kClient, 64), phase); }, {"closed the connection"});
      });
  EXPECT_EQ(phase.name(), "verify");
}

TEST(LatencyServer, NoticesThatTheClientWentAway) {
  const auto expect_failure = [](std::string_view what) {
    return [=](Socket& socket) {
      Phase phase;
      expect_error([&] { answer_messages(socket, latency_job(Role::kServer, 64), phase); }, {what});
    };
  };
  const auto sends = [](std::size_t bytes) {
    return [bytes](Socket& socket) {
      const std::vector<std::byte> all(bytes);
      socket.send_all(all);
      socket.end_sending();
      std::vector<std::byte> answer(bytes / 64 * 64);
      socket.receive_all(answer);
    };
  };
  with_both(expect_failure("a message was longer"), [](Socket& socket) { socket.send_all(content(1, 65)); });
  with_both(expect_failure("within a message"), sends(63));
  with_both(expect_failure("after 1 messages, before it was done"), sends(64));
}

}  // namespace
