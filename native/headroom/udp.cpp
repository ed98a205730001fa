// UDP sockets of the kernel as a way out and in. A burst goes with one system call (sendmmsg(2)); with GSO the kernel cuts the
// datagrams of a burst out of few large ones (UDP_SEGMENT, Linux 4.18).
#include <arpa/inet.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.hpp"
#include "datapath/frame/trailer_write.hpp"
#include "headroom/outlet.hpp"

namespace dpubench::headroom {
namespace {

/// Most datagrams that the kernel cuts out of one (UDP_MAX_SEGMENTS of linux/udp.h, 64 before Linux 6.9), and most bytes of that
/// one.
constexpr std::uint32_t kMostSegments = 64;
constexpr std::uint32_t kMostBytes = 65'507;
constexpr std::uint32_t kIpUdpHeaders = 28;
/// Most packets that a sink takes with one system call.
constexpr std::uint32_t kTaken = 64;

std::string argument(const HeadroomJob& job, const std::string& name, const std::string& otherwise = {}) {
  const auto given = job.backend.arguments.find(name);
  if (given != job.backend.arguments.end()) return given->second;
  if (otherwise.empty()) throw Error("backend udp: the argument '" + name + "' is missing: an IPv4 address and a port number");
  return otherwise;
}

/// Return the address of a text such as 127.0.0.1:47000, with a port number that is higher by `offset`. @throws Error
sockaddr_in address(const std::string& name, const std::string& text, std::uint32_t offset) {
  sockaddr_in found{};
  found.sin_family = AF_INET;
  const std::size_t colon = text.rfind(':');
  const bool digits = colon != std::string::npos && colon + 1 < text.size() &&
                      text.find_first_not_of("0123456789", colon + 1) == std::string::npos && text.size() - colon <= 6;
  const unsigned long number = digits ? std::strtoul(text.c_str() + colon + 1, nullptr, 10) : 0;
  if (number == 0 || number + offset > 65'535 || inet_pton(AF_INET, text.substr(0, colon).c_str(), &found.sin_addr) != 1) {
    throw Error("backend udp: " + name + "=" + text +
                ": must be an IPv4 address and a port number, such as 127.0.0.1:47000, with " + std::to_string(offset) +
                " numbers above it");
  }
  found.sin_port = htons(static_cast<std::uint16_t>(number + offset));
  return found;
}

/// A UDP socket that never waits.
class Socket {
 public:
  explicit Socket(const sockaddr_in& local, const std::string& text)
      : number_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    if (number_ < 0) throw Error(std::string("backend udp: socket: ") + std::strerror(errno));
    if (bind(number_, reinterpret_cast<const sockaddr*>(&local), sizeof local) != 0) {
      const int fault = errno;
      close(number_);
      const std::string at = "backend udp: local=" + text + " (port number " + std::to_string(ntohs(local.sin_port)) + ") ";
      if (fault == EADDRINUSE) throw Error(at + "is in use: end the program that has it (ss -ulnp), or give another port number");
      throw Error(at + "cannot be used: " + std::strerror(fault) + "; it must be an address of this machine (ip address)");
    }
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() { close(number_); }
  [[nodiscard]] int get() const { return number_; }
  bool set(int level, int name, int value) const { return setsockopt(number_, level, name, &value, sizeof value) == 0; }
  [[nodiscard]] int option(int level, int name) const {
    int value = 0;
    socklen_t length = sizeof value;
    return getsockopt(number_, level, name, &value, &length) == 0 ? value : 0;
  }
  /// Ask for a buffer. Root may have a larger one than net.core.rmem_max and wmem_max allow.
  void make_room(int forced, int plain, int bytes) const {
    if (!set(SOL_SOCKET, forced, bytes)) set(SOL_SOCKET, plain, bytes);
  }

 private:
  int number_;
};

class UdpOutlet final : public Outlet {
 public:
  UdpOutlet(const HeadroomJob& job, unsigned thread, bool gso, int buffer_bytes)
      : local_(argument(job, "local")),
        peer_(argument(job, "peer")),
        socket_(address("local", local_, thread), local_),
        thread_(thread),
        mac_(job.destination_mac),
        gso_(gso) {
    const sockaddr_in to = address("peer", peer_, thread);
    if (connect(socket_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
      throw Error("backend udp: peer=" + peer_ + " cannot be reached: " + std::strerror(errno) + "; see `ip route get`");
    }
    // Forbid fragments: a datagram in fragments costs other work than a whole one.
    socket_.set(IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO);
    socket_.make_room(SO_SNDBUFFORCE, SO_SNDBUF, buffer_bytes);
  }

  void prepare(const TrialSpec& spec) override {
    const std::uint32_t payload = spec.size - kHeaderBytes;
    const int mtu = socket_.option(IPPROTO_IP, IP_MTU);
    if (mtu > 0 && payload + kIpUdpHeaders > static_cast<std::uint32_t>(mtu)) {
      throw Error("backend udp: packets of " + std::to_string(spec.size) + " bytes need an MTU of " +
                  std::to_string(payload + kIpUdpHeaders) + ", but that of the way to " + peer_ + " is " + std::to_string(mtu) +
                  ": raise it (ip link set dev INTERFACE mtu N), or choose smaller packets");
    }
    spec_ = spec;
    payload_ = payload;
    const std::vector<std::byte> packet = make_packet(spec.size, mac_, thread_);
    // Payloads lie one behind the other, so that GSO can take several as one datagram.
    buffer_.resize(std::size_t{payload} * spec.burst);
    for (std::uint32_t i = 0; i < spec.burst; ++i) {
      std::copy(packet.begin() + kHeaderBytes, packet.end(),
                buffer_.begin() + static_cast<std::ptrdiff_t>(std::size_t{payload} * i));
    }
    number_ = 0;
    uses_left_ = 0;
    first_ = last_ = 0;
    error_ = 0;
    segments_ = !gso_ ? 1 : std::clamp<std::uint32_t>(kMostBytes / payload, 1, kMostSegments);
  }

  std::uint32_t send(std::uint32_t n) noexcept override {
    if (first_ == last_) first_ = last_ = 0;
    while (last_ - first_ < n && last_ < spec_.burst) number_one(last_++);
    const std::uint32_t messages = fill_messages();
    const int sent = sendmmsg(socket_.get(), messages_.data(), messages, MSG_DONTWAIT);
    if (sent < 0) {
      // A full buffer of the socket or queue of the device is a refusal. Anything else is a fault, which ends the trial's worth.
      if (errno != EAGAIN && errno != ENOBUFS && errno != EINTR) error_ = errno;
      return 0;
    }
    std::uint32_t taken = 0;
    for (int i = 0; i < sent; ++i) taken += packets_of(static_cast<std::uint32_t>(i));
    first_ += taken;
    return taken;
  }

  std::string finish() override {
    first_ = last_ = 0;
    if (error_ == 0) return {};
    if (error_ == ECONNREFUSED) return "backend udp: nobody listens at " + peer_ + ": start the sink first";
    if (error_ == EINVAL && segments_ > 1) {
      return "backend udp: the kernel or the device refuses UDP_SEGMENT (GSO, Linux 4.18): give gso=no";
    }
    return std::string("backend udp: sendmmsg: ") + std::strerror(error_);
  }

 private:
  void number_one(std::uint32_t place) noexcept {
    // The kernel makes a buffer of its own for every datagram. Reuse therefore saves the making of the trailer alone.
    std::byte* const end = buffer_.data() + std::size_t{payload_} * (place + 1);
    if (uses_left_ == 0) {
      datapath::write_trailer_at(
          trailer_.data() + trailer_.size(), true,
          {.trial = static_cast<std::uint16_t>(spec_.number), .number = number_++, .due_ns = 0, .frame = thread_});
      uses_left_ = spec_.reuse;
    }
    --uses_left_;
    std::memcpy(end - trailer_.size(), trailer_.data(), trailer_.size());
  }

  /// Return how many packets message `i` of the last call held.
  [[nodiscard]] std::uint32_t packets_of(std::uint32_t i) const noexcept {
    return static_cast<std::uint32_t>(pieces_[i].iov_len / payload_);
  }

  std::uint32_t fill_messages() noexcept {
    std::uint32_t messages = 0;
    for (std::uint32_t at = first_; at < last_;) {
      const std::uint32_t packets = std::min(segments_, last_ - at);
      pieces_[messages] = {buffer_.data() + std::size_t{payload_} * at, std::size_t{payload_} * packets};
      msghdr& header = messages_[messages].msg_hdr;
      header = {};
      header.msg_iov = &pieces_[messages];
      header.msg_iovlen = 1;
      if (packets > 1) {
        Control& control = control_[messages];
        header.msg_control = control.bytes;
        header.msg_controllen = sizeof control.bytes;
        cmsghdr* const segment = CMSG_FIRSTHDR(&header);
        segment->cmsg_level = SOL_UDP;
        segment->cmsg_type = UDP_SEGMENT;
        segment->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
        const auto bytes = static_cast<std::uint16_t>(payload_);
        std::memcpy(CMSG_DATA(segment), &bytes, sizeof bytes);
      }
      at += packets;
      ++messages;
    }
    return messages;
  }

  struct Control {
    alignas(cmsghdr) char bytes[CMSG_SPACE(sizeof(std::uint16_t))];
  };

  std::string local_;
  std::string peer_;
  Socket socket_;
  unsigned thread_;
  std::string mac_;
  bool gso_;
  TrialSpec spec_;
  std::uint32_t payload_ = 0;
  std::uint32_t segments_ = 1;
  std::vector<std::byte> buffer_;
  std::array<std::byte, datapath::kTrailerBytes> trailer_{};
  std::array<mmsghdr, kMaxBurst> messages_{};
  std::array<iovec, kMaxBurst> pieces_{};
  std::array<Control, kMaxBurst> control_{};
  std::uint32_t first_ = 0;  ///< first packet of the burst that waits
  std::uint32_t last_ = 0;   ///< packets of the burst that are built
  std::uint32_t uses_left_ = 0;
  std::uint64_t number_ = 0;
  int error_ = 0;
};

class UdpInlet final : public Inlet {
 public:
  UdpInlet(const HeadroomJob& job, int buffer_bytes) : room_(std::size_t{job.max_packet} + 64), buffer_(room_ * kTaken) {
    const std::string local = argument(job, "local");
    for (std::uint32_t i = 0; i < job.threads; ++i) {
      const Socket& socket = *sockets_.emplace_back(std::make_unique<Socket>(address("local", local, i), local));
      socket.make_room(SO_RCVBUFFORCE, SO_RCVBUF, buffer_bytes);
    }
    for (std::uint32_t i = 0; i < kTaken; ++i) {
      // The place before the payload stands for the headers, so that a packet has the length with which it was built.
      pieces_[i] = {buffer_.data() + room_ * i + kHeaderBytes, room_ - kHeaderBytes};
    }
  }

  std::uint32_t take(Tally& tally, std::uint32_t trial) noexcept override {
    std::uint32_t all = 0;
    for (const auto& socket : sockets_) {
      for (std::uint32_t i = 0; i < kTaken; ++i) {
        messages_[i].msg_hdr = {};
        messages_[i].msg_hdr.msg_iov = &pieces_[i];
        messages_[i].msg_hdr.msg_iovlen = 1;
      }
      const int n = recvmmsg(socket->get(), messages_.data(), kTaken, MSG_DONTWAIT, nullptr);
      for (int i = 0; i < n; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const bool whole = (messages_[at].msg_hdr.msg_flags & MSG_TRUNC) == 0;
        count(tally, {buffer_.data() + room_ * at, whole ? kHeaderBytes + messages_[at].msg_len : 0}, trial);
      }
      if (n > 0) all += static_cast<std::uint32_t>(n);
    }
    return all;
  }

  [[nodiscard]] std::uint64_t dropped() const noexcept override {
    std::uint64_t all = 0;
    for (const auto& socket : sockets_) {
      std::array<std::uint32_t, SK_MEMINFO_VARS> memory{};
      socklen_t length = sizeof memory;
      if (getsockopt(socket->get(), SOL_SOCKET, SO_MEMINFO, memory.data(), &length) == 0) all += memory[SK_MEMINFO_DROPS];
    }
    return all;
  }

 private:
  std::size_t room_;
  std::vector<std::byte> buffer_;
  std::vector<std::unique_ptr<Socket>> sockets_;
  std::array<mmsghdr, kTaken> messages_{};
  std::array<iovec, kTaken> pieces_{};
};

class UdpLink final : public Link {
 public:
  explicit UdpLink(const HeadroomJob& job) : job_(job) {
    for (const auto& [name, unused] : job.backend.arguments) {
      if (name != "local" && name != "peer" && name != "gso" && name != "buffer_kib") {
        throw Error("backend udp: there is no argument '" + name + "'; known: local, peer, gso, buffer_kib");
      }
    }
    const std::string gso = argument(job, "gso", "no");
    if (gso != "yes" && gso != "no") throw Error("backend udp: gso=" + gso + ": must be yes or no");
    gso_ = gso == "yes";
    const std::string kib = argument(job, "buffer_kib", "8192");
    if (kib.empty() || kib.size() > 7 || kib.find_first_not_of("0123456789") != std::string::npos || std::stoi(kib) < 4 ||
        std::stoi(kib) > 1 << 20) {
      throw Error("backend udp: buffer_kib=" + kib + ": must be a number from 4 to 1048576");
    }
    buffer_bytes_ = static_cast<int>(std::min<long>(std::stol(kib) << 10, 1L << 30));
    static_cast<void>(address("local", argument(job, "local"), job.threads));
    if (job.part == Part::kSender) static_cast<void>(address("peer", argument(job, "peer"), job.threads));
  }

  [[nodiscard]] std::unique_ptr<Outlet> open_outlet(unsigned thread) override {
    return std::make_unique<UdpOutlet>(job_, thread, gso_, buffer_bytes_);
  }
  [[nodiscard]] std::unique_ptr<Inlet> open_inlet() override { return std::make_unique<UdpInlet>(job_, buffer_bytes_); }
  [[nodiscard]] bool is_up() const override { return true; }
  [[nodiscard]] nlohmann::json described() const override {
    const std::string how = job_.part == Part::kSink ? "recvmmsg" : (gso_ ? "sendmmsg with UDP_SEGMENT" : "sendmmsg");
    return {{"kind", "udp"},
            {"driver", "kernel UDP socket"},
            {"detail", how + " at " + argument(job_, "local") + ", buffers of " + std::to_string(buffer_bytes_ >> 10) + " KiB"},
            {"mtu", job_.max_packet}};
  }

 private:
  HeadroomJob job_;
  bool gso_ = false;
  int buffer_bytes_ = 0;
};

}  // namespace

std::unique_ptr<Link> open_udp_link(const HeadroomJob& job) {
  return std::make_unique<UdpLink>(job);
}

}  // namespace dpubench::headroom
