#include "link/latency.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "inputs/random.hpp"

namespace dpubench::link {
namespace {

/// Messages that differ, one after the other: windows of one row of random bytes.
constexpr std::size_t kDistinct = 4096;
/// The highest bit of a message's first byte tells the server whether the message is timed.
constexpr std::byte kTimed{0x80};

class Messages {
 public:
  explicit Messages(const LinkJob& job) : bytes_(job.message_bytes), pool_(job.message_bytes + kDistinct) {
    inputs::Random(job.seed).fill(pool_);
  }
  Bytes next(bool timed) {
    at_ = (at_ + 1) % kDistinct;
    pool_[at_] = (pool_[at_] & ~kTimed) | (timed ? kTimed : std::byte{0});
    return Bytes(pool_).subspan(at_, bytes_);
  }

 private:
  std::size_t bytes_;
  std::vector<std::byte> pool_;
  std::size_t at_ = 0;
};

/// Receive one message into a buffer that has room for one byte more, to see a message that is too long.
/// @returns whether one came; else the other end sends nothing more
bool receive_message(Socket& socket, Room buffer) {
  const std::size_t bytes = buffer.size() - 1;
  std::size_t got = 0;
  while (got < bytes) {
    const std::size_t more = socket.receive_some(buffer.subspan(got));
    if (more == 0 && got == 0) return false;
    if (more == 0) throw Error("the other end closed the connection within a message: its own failure says why");
    got += more;
  }
  if (got > bytes) throw Error("a message was longer than " + std::to_string(bytes) + " bytes");
  return true;
}

void exchange(Socket& socket, Bytes message, Room answer) {
  socket.send_all(message);
  if (!receive_message(socket, answer)) throw Error("the other end closed the connection: its own failure says why");
}

/// Return whether the first and last words of both are the same.
bool has_same_ends(Bytes a, Bytes b) {
  const std::size_t n = std::min(a.size(), sizeof(std::uint64_t));
  return std::memcmp(a.data(), b.data(), n) == 0 && std::memcmp(a.data() + a.size() - n, b.data() + a.size() - n, n) == 0;
}

[[noreturn]] void wrong_answer(std::uint64_t number) {
  throw Error("answer " + std::to_string(number) + " is not the message that was sent: something between both ends changes data");
}

std::uint64_t verify(Socket& socket, const LinkJob& job, Messages& messages, Room answer, std::uint64_t number) {
  const std::uint64_t wanted = verified_messages(job.message_bytes);
  for (std::uint64_t i = 0; i < wanted; ++i) {
    const Bytes message = messages.next(false);
    exchange(socket, message, answer);
    if (!std::equal(message.begin(), message.end(), answer.begin())) wrong_answer(number + i);
    socket.watch().glance();
  }
  return wanted;
}

}  // namespace

std::uint64_t verified_messages(std::size_t message_bytes) {
  constexpr std::size_t kMostBytes = std::size_t{8} << 20;
  return std::clamp<std::uint64_t>(kMostBytes / message_bytes, 8, 100);
}

RoundTrips measure_round_trips(Socket& socket, const LinkJob& job, Phase& phase) {
  const measure::Clock& clock = measure::Clock::instance();
  const std::uint64_t duration = clock.from_ns(job.duration_s * 1e9);
  Messages messages(job);
  std::vector<std::byte> buffer(job.message_bytes + 1);
  const Room answer(buffer);
  RoundTrips result;
  phase.enter("verify");
  result.verified = verify(socket, job, messages, answer, 0);
  phase.enter("measure");
  const Span span;
  const std::uint64_t begin = clock.ticks();
  for (std::uint64_t end = begin; end - begin < duration;) {
    const Bytes message = messages.next(true);
    const std::uint64_t sent = clock.ticks();
    exchange(socket, message, answer);
    end = clock.ticks();
    result.times.record(static_cast<std::uint64_t>(clock.to_ns(end - sent)));
    if (!has_same_ends(message, answer.first(message.size()))) wrong_answer(result.verified + result.times.count());
    socket.watch().glance();
  }
  result.taken = span.taken();
  result.messages = result.times.count();
  phase.enter("verify");
  result.verified += verify(socket, job, messages, answer, result.verified + result.messages);
  socket.end_sending();
  return result;
}

Answered answer_messages(Socket& socket, const LinkJob& job, Phase& phase) {
  const std::uint64_t wanted = verified_messages(job.message_bytes);
  std::vector<std::byte> buffer(job.message_bytes + 1);
  const Bytes message = Bytes(buffer).first(job.message_bytes);
  Answered result;
  std::optional<Span> span;
  std::uint64_t before = 0;
  std::uint64_t after = 0;
  phase.enter("verify");
  while (receive_message(socket, buffer)) {
    const bool timed = (message[0] & kTimed) != std::byte{0};
    if (timed && !span) {
      span.emplace();
      phase.enter("measure");
    } else if (!timed && span && after == 0) {
      result.taken = span->taken();
      phase.enter("verify");
    }
    ++(timed ? result.messages : span ? after : before);
    socket.send_all(message);
    socket.watch().glance();
  }
  if (before != wanted || after != wanted || result.messages == 0)
    throw Error("the client closed the connection after " + std::to_string(before + result.messages + after) +
                " messages, before it was done: its own failure says why");
  return result;
}

}  // namespace dpubench::link
