// Frames over the agent's standard input and output (docs/architecture.md, "The agent").
#pragma once

#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace dpubench::agent {

/// Bytes of a frame's header: its kind (a letter) and the payload's length, big-endian.
inline constexpr std::size_t kHeaderBytes = 5;
inline constexpr std::size_t kMaxPayload = std::size_t{1} << 20;
/// The first line of output. Text before it comes from a login shell, not from the agent.
inline constexpr std::string_view kGreeting = "dpubench-agent/1\n";
/// Milliseconds without traffic and without a running program after which the other side counts as gone.
inline constexpr int kIdleLimitMs = 600'000;

struct Frame {
  static constexpr char kRequest = 'R';  ///< in: JSON
  static constexpr char kData = 'D';     ///< in: bytes of a file, or for the program's standard input
  static constexpr char kEnd = 'E';      ///< in: the end of that data
  static constexpr char kAnswer = 'A';   ///< out: JSON
  static constexpr char kFault = 'F';    ///< out: JSON with `message`; the agent ends
  static constexpr char kOutput = 'O';   ///< out: bytes of the program's standard output
  static constexpr char kExit = 'X';     ///< out: JSON with `status` or `signal`; the agent ends

  char kind = 0;
  std::string payload;
};

/// The exception for a connection that ended: the other side closed it or went silent.
class Ended : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A reader that builds frames from bytes in pieces of any size.
class FrameReader {
 public:
  void feed(std::string_view bytes) { buffer_.append(bytes); }
  /// Return the next whole frame, or nothing yet. @throws dpubench::Error on invalid bytes: the stream is useless from there on
  std::optional<Frame> next();

 private:
  std::string buffer_;
};

std::string encode(char kind, std::string_view payload);

/// A connection. It makes both descriptors non-blocking. They may be the same socket.
class Connection {
 public:
  Connection(int in, int out);

  /// Wait for the next frame and return it. @throws Ended, dpubench::Error
  Frame receive();
  /// Send a frame and wait until it is written. @throws Ended
  void send(char kind, std::string_view payload);

  // The functions below serve a caller that waits for several things at once.
  [[nodiscard]] int in() const { return in_; }
  [[nodiscard]] int out() const { return out_; }
  /// Read the available bytes. @throws Ended at the end of input
  void read_some();
  std::optional<Frame> next() { return reader_.next(); }
  void queue(char kind, std::string_view payload) { to_send_ += encode(kind, payload); }
  void queue_raw(std::string_view bytes) { to_send_ += bytes; }
  [[nodiscard]] std::size_t queued() const { return to_send_.size(); }
  /// Write as much as possible without waiting. @throws Ended
  void write_some();

 private:
  int in_;
  int out_;
  FrameReader reader_;
  std::string to_send_;
};

}  // namespace dpubench::agent
