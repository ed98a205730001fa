#include "agent/connection.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/error.hpp"

namespace dpubench::agent {
namespace {

constexpr std::size_t kReadBytes = std::size_t{1} << 16;
constexpr std::array kIncoming = {Frame::kRequest, Frame::kData, Frame::kEnd, Frame::kKill, Frame::kTaken};

void make_nonblocking(int fd) {
  const int flags = fcntl(fd, F_GETFL);
  if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0)
    throw Error(std::string("the connection cannot be used: fcntl: ") + std::strerror(errno));
}

void wait_for(int fd, short events) {
  pollfd waited{fd, events, 0};
  for (;;) {
    const int ready = poll(&waited, 1, kIdleLimitMs);
    if (ready > 0) return;
    if (ready == 0) throw Ended("the other side was silent for 10 minutes");
    if (errno != EINTR) throw Ended(std::string("poll: ") + std::strerror(errno));
  }
}

}  // namespace

std::string encode_count(std::size_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>((value >> shift) & 0xffU);
  return bytes;
}

std::size_t decode_count(std::string_view bytes) {
  std::size_t value = 0;
  for (const char byte : bytes.substr(0, 4)) value = value << 8 | static_cast<unsigned char>(byte);
  return value;
}

std::string encode(char kind, std::string_view payload, std::uint16_t program) {
  std::string frame = {kind, static_cast<char>(program >> 8), static_cast<char>(program & 0xffU)};
  return frame.append(encode_count(payload.size())).append(payload);
}

std::optional<Frame> FrameReader::next() {
  if (buffer_.empty()) return std::nullopt;
  const char kind = buffer_[0];
  // The set is closed. Invalid input therefore fails at its first byte, not after the length that it would announce.
  if (std::find(kIncoming.begin(), kIncoming.end(), kind) == kIncoming.end())
    throw Error("the bytes received are not a frame: they begin with byte " + std::to_string(static_cast<unsigned char>(kind)));
  if (buffer_.size() < kHeaderBytes) return std::nullopt;
  const auto program = static_cast<std::uint16_t>(decode_count(std::string_view(buffer_).substr(1, 2)));
  const std::size_t length = decode_count(std::string_view(buffer_).substr(3));
  if (length > kMaxPayload)
    throw Error("a frame has " + std::to_string(length) + " bytes: at most " + std::to_string(kMaxPayload) + " are allowed");
  if (buffer_.size() < kHeaderBytes + length) return std::nullopt;
  Frame frame{kind, program, buffer_.substr(kHeaderBytes, length)};
  buffer_.erase(0, kHeaderBytes + length);
  return frame;
}

Connection::Connection(int in, int out) : in_(in), out_(out) {
  make_nonblocking(in_);
  make_nonblocking(out_);
}

Frame Connection::receive() {
  for (;;) {
    if (auto frame = next()) return std::move(*frame);
    wait_for(in_, POLLIN);
    read_some();
  }
}

void Connection::read_some() {
  std::array<char, kReadBytes> bytes;
  const ssize_t got = read(in_, bytes.data(), bytes.size());
  if (got == 0) throw Ended("the other side closed the connection");
  if (got > 0) return reader_.feed({bytes.data(), static_cast<std::size_t>(got)});
  if (errno != EAGAIN && errno != EINTR) throw Ended(std::string("read: ") + std::strerror(errno));
}

void Connection::send(char kind, std::string_view payload) {
  queue(kind, payload);
  for (write_some(); queued() > 0; write_some()) wait_for(out_, POLLOUT);
}

void Connection::write_some() {
  while (!to_send_.empty()) {
    const ssize_t sent = write(out_, to_send_.data(), to_send_.size());
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) return;
    if (sent < 0) throw Ended(std::string("write: ") + std::strerror(errno));
    to_send_.erase(0, static_cast<std::size_t>(sent));
  }
}

}  // namespace dpubench::agent
