// TCP sockets. No operation outlasts the silence that its watch allows.
#pragma once

#include <cstdint>
#include <string>

#include "link/channel.hpp"
#include "link/watch.hpp"

namespace dpubench::link {

/// A file descriptor that is closed when it is no longer owned.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor();
  [[nodiscard]] int get() const { return fd_; }

 private:
  int release() noexcept;
  int fd_;
};

/// One end of a TCP connection, without Nagle's delay (RFC 9293, 3.7.4). It blocks in the system call itself, which returns each
/// kSlice: a poll(2) before would add a system call to every round trip.
class Socket final : public Channel {
 public:
  /// Connect to a numeric address. @throws Error nobody listens there, or it cannot be reached
  static Socket connect(const std::string& address, std::uint16_t port, Watch& watch);
  /// @param fd  a connected socket @param peer  the other end, for messages
  Socket(Descriptor fd, Watch& watch, std::string peer);
  Socket(Socket&&) noexcept;
  ~Socket() override = default;

  void send_all(Bytes bytes) override;
  void send_file(int file, std::uint64_t bytes) override;
  void end_sending() override;
  std::size_t receive_some(Room room) override;
  [[nodiscard]] std::string path() const override { return "sendfile"; }
  [[nodiscard]] std::string cipher() const override { return {}; }

  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] Watch& watch() const { return watch_; }
  [[nodiscard]] const std::string& peer() const { return peer_; }

 private:
  Descriptor fd_;
  Watch& watch_;
  std::string peer_;
};

/// A listening socket that takes one connection.
class Listener {
 public:
  /// @param address  numeric address of this machine @param port  0: the system chooses one
  /// @throws Error the address is not one of this machine's, or the port is taken
  Listener(const std::string& address, std::uint16_t port);
  [[nodiscard]] std::uint16_t port() const { return port_; }
  /// Wait for a client, without a limit, and take no other.
  [[nodiscard]] Socket accept(Watch& watch);

 private:
  Descriptor fd_;
  std::string where_;
  std::uint16_t port_ = 0;
};

}  // namespace dpubench::link
