// des3, engine ipsec-mb: multi-buffer jobs, one message per vector lane; a lone message takes as long as a full vector.
// requires: lib:IPSec_MB intel-ipsec-mb.h
// arch: x86_64

#include "operators/support/ipsec_mb/ipsec_mb.hpp"
#include "operators/des3/work.hpp"

namespace dpubench::des3 {
namespace {

using ipsec_mb::bytes;
using ipsec_mb::ManagerPtr;

struct Keys {
  alignas(64) std::array<std::array<std::uint64_t, IMB_DES_KEY_SCHED_SIZE / 8>, 3> schedules{};
  std::array<const void*, 3> pointers{};  ///< pointers to the schedules, as a job needs them
};

template <IMB_CIPHER_DIRECTION Dir>
struct Kernel {
  ManagerPtr manager;
  std::shared_ptr<const Keys> keys;

  void operator()(Burst& b) noexcept {
    constexpr std::uint32_t kHead = ipsec_mb::kMaxLaneBytes;
    for (std::uint32_t i = 0; i < b.n; ++i) b.out_len[i] = b.in_len[i];
    ipsec_mb::run_jobs(manager.get(), b, [&](IMB_JOB& job, std::uint32_t i) {
      describe(job, b.in[i], b.out[i], b.aux[i], std::min(b.in_len[i], kHead));
    });
    for (std::uint32_t i = 0; i < b.n; ++i) {
      if (b.in_len[i] <= kHead) [[likely]]
        continue;
      // Convert the rest of a message that is too long for a lane. Its IV is the last ciphertext block before it.
      const std::byte* const iv = (Dir == IMB_DIR_ENCRYPT ? b.out[i] : b.in[i]) + kHead - kBlockBytes;
      const std::uint8_t before = b.status[i];
      Burst rest;
      rest.n = 1;
      rest.status = &b.status[i];
      ipsec_mb::run_jobs(manager.get(), rest, [&](IMB_JOB& job, std::uint32_t) {
        describe(job, b.in[i] + kHead, b.out[i] + kHead, iv, b.in_len[i] - kHead);
      });
      if (before != kStatusOk) b.status[i] = before;
    }
  }

  void describe(IMB_JOB& job, const std::byte* in, std::byte* out, const std::byte* iv, std::uint32_t length) const noexcept {
    job.cipher_mode = IMB_CIPHER_DES3;
    job.cipher_direction = Dir;
    job.chain_order = Dir == IMB_DIR_ENCRYPT ? IMB_ORDER_CIPHER_HASH : IMB_ORDER_HASH_CIPHER;
    job.hash_alg = IMB_AUTH_NULL;
    job.enc_keys = keys->pointers.data();
    job.dec_keys = keys->pointers.data();
    job.key_len_in_bytes = kKeyBytes;
    job.iv = bytes(iv);
    job.iv_len_in_bytes = kBlockBytes;
    job.src = bytes(in);
    job.dst = bytes(out);
    job.cipher_start_src_offset_in_bytes = 0;
    job.msg_len_to_cipher_in_bytes = length;
  }
};

class IpsecMb final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override {
    static const EngineInfo info{"des3", "ipsec-mb", "multi-buffer jobs", ipsec_mb::version()};
    return info;
  }
  [[nodiscard]] std::string unavailable() const override { return ipsec_mb::unavailable(); }

  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& any) const override {
    const auto& work = static_cast<const Des3Work&>(any);
    const ManagerPtr manager = ipsec_mb::make_manager();
    auto keys = std::make_shared<Keys>();
    for (std::size_t i = 0; i < 3; ++i) {
      IMB_DES_KEYSCHED(manager.get(), keys->schedules[i].data(), work.key.data() + i * kBlockBytes);
      keys->pointers[i] = keys->schedules[i].data();
    }
    return work.encrypt ? session<IMB_DIR_ENCRYPT>(keys) : session<IMB_DIR_DECRYPT>(keys);
  }

 private:
  template <IMB_CIPHER_DIRECTION Dir>
  static std::unique_ptr<Session> session(const std::shared_ptr<const Keys>& keys) {
    return ipsec_mb::session(
        [keys](ManagerPtr manager) {
          return Kernel<Dir>{std::move(manager), keys};
        },
        "IMB_SUBMIT_BURST_NOCHECK IMB_CIPHER_DES3");
  }
};

}  // namespace
}  // namespace dpubench::des3

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::des3::IpsecMb>());
}
