// socket: the kernel's own UDP stack as a port, used as a server without DPDK would use it. Each frame is the payload of one
// datagram. Frames are copied between buffers and the kernel. Many go with one system call (recvmmsg(2), sendmmsg(2)).
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "datapath/frame/size.hpp"
#include "datapath/ports/eth.hpp"
#include "operators/support/dpdk/dpdk.hpp"

namespace dpubench::datapath {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::uint32_t kIpUdpHeaders = 28;
/// Bytes that the kernel accounts for a received datagram besides its payload (skb and alignment), roughly.
constexpr std::uint32_t kSkbBytes = 768;
/// Most pieces of a frame that go to the kernel.
constexpr std::size_t kMaxPieces = 8;
/// Time within which a refusal comes back from a peer that is not there.
constexpr std::chrono::milliseconds kRefusalComes{50};
constexpr std::chrono::milliseconds kProbeEvery{1};

struct Endpoint {
  std::string text;
  sockaddr_in address{};

  /// Return the address with a port number that is higher by `offset`. @throws Error when there is no such number
  [[nodiscard]] sockaddr_in at(std::uint32_t offset) const {
    const std::uint32_t port = ntohs(address.sin_port) + offset;
    if (port > 65535) throw Error("port socket: " + text + ": there are no " + std::to_string(offset) + " port numbers above it");
    sockaddr_in moved = address;
    moved.sin_port = htons(static_cast<std::uint16_t>(port));
    return moved;
  }
};

Endpoint parse(const std::string& name, const std::string& text) {
  Endpoint endpoint{text, {}};
  endpoint.address.sin_family = AF_INET;
  const std::size_t colon = text.rfind(':');
  const std::string host = text.substr(0, colon);
  const unsigned long port = colon == std::string::npos ? 0 : std::strtoul(text.c_str() + colon + 1, nullptr, 10);
  const bool digits = colon != std::string::npos && text.find_first_not_of("0123456789", colon + 1) == std::string::npos;
  if (inet_pton(AF_INET, host.c_str(), &endpoint.address.sin_addr) != 1 || !digits || port == 0 || port > 65535) {
    throw Error("port socket: " + name + "=" + text + ": must be an IPv4 address and a port number, such as 127.0.0.1:47000");
  }
  endpoint.address.sin_port = htons(static_cast<std::uint16_t>(port));
  return endpoint;
}

/// A UDP socket between two addresses.
class Udp {
 public:
  /// Bind and connect the socket. @throws Error when the address is in use or not of this machine, or there is no way to the peer
  Udp(const sockaddr_in& local, const sockaddr_in& peer)
      : number_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    if (number_ < 0) throw Error(std::string("port socket: socket: ") + std::strerror(errno));
    if (bind(number_, reinterpret_cast<const sockaddr*>(&local), sizeof local) != 0) {
      fail("local", local,
           errno == EADDRINUSE ? "is in use: end the program that has it (ss -ulnp), or give another port number"
           : errno == EACCES   ? "is not for this user: give a port number from 1024 on, or run as root"
                               : std::string(std::strerror(errno)) + ": it must be an address of this machine (ip address)");
    }
    if (connect(number_, reinterpret_cast<const sockaddr*>(&peer), sizeof peer) != 0) {
      fail("peer", peer, std::string(std::strerror(errno)) + ": see `ip route get`");
    }
  }
  Udp(Udp&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Udp& operator=(Udp&&) = delete;
  Udp(const Udp&) = delete;
  Udp& operator=(const Udp&) = delete;
  ~Udp() {
    if (number_ >= 0) close(number_);
  }
  [[nodiscard]] int get() const { return number_; }
  [[nodiscard]] int option(int level, int name) const {
    int value = 0;
    socklen_t length = sizeof value;
    return getsockopt(number_, level, name, &value, &length) == 0 ? value : -1;
  }
  void set(int level, int name, int value) const { static_cast<void>(setsockopt(number_, level, name, &value, sizeof value)); }

 private:
  [[noreturn]] void fail(const char* which, const sockaddr_in& address, const std::string& what) {
    char text[INET_ADDRSTRLEN] = "";
    inet_ntop(AF_INET, &address.sin_addr, text, sizeof text);
    close(std::exchange(number_, -1));
    throw Error(std::string("port socket: ") + which + "=" + text + ":" + std::to_string(ntohs(address.sin_port)) + " " + what);
  }
  int number_;
};

/// A queue: a socket, and the memory for its system calls. Buffers that the kernel did not fill wait for the next call.
struct alignas(RTE_CACHE_LINE_SIZE) Queue {
  explicit Queue(Udp socket) : udp(std::move(socket)) {}
  Udp udp;
  std::array<rte_mbuf*, kMaxPacketBurst> spare{};
  std::uint16_t spares = 0;
  std::array<mmsghdr, kMaxPacketBurst> messages{};
  std::array<iovec, kMaxPacketBurst * kMaxPieces> pieces{};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(std::uint32_t))> control{};
  std::uint64_t received = 0;
  std::uint64_t transmitted = 0;
  std::uint64_t cut_off = 0;
  std::uint64_t not_sent = 0;
  std::uint64_t dropped = 0;  ///< dropped by the kernel, for want of room in the socket
};

class SocketPort final : public Port {
 public:
  SocketPort(const Endpoint& local, const Endpoint& peer, const PortResources& resources, std::uint32_t buffer_bytes)
      : pool_(resources.pool),
        room_(rte_pktmbuf_data_room_size(resources.pool) - RTE_PKTMBUF_HEADROOM),
        control_(local.at(resources.queues), peer.at(resources.queues)) {
    for (std::uint16_t i = 0; i < resources.queues; ++i) {
      Queue& queue = *queues_.emplace_back(std::make_unique<Queue>(Udp(local.at(i), peer.at(i))));
      const Udp& udp = queue.udp;
      // Forbid fragments: a datagram in fragments costs other work than a whole one.
      udp.set(IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO);
      udp.set(SOL_SOCKET, SO_RXQ_OVFL, 1);
      for (const auto& [forced, plain] : {std::pair(SO_RCVBUFFORCE, SO_RCVBUF), std::pair(SO_SNDBUFFORCE, SO_SNDBUF)}) {
        const int wanted = static_cast<int>(buffer_bytes);
        if (setsockopt(udp.get(), SOL_SOCKET, forced, &wanted, sizeof wanted) != 0) udp.set(SOL_SOCKET, plain, wanted);
      }
      prepare(queue);
    }
    const Udp& first = queues_.front()->udp;
    const int mtu = first.option(IPPROTO_IP, IP_MTU);
    const std::uint32_t needed = resources.max_frame - kFcsBytes + kIpUdpHeaders;
    if (mtu > 0 && static_cast<std::uint32_t>(mtu) < needed) {
      throw Error("port socket: the path to " + peer.text + " has an MTU of " + std::to_string(mtu) + ", but frames of " +
                  std::to_string(resources.max_frame) + " bytes in datagrams need " + std::to_string(needed) +
                  ": give frames of at most " + std::to_string(mtu - kIpUdpHeaders + kFcsBytes) +
                  " bytes, or raise the MTU on the whole path (ip link set dev ... mtu " + std::to_string(needed) + ")");
    }
    const auto receive_bytes = static_cast<std::uint32_t>(std::max(0, first.option(SOL_SOCKET, SO_RCVBUF)));
    queue_packets_ = receive_bytes / (kSkbBytes + resources.max_frame) * resources.queues;
    info_ = {.kind = "socket",
             .driver = "kernel UDP socket",
             .detail = local.text + " to " + peer.text + ", receive buffer of " + std::to_string(receive_bytes >> 10) + " KiB",
             .is_virtual = true,
             .shares_buffers = false,
             .mtu_frame = resources.max_frame};
  }
  SocketPort(const SocketPort&) = delete;
  SocketPort& operator=(const SocketPort&) = delete;
  ~SocketPort() override {
    for (const auto& queue : queues_) rte_pktmbuf_free_bulk(queue->spare.data(), queue->spares);
  }

  [[nodiscard]] const PortInfo& info() const override { return info_; }

  std::uint16_t receive(std::uint16_t number, rte_mbuf** packets, std::uint16_t n) noexcept override {
    Queue& queue = *queues_[number];
    n = fill_spares(queue, n);
    if (n == 0) return 0;
    for (std::uint16_t i = 0; i < n; ++i) {
      queue.pieces[i] = {rte_pktmbuf_mtod(queue.spare[i], void*), room_};
      msghdr& header = queue.messages[i].msg_hdr;
      header.msg_iov = &queue.pieces[i];
      header.msg_iovlen = 1;
      header.msg_control = nullptr;
      header.msg_controllen = 0;
    }
    // Only the first datagram asks for the kernel's count of drops.
    queue.messages[0].msg_hdr.msg_control = queue.control.data();
    queue.messages[0].msg_hdr.msg_controllen = queue.control.size();
    const int got = recvmmsg(queue.udp.get(), queue.messages.data(), n, MSG_DONTWAIT, nullptr);
    return got <= 0 ? 0 : take(queue, static_cast<std::uint16_t>(got), packets);
  }

  std::uint16_t transmit(std::uint16_t number, rte_mbuf* const* packets, std::uint16_t n) noexcept override {
    Queue& queue = *queues_[number];
    n = std::min<std::uint16_t>(n, kMaxPacketBurst);
    std::size_t piece = 0;
    for (std::uint16_t i = 0; i < n; ++i) {
      msghdr& header = queue.messages[i].msg_hdr;
      header.msg_iov = &queue.pieces[piece];
      header.msg_iovlen = 0;
      header.msg_control = nullptr;
      header.msg_controllen = 0;
      for (rte_mbuf* part = packets[i]; part != nullptr && header.msg_iovlen < kMaxPieces; part = part->next) {
        queue.pieces[piece++] = {rte_pktmbuf_mtod(part, void*), part->data_len};
        ++header.msg_iovlen;
      }
    }
    const int sent = n == 0 ? 0 : sendmmsg(queue.udp.get(), queue.messages.data(), n, MSG_DONTWAIT);
    if (sent <= 0) {
      queue.not_sent += n;
      return 0;
    }
    queue.transmitted += static_cast<std::uint64_t>(sent);
    queue.not_sent += n - static_cast<std::uint64_t>(sent);
    // Only the array is const: the packets are the port's now.
    rte_pktmbuf_free_bulk(const_cast<rte_mbuf**>(packets), static_cast<unsigned>(sent));
    return static_cast<std::uint16_t>(sent);
  }

  /// Return whether the other side is there. UDP knows no peer, so a probe goes to a socket that the other side has besides
  /// those of its queues. The port is up when a probe came from there, or when no refusal (ICMP) came for the time that one
  /// takes.
  [[nodiscard]] bool is_up() const noexcept override {
    const auto now = Steady::now();
    if (now - probed_ < kProbeEvery) return up_;
    probed_ = now;
    const char probe = 0;
    char answer[16];
    bool refused = send(control_.get(), &probe, sizeof probe, MSG_DONTWAIT) < 0;
    bool heard = false;
    for (int i = 0; i < 64; ++i) {
      if (recv(control_.get(), answer, sizeof answer, MSG_DONTWAIT) >= 0) {
        heard = true;
      } else if (errno == EAGAIN) {
        break;
      } else {
        refused = true;
      }
    }
    if (refused || first_probe_ == Steady::time_point{}) first_probe_ = now;
    up_ = !refused && (up_ || heard || now - first_probe_ > kRefusalComes);
    return up_;
  }

  [[nodiscard]] std::map<std::string, std::uint64_t> counters() const override {
    std::map<std::string, std::uint64_t> all;
    for (const auto& queue : queues_) {
      all["received"] += queue->received;
      all["transmitted"] += queue->transmitted;
      all["not_sent"] += queue->not_sent;
      all["cut_off"] += queue->cut_off;
      all["kernel_drops"] += queue->dropped;
    }
    return all;
  }
  [[nodiscard]] std::uint32_t queue_packets() const noexcept override { return queue_packets_; }

 private:
  static void prepare(Queue& queue) {
    for (mmsghdr& message : queue.messages) message = {};
  }

  /// Fill up the spare buffers. @return how many of `n` there are
  std::uint16_t fill_spares(Queue& queue, std::uint16_t n) const noexcept {
    n = std::min<std::uint16_t>(n, kMaxPacketBurst);
    if (queue.spares >= n) return n;
    if (rte_pktmbuf_alloc_bulk(pool_, queue.spare.data() + queue.spares, static_cast<unsigned>(n - queue.spares)) == 0) {
      queue.spares = n;
    }
    return queue.spares;
  }

  /// Hand out the first `got` spare buffers, which the kernel has filled. @return how many packets are whole
  static std::uint16_t take(Queue& queue, std::uint16_t got, rte_mbuf** packets) noexcept {
    const msghdr& first = queue.messages[0].msg_hdr;
    if (const cmsghdr* const told = CMSG_FIRSTHDR(&first); told != nullptr && told->cmsg_type == SO_RXQ_OVFL) {
      std::uint32_t total = 0;
      std::memcpy(&total, CMSG_DATA(told), sizeof total);
      // The kernel's count has 32 bits and goes on for the life of the socket.
      queue.dropped += static_cast<std::uint32_t>(total - static_cast<std::uint32_t>(queue.dropped));
    }
    std::uint16_t kept = 0;
    for (std::uint16_t i = 0; i < got; ++i) {
      rte_mbuf* const packet = queue.spare[i];
      if ((queue.messages[i].msg_hdr.msg_flags & MSG_TRUNC) != 0) [[unlikely]] {
        ++queue.cut_off;
        rte_pktmbuf_free(packet);
        continue;
      }
      packet->data_len = static_cast<std::uint16_t>(queue.messages[i].msg_len);
      packet->pkt_len = queue.messages[i].msg_len;
      packets[kept++] = packet;
    }
    queue.received += got;
    queue.spares = static_cast<std::uint16_t>(queue.spares - got);
    std::copy_n(queue.spare.begin() + got, queue.spares, queue.spare.begin());
    return kept;
  }

  rte_mempool* pool_;
  std::size_t room_;
  Udp control_;
  std::vector<std::unique_ptr<Queue>> queues_;
  PortInfo info_;
  std::uint32_t queue_packets_ = 0;
  mutable Steady::time_point probed_;
  mutable Steady::time_point first_probe_;
  mutable bool up_ = false;
};

class Socket final : public PortKind {
 public:
  [[nodiscard]] const PortKindInfo& info() const override {
    static const PortKindInfo info{
        .name = "socket",
        .summary = "the kernel's UDP stack: each frame is the payload of a datagram",
        .arguments = {{"local",
                       "IPv4 address and port number of this side; further queues and a control socket take the next numbers", "",
                       true},
                      {"peer", "IPv4 address and port number of the other side", "", true},
                      {"buffer_kib", "the kernel's buffer for each socket and direction", "8192"}},
        .kernel_receives = true,
    };
    return info;
  }

  [[nodiscard]] std::unique_ptr<Port> open(const PortSpec& spec, const PortResources& resources) const override {
    const Endpoint local = parse("local", argument(info(), spec, "local"));
    const Endpoint peer = parse("peer", argument(info(), spec, "peer"));
    const std::uint32_t kib = number_argument(info(), spec, "buffer_kib", 4, 1U << 20);
    return std::make_unique<SocketPort>(local, peer, resources, kib << 10);
  }
};

DPUBENCH_PORT(Socket);

}  // namespace
}  // namespace dpubench::datapath
