// Frames over the agent's standard input and output: docs/architecture.md, "The agent".
#pragma once

#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace dpubench::agent {

/// What stands before the payload of a frame: its kind (a letter) and the payload's length, big-endian.
inline constexpr std::size_t kHeaderBytes = 5;
inline constexpr std::size_t kMaxPayload = std::size_t{1} << 20;
/// The first line of output. What a login shell printed before it is none of the agent's.
inline constexpr std::string_view kGreeting = "dpubench-agent/1\n";
/// Nothing moved for so long, and nothing is at work: the other side is gone without a word.
inline constexpr int kIdleLimitMs = 600'000;

struct Frame {
  static constexpr char kRequest = 'R';  ///< in: JSON
  static constexpr char kData = 'D';     ///< in: bytes of a file, or for the program's standard input
  static constexpr char kEnd = 'E';      ///< in: the last byte of those was sent
  static constexpr char kAnswer = 'A';   ///< out: JSON
  static constexpr char kFault = 'F';    ///< out: JSON with `message`; the agent ends
  static constexpr char kOutput = 'O';   ///< out: bytes of the program's standard output
  static constexpr char kExit = 'X';     ///< out: JSON with `status` or `signal`; the agent ends

  char kind = 0;
  std::string payload;
};

/// The other side closed its end, or went silent.
class Ended : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Puts frames together from bytes as they come.
class FrameReader {
 public:
  void feed(std::string_view bytes) { buffer_.append(bytes); }
  /// The next whole frame. @throws dpubench::Error for what is none: the stream cannot be trusted from there on.
  std::optional<Frame> next();

 private:
  std::string buffer_;
};

std::string encode(char kind, std::string_view payload);

/// Both ends are made non-blocking. They may be one socket.
class Connection {
 public:
  Connection(int in, int out);

  /// The next frame; waits. @throws Ended, dpubench::Error
  Frame receive();
  /// Sends and waits until it has left. @throws Ended
  void send(char kind, std::string_view payload);

  // For a caller that waits for several things at once.
  [[nodiscard]] int in() const { return in_; }
  [[nodiscard]] int out() const { return out_; }
  /// Takes in what there is. @throws Ended at the end of input
  void read_some();
  std::optional<Frame> next() { return reader_.next(); }
  void queue(char kind, std::string_view payload) { to_send_ += encode(kind, payload); }
  void queue_raw(std::string_view bytes) { to_send_ += bytes; }
  [[nodiscard]] std::size_t queued() const { return to_send_.size(); }
  /// Writes what can be written now. @throws Ended
  void write_some();

 private:
  int in_;
  int out_;
  FrameReader reader_;
  std::string to_send_;
};

}  // namespace dpubench::agent
