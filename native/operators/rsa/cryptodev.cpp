// rsa, engines cryptodev: DPDK's crypto devices sign and verify digests (PKCS #1 v1.5). They hash nothing in asymmetric
// operations, and have PSS and OAEP in few drivers.
// requires: libdpdk >= 22.11
// cxxflags: -DALLOW_EXPERIMENTAL_API

#include "operators/support/cryptodev.hpp"
#include "operators/support/pkey.hpp"

namespace dpubench {
namespace {

using cryptodev::Device;
using cryptodev::Provider;
using cryptodev::require;
using Bytes = std::vector<std::byte>;

/// RFC 8017 section 9.2, note 1: what stands before a SHA-256 digest in a DigestInfo.
constexpr std::array<std::uint8_t, 19> kSha256Info = {0x30, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01,
                                                      0x65, 0x03, 0x04, 0x02, 0x01, 0x05, 0x00, 0x04, 0x20};

/// The INTEGERs of a DER SEQUENCE, as big-endian bytes without leading zeros. @throws Error when it is none
std::vector<Bytes> integers(const Bytes& der) {
  std::size_t at = 0;
  const auto take = [&] {
    if (at >= der.size()) throw Error("the key ends too early");
    return std::to_integer<std::size_t>(der[at++]);
  };
  const auto length = [&] {
    std::size_t n = take();
    if (n < 128) return n;
    std::size_t value = 0;
    for (n &= 127; n != 0; --n) value = value << 8 | take();
    return value;
  };
  if (take() != 0x30) throw Error("the key is no DER sequence");
  static_cast<void>(length());
  std::vector<Bytes> found;
  while (at < der.size()) {
    if (take() != 0x02) throw Error("the key holds something else than numbers");
    const std::size_t n = length();
    if (n > der.size() - at) throw Error("the key ends too early");
    const auto begin = der.begin() + static_cast<std::ptrdiff_t>(at);
    const auto end = begin + static_cast<std::ptrdiff_t>(n);
    found.emplace_back(std::find_if(begin, end, [](std::byte b) { return b != std::byte{}; }), end);
    at += n;
  }
  return found;
}

/// A key in the words of DPDK.
struct Key {
  std::vector<Bytes> numbers;  ///< RSAPublicKey: n, e; RSAPrivateKey: 0, n, e, d, p, q, dP, dQ, qInv (RFC 8017 appendix A.1)
  bool is_public = false;

  [[nodiscard]] rte_crypto_asym_xform xform() const {
    const auto number = [this](std::size_t i) {
      // DPDK reads it.
      auto* const data = const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(numbers.at(i).data()));
      return rte_crypto_uint{data, 0, numbers.at(i).size()};
    };
    rte_crypto_asym_xform x{};
    x.xform_type = RTE_CRYPTO_ASYM_XFORM_RSA;
    x.rsa.n = number(is_public ? 0 : 1);
    x.rsa.e = number(is_public ? 1 : 2);
    x.rsa.key_type = is_public ? RTE_RSA_KEY_TYPE_EXP : RTE_RSA_KEY_TYPE_QT;
    if (is_public) {
      x.rsa.d = x.rsa.e;  // drivers want one; verifying does not use it
    } else {
      x.rsa.qt = {number(4), number(5), number(6), number(7), number(8)};
    }
    return x;
  }
};

/// One thread's operations on a queue pair (a Queue of dpdk::QueueLane).
class RsaQueue {
 public:
  using Op = rte_crypto_op;

  RsaQueue(const Provider& provider, dpdk::Ordinals& ordinals, const Key& key, bool sign) : lease_(ordinals), sign_(sign) {
    std::tie(device_, queue_pair_) = provider.device(lease_.number());
    const std::scoped_lock lock(device_mutex());
    rte_crypto_asym_xform xform = key.xform();
    const int failed =
        rte_cryptodev_asym_session_create(device_->id, &xform, cryptodev::asymmetric_sessions(*device_), &session_);
    if (failed != 0) throw Error("DPDK: rte_cryptodev_asym_session_create on " + device_->name + ": " + rte_strerror(-failed));
    memory_ = static_cast<std::byte*>(rte_zmalloc("dpubench operations", kJobs * kSlotBytes, RTE_CACHE_LINE_SIZE));
    if (memory_ == nullptr) {
      rte_cryptodev_asym_session_free(device_->id, session_);
      throw Error("DPDK has no memory left for " + std::to_string(kJobs) + " operations of a thread");
    }
    const rte_iova_t address = rte_malloc_virt2iova(memory_);
    for (std::uint32_t i = 0; i < kJobs; ++i) {
      Op* const op = reinterpret_cast<Op*>(memory_ + i * kSlotBytes);
      __rte_crypto_op_reset(op, RTE_CRYPTO_OP_TYPE_ASYMMETRIC);
      op->phys_addr = address + i * kSlotBytes;
      rte_crypto_op_attach_asym_session(op, static_cast<rte_cryptodev_asym_session*>(session_));
      rte_crypto_rsa_op_param& rsa = rsa_of(op);
      rsa.op_type = sign_ ? RTE_CRYPTO_ASYM_OP_SIGN : RTE_CRYPTO_ASYM_OP_VERIFY;
      rsa.padding.type = RTE_CRYPTO_RSA_PADDING_PKCS1_5;
      rsa.padding.hash = RTE_CRYPTO_AUTH_SHA256;
      std::copy(kSha256Info.begin(), kSha256Info.end(), own(op).message.begin());
      rsa.message = {own(op).message.data(), op->phys_addr + kPrivateAt + offsetof(Private, message), own(op).message.size()};
      operations_.push_back(op);
    }
  }
  RsaQueue(const RsaQueue&) = delete;
  RsaQueue& operator=(const RsaQueue&) = delete;
  ~RsaQueue() {
    const std::scoped_lock lock(device_mutex());
    rte_cryptodev_asym_session_free(device_->id, session_);
    rte_free(memory_);
  }

  [[nodiscard]] std::span<Op* const> operations() const { return operations_; }
  static dpdk::Tag& tag(Op* op) noexcept { return own(op).tag; }
  [[nodiscard]] dpdk::Turn& turn() noexcept { return device_->turns[queue_pair_]; }
  void attach(std::span<std::byte> memory) {
    if (device_->is_hardware()) mapping_ = dpdk::Mapping(*device_->device, memory);
  }

  void fill(Op* op, const Burst& burst, std::uint32_t i) noexcept {
    op->status = RTE_CRYPTO_OP_STATUS_NOT_PROCESSED;
    std::memcpy(own(op).message.data() + kSha256Info.size(), burst.in[i], kDigestBytes);
    rte_crypto_param& signature = rsa_of(op).sign;
    const std::byte* data = burst.out[i];
    std::uint32_t length = 0;
    if (!sign_) {
      std::memcpy(&length, burst.aux[i], sizeof length);
      data = burst.aux[i] + sizeof length;
    }
    signature = {const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(data)), reinterpret_cast<std::uintptr_t>(data),
                 length};
  }

  bool complete(Op* op, Burst& burst, std::uint32_t i) noexcept {
    burst.status[i] = op->status == RTE_CRYPTO_OP_STATUS_SUCCESS ? kStatusOk : kStatusRejected;
    if (sign_) burst.out_len[i] = static_cast<std::uint32_t>(rsa_of(op).sign.length);
    return true;
  }

  std::uint16_t enqueue(Op** ops, std::uint16_t n) noexcept {
    return rte_cryptodev_enqueue_burst(device_->id, queue_pair_, ops, n);
  }
  static bool refused(const Op* op) noexcept { return op->status != RTE_CRYPTO_OP_STATUS_NOT_PROCESSED; }
  std::uint16_t dequeue(Op** ops, std::uint16_t n) noexcept {
    return rte_cryptodev_dequeue_burst(device_->id, queue_pair_, ops, n);
  }

  static constexpr std::uint32_t kJobs = dpdk::kQueueJobs;

 private:
  struct Private {
    std::array<std::uint8_t, kSha256Info.size() + kDigestBytes> message;  ///< DigestInfo
    dpdk::Tag tag;
  };
  static constexpr std::size_t kPrivateAt = sizeof(rte_crypto_op) + sizeof(rte_crypto_asym_op);
  static constexpr std::size_t kSlotBytes = RTE_CACHE_LINE_ROUNDUP(kPrivateAt + sizeof(Private));
  static Private& own(Op* op) noexcept { return *reinterpret_cast<Private*>(reinterpret_cast<std::byte*>(op) + kPrivateAt); }
  static rte_crypto_rsa_op_param& rsa_of(Op* op) noexcept { return reinterpret_cast<rte_crypto_asym_op*>(op + 1)->rsa; }

  dpdk::Ordinals::Lease lease_;
  bool sign_;
  Device* device_ = nullptr;
  std::uint16_t queue_pair_ = 0;
  void* session_ = nullptr;
  std::byte* memory_ = nullptr;
  std::vector<Op*> operations_;
  dpdk::Mapping mapping_;
};

/// Why a device does not do this; empty if it does.
std::string device_lacks(const Device& device, bool sign, std::uint32_t key_bits) {
  const rte_cryptodev_asym_capability_idx index = {RTE_CRYPTO_ASYM_XFORM_RSA};
  const auto* const found = rte_cryptodev_asym_capability_get(device.id, &index);
  const auto type = sign ? RTE_CRYPTO_ASYM_OP_SIGN : RTE_CRYPTO_ASYM_OP_VERIFY;
  if (found == nullptr || rte_cryptodev_asym_xform_capability_check_optype(found, type) == 0) {
    return device.driver + " does not have RSA";
  }
  const bool fits = rte_cryptodev_asym_xform_capability_check_modlen(found, static_cast<std::uint16_t>(key_bits / 8)) == 0;
  return fits ? "" : device.driver + " has RSA, but not with " + std::to_string(key_bits) + " bits";
}

class RsaSession final : public Session {
 public:
  RsaSession(const Provider& provider, Key key, bool sign) : provider_(provider), key_(std::move(key)), sign_(sign) {
    const Device* const device = provider_.device(0).first;
    const auto bits = static_cast<std::uint32_t>(key_.numbers.at(key_.is_public ? 0 : 1).size() * 8);
    if (const std::string reason = device_lacks(*device, sign_, bits); !reason.empty()) throw Error(reason);
    path_ = {device->is_hardware() ? "device" : "chosen by library",
             "rte_cryptodev_enqueue_burst, RSA; the 32 bytes of a digest are copied behind their DigestInfo",
             device->is_hardware(),
             device->driver,
             device->name,
             RsaQueue::kJobs};
  }
  std::unique_ptr<Lane> open() override {
    return std::make_unique<dpdk::QueueLane<RsaQueue>>(std::make_unique<RsaQueue>(provider_, ordinals_, key_, sign_));
  }
  [[nodiscard]] PathInfo path() const override { return path_; }

 private:
  Provider provider_;
  dpdk::Ordinals ordinals_;
  Key key_;
  bool sign_;
  PathInfo path_;
};

class Rsa final : public cryptodev::DeviceEngine {
 public:
  explicit Rsa(Provider provider) : DeviceEngine("rsa", std::move(provider)) {}

  [[nodiscard]] std::string unsupported(const Params& params) const override {
    if (!params.is("padding", "pkcs1")) return "PKCS #1 v1.5 only: few drivers have PSS or OAEP";
    if (params.is("input", "message")) return "devices sign what was hashed: input=digest";
    if (provider().is_software()) {
      // 22.11: process_openssl_rsa_op_evp compares what the signature holds with the message, logs, and reports success.
      return params.is("operation", "verify") ? "crypto_openssl accepts a signature of another message (DPDK 22.11)" : "";
    }
    return dpdk::reason_of([&] {
      return device_lacks(*provider().device(0).first, params.is("operation", "sign"),
                          static_cast<std::uint32_t>(params.number("key_bits")));
    });
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& any) const override {
    const auto& work = static_cast<const PkeyWork&>(any);
    return std::make_unique<RsaSession>(provider(), Key{integers(work.key), work.key_is_public},
                                        work.operation == PkeyWork::Operation::kSign);
  }
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  using namespace dpubench::cryptodev;
  for (const Provider& provider : {named_device(), openssl()}) sink.add(std::make_unique<dpubench::Rsa>(provider));
}
