// Frames over the agent's standard input and output (docs/architecture.md, "The agent").
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace dpubench::agent {

/// Bytes of a frame's header: its kind (a letter), the program (2 bytes) and the payload's length (4 bytes), big-endian.
inline constexpr std::size_t kHeaderBytes = 7;
inline constexpr std::size_t kMaxPayload = std::size_t{1} << 20;
/// Most bytes of a program's input, and of its output and errors together, that are on their way and not yet taken.
inline constexpr std::size_t kWindow = std::size_t{1} << 18;
/// The first line of output, with the version of the frames. Text before it comes from a login shell, not from the agent.
inline constexpr std::string_view kGreeting = "dpubench-agent/2\n";
/// Milliseconds without traffic and without a running program after which the other side counts as gone.
inline constexpr int kIdleLimitMs = 600'000;

struct Frame {
  static constexpr char kRequest = 'R';  ///< in: JSON
  static constexpr char kData = 'D';     ///< in: bytes of a file, or for a program's standard input
  static constexpr char kEnd = 'E';      ///< in: the end of that data
  static constexpr char kKill = 'K';     ///< in: kill a program
  static constexpr char kAnswer = 'A';   ///< out: JSON
  static constexpr char kFault = 'F';    ///< out: JSON with `message`; of a program: it did not start; else the agent ends
  static constexpr char kOutput = 'O';   ///< out: bytes of a program's standard output
  static constexpr char kErrors = 'L';   ///< out: bytes of a program's standard error
  static constexpr char kExit = 'X';     ///< out: JSON with `status` or `signal`; nothing of the program is left
  static constexpr char kTaken = 'T';    ///< in and out: 4 bytes: number of bytes that the receiver took of a program's data

  char kind = 0;
  std::uint16_t program = 0;  ///< 0: the agent itself
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

std::string encode(char kind, std::string_view payload, std::uint16_t program = 0);
/// Return `value` in 4 bytes, and the value of the first 4 bytes of `bytes` (fewer: what they make).
std::string encode_count(std::size_t value);
std::size_t decode_count(std::string_view bytes);

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
  void queue(char kind, std::string_view payload, std::uint16_t program = 0) { to_send_ += encode(kind, payload, program); }
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
