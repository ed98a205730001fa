// aes, engine ipsec-mb: cipher bursts (CBC, CTR) and direct GCM calls.
// requires: lib:IPSec_MB intel-ipsec-mb.h
// arch: x86_64

#include <cstring>
#include <limits>

#include "operators/aes/work.hpp"
#include "operators/support/ipsec_mb/ipsec_mb.hpp"

namespace dpubench::aes {
namespace {

using ipsec_mb::bytes;
using ipsec_mb::ManagerPtr;

struct Keys {
  alignas(64) std::array<std::uint8_t, kBlockBytes * 15> encrypt{};
  alignas(64) std::array<std::uint8_t, kBlockBytes * 15> decrypt{};
  gcm_key_data gcm{};
  IMB_KEY_SIZE_BYTES size = IMB_KEY_128_BYTES;
};

std::shared_ptr<const Keys> expand(const AesWork& work) {
  const ManagerPtr manager = ipsec_mb::make_manager();
  auto keys = std::make_shared<Keys>();
  if (work.key_bits() == 128) {
    IMB_AES_KEYEXP_128(manager.get(), work.key.data(), keys->encrypt.data(), keys->decrypt.data());
    IMB_AES128_GCM_PRE(manager.get(), work.key.data(), &keys->gcm);
  } else {
    keys->size = IMB_KEY_256_BYTES;
    IMB_AES_KEYEXP_256(manager.get(), work.key.data(), keys->encrypt.data(), keys->decrypt.data());
    IMB_AES256_GCM_PRE(manager.get(), work.key.data(), &keys->gcm);
  }
  return keys;
}

/// CBC and CTR through the synchronous cipher burst. For CTR and CBC decryption it has the least overhead of the library's calls;
/// for CBC encryption it and the job calls are about equal. The constructor fills in the fields that all messages share.
template <IMB_CIPHER_MODE Cipher, IMB_CIPHER_DIRECTION Dir>
class BurstKernel {
 public:
  BurstKernel(ManagerPtr manager, std::shared_ptr<const Keys> keys)
      : manager_(std::move(manager)), keys_(std::move(keys)), jobs_(std::make_unique<std::array<IMB_JOB, ipsec_mb::kMaxJobs>>()) {
    for (IMB_JOB& job : *jobs_) {
      job.cipher_mode = Cipher;
      job.cipher_direction = Dir;
      job.chain_order = Dir == IMB_DIR_ENCRYPT ? IMB_ORDER_CIPHER_HASH : IMB_ORDER_HASH_CIPHER;
      job.hash_alg = IMB_AUTH_NULL;
      job.enc_keys = keys_->encrypt.data();
      job.dec_keys = keys_->decrypt.data();
      job.key_len_in_bytes = keys_->size;
      job.iv_len_in_bytes = kBlockBytes;
    }
  }

  void operator()(Burst& b) noexcept {
    ipsec_mb::in_parts(b.n, [&](std::uint32_t first, std::uint32_t count) {
      IMB_JOB* const jobs = jobs_->data();
      bool too_long = false;
      for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint32_t item = first + i;
        jobs[i].src = bytes(b.in[item]);
        jobs[i].dst = bytes(b.out[item]);
        jobs[i].iv = bytes(b.aux[item]);
        jobs[i].msg_len_to_cipher_in_bytes = b.in_len[item];
        too_long |= b.in_len[item] > ipsec_mb::kMaxLaneBytes;
        b.out_len[item] = b.in_len[item];
      }
      if (kInLanes && too_long) [[unlikely]] {
        chain(jobs, count);
      } else {
        submit(jobs, count);
      }
      for (std::uint32_t i = 0; i < count; ++i) {
        b.status[first + i] = jobs[i].status == IMB_STATUS_COMPLETED ? kStatusOk : kStatusRejected;
      }
      if constexpr (Cipher == IMB_CIPHER_CNTR) {
        for (std::uint32_t i = first; i < first + count; ++i) after_carry(b.aux[i], b.in[i], b.in_len[i], b.out[i]);
      }
    });
  }

 private:
  /// CBC encryption gives each message its own lane, so a message may be as long as a lane allows. The other modes work on many
  /// blocks of one message.
  static constexpr bool kInLanes = Cipher == IMB_CIPHER_CBC && Dir == IMB_DIR_ENCRYPT;

  void submit(IMB_JOB* jobs, std::uint32_t count) noexcept {
    IMB_SUBMIT_CIPHER_BURST_NOCHECK(manager_.get(), jobs, count, Cipher, Dir, keys_->size);
  }

  /// Encrypt messages that are too long for a lane in two pieces. The last ciphertext block of the first piece is the IV of the
  /// second.
  void chain(IMB_JOB* jobs, std::uint32_t count) noexcept {
    constexpr std::uint64_t kHead = ipsec_mb::kMaxLaneBytes;
    std::array<std::uint64_t, ipsec_mb::kMaxJobs> rest;
    for (std::uint32_t i = 0; i < count; ++i) {
      std::uint64_t& length = jobs[i].msg_len_to_cipher_in_bytes;
      rest[i] = length > kHead ? length - kHead : 0;
      length -= rest[i];
    }
    submit(jobs, count);
    for (std::uint32_t i = 0; i < count; ++i) {
      if (rest[i] == 0) continue;
      jobs[i].src += kHead;
      jobs[i].dst += kHead;
      jobs[i].iv = jobs[i].dst - kBlockBytes;
      jobs[i].msg_len_to_cipher_in_bytes = rest[i];
      IMB_STATUS& status = jobs[i].status;
      const IMB_STATUS before = status;
      submit(&jobs[i], 1);
      if (before != IMB_STATUS_COMPLETED) status = before;
    }
  }

  /// Convert the end of a message again if the last 32 bits of its counter overflow. The library counts only in these bits; SP
  /// 800-38A asks for a carry. This happens to one message in 2^32 divided by its blocks.
  void after_carry(const std::byte* counter, const std::byte* in, std::uint32_t length, std::byte* out) noexcept {
    std::uint32_t low = 0;
    std::memcpy(&low, counter + 12, sizeof low);
    const std::uint64_t before = (std::uint64_t{1} << 32) - __builtin_bswap32(low);  // blocks before the overflow
    if (before * kBlockBytes >= length) [[likely]]
      return;
    std::array<std::byte, kBlockBytes> next{};
    std::copy_n(counter, 12, next.begin());
    for (int i = 11; i >= 0; --i) {
      auto& digit = next[static_cast<std::size_t>(i)];
      digit = static_cast<std::byte>(std::to_integer<unsigned>(digit) + 1);
      if (digit != std::byte{0}) break;
    }
    IMB_JOB job = jobs_->front();
    const std::uint64_t skip = before * kBlockBytes;
    job.src = bytes(in + skip);
    job.dst = bytes(out + skip);
    job.iv = bytes(next.data());
    job.msg_len_to_cipher_in_bytes = length - skip;
    submit(&job, 1);
  }

  ManagerPtr manager_;
  std::shared_ptr<const Keys> keys_;
  std::unique_ptr<std::array<IMB_JOB, ipsec_mb::kMaxJobs>> jobs_;
};

/// GCM through the direct call. GCM works on several blocks of one message at a time and gains nothing from lanes: on 64 bytes
/// the direct call takes two thirds of a job's time. @tparam Call  the manager's routine for key size and direction
template <auto Call, Direction D>
struct GcmKernel {
  ManagerPtr manager;
  std::shared_ptr<const Keys> keys;
  std::uint64_t aad_bytes;

  void operator()(Burst& b) noexcept {
    constexpr auto kTag = static_cast<std::uint32_t>(kTagBytes);
    gcm_context_data context;
    for (std::uint32_t i = 0; i < b.n; ++i) {
      const std::uint8_t* const iv = bytes(b.aux[i]);
      if constexpr (D == Direction::kEncrypt) {
        (manager.get()->*Call)(&keys->gcm, &context, bytes(b.out[i]), bytes(b.in[i]), b.in_len[i], iv, iv + kGcmIvBytes,
                               aad_bytes, bytes(b.out[i]) + b.in_len[i], kTagBytes);
        b.out_len[i] = b.in_len[i] + kTag;
        b.status[i] = kStatusOk;
      } else {
        const std::uint32_t text = b.in_len[i] - kTag;
        std::array<std::uint64_t, 2> tag;
        (manager.get()->*Call)(&keys->gcm, &context, bytes(b.out[i]), bytes(b.in[i]), text, iv, iv + kGcmIvBytes, aad_bytes,
                               reinterpret_cast<std::uint8_t*>(tag.data()), kTagBytes);
        std::array<std::uint64_t, 2> given;
        std::memcpy(given.data(), b.in[i] + text, kTagBytes);
        b.out_len[i] = text;
        b.status[i] = ((tag[0] ^ given[0]) | (tag[1] ^ given[1])) == 0 ? kStatusOk : kStatusRejected;  // in constant time
      }
    }
  }
};

class IpsecMb final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override {
    static const EngineInfo info{"aes", "ipsec-mb", "cipher bursts for CBC and CTR, direct calls for GCM; no XTS",
                                 ipsec_mb::version()};
    return info;
  }
  [[nodiscard]] std::string unavailable() const override { return ipsec_mb::unavailable(); }
  [[nodiscard]] std::string unsupported(const Params& params) const override {
    return params.is("mode", "xts") ? "ipsec-mb has no AES-XTS" : "";
  }

  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& any) const override {
    const auto& work = static_cast<const AesWork&>(any);
    const auto keys = expand(work);
    const bool encrypt = work.direction == Direction::kEncrypt;
    switch (work.mode) {
      case Mode::kCbc:
        return encrypt ? burst<IMB_CIPHER_CBC, IMB_DIR_ENCRYPT>(keys) : burst<IMB_CIPHER_CBC, IMB_DIR_DECRYPT>(keys);
      case Mode::kCtr:
        return burst<IMB_CIPHER_CNTR, IMB_DIR_ENCRYPT>(keys);  // encryption and decryption are the same operation
      case Mode::kGcm:
        if (keys->size == IMB_KEY_128_BYTES) {
          return encrypt ? gcm<&IMB_MGR::gcm128_enc, Direction::kEncrypt>(work, keys)
                         : gcm<&IMB_MGR::gcm128_dec, Direction::kDecrypt>(work, keys);
        }
        return encrypt ? gcm<&IMB_MGR::gcm256_enc, Direction::kEncrypt>(work, keys)
                       : gcm<&IMB_MGR::gcm256_dec, Direction::kDecrypt>(work, keys);
      case Mode::kXts:
        break;
    }
    throw Error("ipsec-mb has no AES-XTS");
  }

 private:
  template <IMB_CIPHER_MODE Cipher, IMB_CIPHER_DIRECTION Dir>
  static std::unique_ptr<Session> burst(const std::shared_ptr<const Keys>& keys) {
    return ipsec_mb::session([keys](ManagerPtr manager) { return BurstKernel<Cipher, Dir>(std::move(manager), keys); },
                             "IMB_SUBMIT_CIPHER_BURST_NOCHECK");
  }
  template <auto Call, Direction D>
  static std::unique_ptr<Session> gcm(const AesWork& work, const std::shared_ptr<const Keys>& keys) {
    return ipsec_mb::session(
        [keys, aad = work.aad_bytes](ManagerPtr manager) {
          return GcmKernel<Call, D>{std::move(manager), keys, aad};
        },
        D == Direction::kEncrypt ? "IMB_AES_GCM_ENC" : "IMB_AES_GCM_DEC");
  }
};

}  // namespace
}  // namespace dpubench::aes

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::aes::IpsecMb>());
}
