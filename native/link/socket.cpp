#include "link/socket.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "base/error.hpp"

namespace dpubench::link {
namespace {

/// sendfile() sends at most this much before it lets the watch be looked at: 0.8 s at 10 Mb/s.
constexpr std::uint64_t kMostAtOnce = std::uint64_t{1} << 20;

struct FreeAddresses {
  void operator()(addrinfo* addresses) const { freeaddrinfo(addresses); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

/// Return the socket address of a numeric one. @throws Error
Addresses resolve(const std::string& address, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;  // a name server's time and answer are no part of a link
  addrinfo* found = nullptr;
  if (getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found) != 0)
    throw Error(address + ": is no IP address: give one in numbers, such as 192.0.2.1 or fd00::1");
  return Addresses(found);
}

std::string where(const std::string& address, std::uint16_t port) {
  return address + " port " + std::to_string(port);
}

/// A socket address of either family.
struct Name {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  [[nodiscard]] sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  [[nodiscard]] std::string text() {
    char host[NI_MAXHOST] = "";
    char service[NI_MAXSERV] = "";
    if (getnameinfo(get(), size, host, sizeof host, service, sizeof service, NI_NUMERICHOST | NI_NUMERICSERV) != 0) return "?";
    return std::string(host) + " port " + service;
  }
};

Descriptor open_socket(int family) {
  Descriptor fd(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (fd.get() < 0) throw Error(std::string("socket: ") + std::strerror(errno));
  return fd;
}

template <class T>
void set_option(int fd, int level, int option, const T& value) {
  if (setsockopt(fd, level, option, &value, sizeof value) != 0) throw Error(std::string("setsockopt: ") + std::strerror(errno));
}

/// Return the error that a connection attempt ended with, or 0.
int pending_error(int fd) {
  int reason = 0;
  socklen_t size = sizeof reason;
  return getsockopt(fd, SOL_SOCKET, SO_ERROR, &reason, &size) == 0 ? reason : errno;
}

/// Return whether a socket is connected to itself. This happens where nobody listens and the system chose that very port as the
/// socket's own (RFC 9293, 3.5: simultaneous open).
bool is_own_peer(int fd) {
  Name own;
  Name peer;
  return getsockname(fd, own.get(), &own.size) == 0 && getpeername(fd, peer.get(), &peer.size) == 0 && own.text() == peer.text();
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) close(fd_);
    fd_ = other.release();
  }
  return *this;
}

Descriptor::~Descriptor() {
  if (fd_ >= 0) close(fd_);
}

int Descriptor::release() noexcept {
  return std::exchange(fd_, -1);
}

Socket Socket::connect(const std::string& address, std::uint16_t port, Watch& watch) {
  const Addresses to = resolve(address, port);
  Descriptor fd = open_socket(to->ai_family);
  const std::string cannot = "cannot connect to " + where(address, port) + ": ";
  int reason = ::connect(fd.get(), to->ai_addr, to->ai_addrlen) == 0 ? 0 : errno;
  if (reason == EINPROGRESS) {
    if (!watch.wait(fd.get(), POLLOUT, watch.silence()))
      throw Error(cannot + "no answer: look at the address, the network and its firewalls");
    reason = pending_error(fd.get());
  }
  if (reason == ECONNREFUSED || (reason == 0 && is_own_peer(fd.get())))
    throw Error(cannot + "nobody listens there: start the server first");
  if (reason != 0) throw Error(cannot + std::strerror(reason));
  return {std::move(fd), watch, where(address, port)};
}

Socket::Socket(Descriptor fd, Watch& watch, std::string peer) : fd_(std::move(fd)), watch_(watch), peer_(std::move(peer)) {
  int blocking = 0;
  if (ioctl(fd_.get(), FIONBIO, &blocking) != 0) throw Error(std::string("ioctl FIONBIO: ") + std::strerror(errno));
  const auto slice = std::chrono::duration_cast<std::chrono::microseconds>(kSlice);
  const timeval timeout{0, static_cast<suseconds_t>(slice.count())};
  set_option(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, timeout);
  set_option(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, timeout);
  set_option(fd_.get(), IPPROTO_TCP, TCP_NODELAY, 1);
}

Socket::Socket(Socket&& other) noexcept : fd_(std::move(other.fd_)), watch_(other.watch_), peer_(std::move(other.peer_)) {}

void Socket::send_all(Bytes bytes) {
  Patience patience(watch_, "send to", peer_);
  while (!bytes.empty()) {
    const ssize_t sent = send(fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0) {
      patience.after(errno);
      continue;
    }
    patience.progressed();
    bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
}

void Socket::send_file(int file, std::uint64_t bytes) {
  Patience patience(watch_, "send a file to", peer_);
  off_t at = 0;
  while (static_cast<std::uint64_t>(at) < bytes) {
    const ssize_t sent = sendfile(fd(), file, &at, std::min(kMostAtOnce, bytes - static_cast<std::uint64_t>(at)));
    if (sent == 0) throw Error("the file to send is shorter than " + std::to_string(bytes) + " bytes");
    if (sent < 0) {
      patience.after(errno);
      continue;
    }
    patience.progressed();
    watch_.glance();
  }
}

void Socket::end_sending() {
  if (shutdown(fd(), SHUT_WR) != 0) Patience(watch_, "end sending to", peer_).after(errno);
}

std::size_t Socket::receive_some(Room room) {
  Patience patience(watch_, "receive from", peer_);
  for (;;) {
    const ssize_t got = recv(fd(), room.data(), room.size(), 0);
    if (got >= 0) return static_cast<std::size_t>(got);
    patience.after(errno);
  }
}

Listener::Listener(const std::string& address, std::uint16_t port) : where_(where(address, port)) {
  const Addresses at = resolve(address, port);
  fd_ = open_socket(at->ai_family);
  set_option(fd_.get(), SOL_SOCKET, SO_REUSEADDR, 1);  // connections that have ended block a port for a minute otherwise
  const std::string cannot = "cannot listen at " + where_ + ": ";
  if (bind(fd_.get(), at->ai_addr, at->ai_addrlen) != 0 || listen(fd_.get(), 1) != 0) {
    if (errno == EADDRNOTAVAIL) throw Error(cannot + "this machine has no such address (ip address lists those that it has)");
    if (errno == EADDRINUSE) throw Error(cannot + "the port is taken: choose another one, or 0 for any");
    throw Error(cannot + std::strerror(errno));
  }
  Name own;
  if (getsockname(fd_.get(), own.get(), &own.size) != 0) throw Error(cannot + std::strerror(errno));
  port_ = ntohs(own.storage.ss_family == AF_INET ? reinterpret_cast<const sockaddr_in&>(own.storage).sin_port
                                                 : reinterpret_cast<const sockaddr_in6&>(own.storage).sin6_port);
}

Socket Listener::accept(Watch& watch) {
  for (;;) {
    if (!watch.wait(fd_.get(), POLLIN, watch.silence())) continue;
    Name peer;
    Descriptor fd(accept4(fd_.get(), peer.get(), &peer.size, SOCK_CLOEXEC));
    if (fd.get() < 0 && (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED)) continue;
    if (fd.get() < 0) throw Error("cannot take a connection at " + where_ + ": " + std::strerror(errno));
    fd_ = Descriptor();
    return {std::move(fd), watch, peer.text()};
  }
}

}  // namespace dpubench::link
