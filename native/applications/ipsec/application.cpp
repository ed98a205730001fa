// ipsec: the tunnels of a security gateway, and the gateway at their other end.
// requires: libcrypto >= 3.0
#include <algorithm>
#include <memory>
#include <optional>
#include <unordered_map>

#include "applications/application.hpp"
#include "applications/frames.hpp"
#include "applications/ipsec/esp.hpp"
#include "base/byte_order.hpp"
#include "inputs/capture.hpp"
#include "inputs/random.hpp"
#include "measure/region.hpp"
#include "packet/headers.hpp"

namespace dpubench::applications {
namespace {

const ApplicationInfo& info() {
  static const ApplicationInfo info{
      .name = "ipsec",
      .summary =
          "ESP tunnels between two gateways: association by destination, sealing, sequence numbers, opening with replay window",
      .definition =
          "Every IP packet of a capture goes into the tunnel of its destination; a destination gets its tunnel with its first "
          "packet. The tunnel is ESP in tunnel mode with padding, sequence number and an outer IPv4 header. The other gateway "
          "finds the association by its SPI, checks replay window, authenticity and padding, and takes the packet out. Every "
          "64th ESP packet arrives twice. The output is a capture of the ESP packets. A record is a packet. Verified: the "
          "packets that come out are those that went in, packets that arrive twice are accepted once, no ESP packet holds "
          "plaintext, and one changed bit is always found.",
      .inputs = {{"capture", "packets to protect"}},
      .operators = {"aes", "hmac", "sha256", "checksum"},
      .parameters =
          {{.name = "algorithm",
            .summary = "algorithm of the tunnels",
            .values = {"aes-gcm", "aes-cbc-hmac-sha-256-128"},
            .default_value = "aes-gcm",
            .is_mode = true,
            .unit = {}},
           {.name = "key_bits", .summary = "length of the AES key", .values = {"128", "256"}, .default_value = "128", .unit = {}},
           {.name = "tunnels",
            .summary = "number of tunnels, which the destinations share",
            .values = {"16", "1024"},
            .default_value = "16",
            .unit = "1",
            .min = 1,
            .max = 65536}},
      .sources = {"RFC 4303", "RFC 4106", "RFC 3602", "RFC 4868 section 2.1", "RFC 4301 section 4.4"},
  };
  return info;
}

constexpr std::uint32_t kFirstSpi = 0x1000;  // RFC 4303, section 2.1: 1 to 255 are reserved
constexpr std::uint64_t kReplayEvery = 64;
constexpr std::uint64_t kSeed = 4303;

/// Return random keys in place of keys that the gateways would negotiate (RFC 7296).
SaKeys draw_keys(const Params& params, std::uint32_t number, inputs::Random& random) {
  SaKeys keys;
  keys.algorithm = params.is("algorithm", "aes-gcm") ? Algorithm::kGcm : Algorithm::kCbcHmac;
  keys.spi = kFirstSpi + number;
  keys.cipher.resize(params.number("key_bits") / 8);
  random.fill(keys.cipher);
  random.fill(keys.integrity);
  random.fill(keys.salt);
  keys.local = {std::byte{192}, std::byte{0}, std::byte{2}, std::byte{1}};  // RFC 5737
  keys.remote = {std::byte{198}, std::byte{51}, static_cast<std::byte>(number >> 8 & 0xffU),
                 static_cast<std::byte>(number & 0xffU)};
  return keys;
}

/// The destination address of a packet, in 16 bytes.
using Destination = std::array<std::byte, 16>;
struct HashDestination {
  std::size_t operator()(const Destination& destination) const {
    std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
    for (const std::byte byte : destination) hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3;
    return static_cast<std::size_t>(hash);
  }
};
/// Return the destination of a packet, or nothing if its header is cut off.
std::optional<Destination> destination_of(std::span<const std::byte> packet) {
  if (packet.empty()) return std::nullopt;
  const bool is6 = wire::u8(packet, 0) >> 4 == 6;
  const std::size_t at = is6 ? packet::ip6::kDestination : packet::ip4::kDestination;
  const std::size_t bytes = is6 ? 16 : 4;
  if (packet.size() < at + bytes) return std::nullopt;
  Destination destination{};
  std::copy_n(packet.begin() + static_cast<std::ptrdiff_t>(at), bytes, destination.begin());
  return destination;
}

/// The gateway that seals packets.
class Sender {
 public:
  explicit Sender(const Params& params) : params_(params), random_(kSeed), most_(params.number("tunnels")) {}
  /// Seal a packet and append the ESP packet. @returns the keys of a tunnel that it had to create first, else null
  const SaKeys* send(const Destination& destination, std::span<const std::byte> packet, std::vector<std::byte>& out) {
    const auto [policy, is_new] = policies_.try_emplace(destination, next_);
    const SaKeys* made = nullptr;
    if (is_new) {
      if (next_ == tunnels_.size()) {
        keys_.push_back(std::make_unique<SaKeys>(draw_keys(params_, next_, random_)));
        tunnels_.push_back(std::make_unique<Outbound>(*keys_.back()));
        made = keys_.back().get();
      }
      next_ = static_cast<std::uint32_t>((next_ + 1) % most_);
    }
    tunnels_[policy->second]->protect(packet, out);
    return made;
  }
  [[nodiscard]] std::size_t tunnels() const { return tunnels_.size(); }
  [[nodiscard]] const SaKeys& keys(std::size_t tunnel) const { return *keys_[tunnel]; }

 private:
  Params params_;
  inputs::Random random_;
  std::uint64_t most_;
  std::uint32_t next_ = 0;
  std::unordered_map<Destination, std::uint32_t, HashDestination> policies_;
  std::vector<std::unique_ptr<SaKeys>> keys_;
  std::vector<std::unique_ptr<Outbound>> tunnels_;
};

/// The gateway that opens packets.
class Receiver {
 public:
  void add(const SaKeys& keys) { tunnels_.emplace(keys.spi, std::make_unique<Inbound>(keys)); }
  /// Open a packet. @param packet  from the outer IP header on, untrusted
  Verdict receive(std::span<const std::byte> packet, std::vector<std::byte>& out) {
    if (packet.size() < kOuterHeader + kEspHeader || wire::u8(packet, 0) != 0x45 ||
        wire::u8(packet, packet::ip4::kProtocol) != packet::protocol::kEsp)
      return Verdict::kMalformed;
    const std::size_t length = wire::be16(packet, packet::ip4::kTotalLength);
    if (length < kOuterHeader + kEspHeader || length > packet.size()) return Verdict::kMalformed;
    const std::span<const std::byte> esp = packet.subspan(kOuterHeader, length - kOuterHeader);
    const auto tunnel = tunnels_.find(wire::be32(esp, 0));
    return tunnel == tunnels_.end() ? Verdict::kMalformed : tunnel->second->open(esp, out);
  }

 private:
  std::unordered_map<std::uint32_t, std::unique_ptr<Inbound>> tunnels_;
};

class Ipsec final : public Application {
 public:
  void run(const Task& task) override {
    const std::filesystem::path& path = task.file("capture");
    const std::vector<std::byte> file = read_input(path, "capture", task.limit_bytes);
    const inputs::Capture capture = inputs::parse_capture(file, path.string());
    sender_.emplace(task.params);
    Receiver receiver;
    std::vector<std::byte> sealed;
    begin_capture(output, kLinkRaw);
    for (const inputs::Packet& packet : capture.packets) {
      measure::next_message();
      const auto destination = destination_of(capture.ip(packet));
      if (!destination) {
        ++cut_off_;
        continue;
      }
      sealed.clear();
      if (const SaKeys* const made = sender_->send(*destination, capture.ip(packet), sealed)) receiver.add(*made);
      append_frame(output, packet.time_ns / 1000, static_cast<std::uint32_t>(sealed.size()));
      append(output, sealed);
      count(receiver.receive(sealed, opened_));
      if (++records % kReplayEvery == 0) count(receiver.receive(sealed, opened_));
    }
    input_bytes = file.size();
    facts = {{"tunnels", sender_->tunnels()}, {"accepted", counts_[0]}, {"malformed", counts_[1]}, {"replayed", counts_[2]},
             {"not_authentic", counts_[3]},   {"padding", counts_[4]},  {"cut_off", cut_off_}};
  }

  void verify(const Task& task) const override {
    const std::filesystem::path& path = task.file("capture");
    const inputs::Capture capture = inputs::parse_capture(read_input(path, "capture", task.limit_bytes), path.string());
    std::vector<std::byte> expected;
    for (const inputs::Packet& packet : capture.packets) {
      if (destination_of(capture.ip(packet))) append(expected, capture.ip(packet));
    }
    if (opened_ != expected) throw Error("ipsec: the packets that came out of the tunnels differ from those that went in");
    if (counts_[0] != records || counts_[2] != records / kReplayEvery || counts_[1] + counts_[3] + counts_[4] != 0)
      throw Error("ipsec: correct packets were refused, or packets were accepted twice");
    check_sealed();
  }

 private:
  void count(Verdict verdict) { ++counts_.at(static_cast<std::size_t>(verdict)); }

  /// Check the ESP packets with a new receiver. The receiver sees each packet first with one bit changed, somewhere behind the
  /// SPI, and then unchanged.
  void check_sealed() const {
    Receiver receiver;
    for (std::size_t tunnel = 0; tunnel < sender_->tunnels(); ++tunnel) receiver.add(sender_->keys(tunnel));
    FrameReader reader(output, "the output");
    FrameReader::Frame frame;
    inputs::Random random(kSeed);
    std::vector<std::byte> opened;
    std::size_t at = 0;
    for (std::uint64_t number = 1; reader.next(frame); ++number) {
      std::vector<std::byte> changed(frame.bytes.begin(), frame.bytes.end());
      const std::size_t place = kOuterHeader + 4 + random.below(changed.size() - kOuterHeader - 4);
      changed[place] ^= static_cast<std::byte>(1U << random.below(8));
      if (receiver.receive(changed, opened) == Verdict::kAccepted)
        throw Error("ipsec: ESP packet " + std::to_string(number) + " was accepted with a changed bit");
      opened.clear();
      if (receiver.receive(frame.bytes, opened) != Verdict::kAccepted)
        throw Error("ipsec: ESP packet " + std::to_string(number) + " cannot be opened a second time");
      const auto plain = std::span(opened_).subspan(at, opened.size());
      // The packet's first 20 bytes must not occur in the ESP packet. A coincidence of 20 bytes does not happen.
      if (std::search(frame.bytes.begin() + kOuterHeader, frame.bytes.end(), plain.begin(), plain.begin() + 20) !=
          frame.bytes.end())
        throw Error("ipsec: ESP packet " + std::to_string(number) + " holds plaintext");
      at += opened.size();
      opened.clear();
    }
    if (at != opened_.size()) throw Error("ipsec: the output does not hold every packet");
  }

  std::optional<Sender> sender_;
  std::vector<std::byte> opened_;
  std::array<std::uint64_t, 5> counts_{};
  std::uint64_t cut_off_ = 0;
};

}  // namespace

DPUBENCH_APPLICATION(info, Ipsec)

}  // namespace dpubench::applications
