// hmac, engine ipsec-mb: hash bursts (SHA-1, SHA-256) and multi-buffer jobs (MD5).
// requires: lib:IPSec_MB intel-ipsec-mb.h
// arch: x86_64

#include "operators/support/ipsec_mb/ipsec_mb.hpp"
#include "operators/hmac/work.hpp"

namespace dpubench::hmac {
namespace {

using ipsec_mb::bytes;
using ipsec_mb::ManagerPtr;

/// The states of the hash after the key's inner and outer block. HMAC computes them once per key.
struct Pads {
  alignas(16) std::array<std::uint8_t, IMB_SHA256_DIGEST_SIZE_IN_BYTES> inner{};
  alignas(16) std::array<std::uint8_t, IMB_SHA256_DIGEST_SIZE_IN_BYTES> outer{};
};

std::shared_ptr<const Pads> make_pads(const HmacWork& work) {
  const ManagerPtr manager = ipsec_mb::make_manager();
  auto pads = std::make_shared<Pads>();
  const auto one = [&](std::uint8_t pad, std::uint8_t* state) {
    std::array<std::uint8_t, kBlockBytes> block;
    for (std::size_t i = 0; i < block.size(); ++i) {
      block[i] = static_cast<std::uint8_t>(std::to_integer<std::uint8_t>(work.block_key[i]) ^ pad);
    }
    switch (work.hash) {
      case Hash::kMd5:
        IMB_MD5_ONE_BLOCK(manager.get(), block.data(), state);
        break;
      case Hash::kSha1:
        IMB_SHA1_ONE_BLOCK(manager.get(), block.data(), state);
        break;
      case Hash::kSha256:
        IMB_SHA256_ONE_BLOCK(manager.get(), block.data(), state);
        break;
    }
  };
  one(0x36, pads->inner.data());
  one(0x5c, pads->outer.data());
  return pads;
}

void describe(IMB_JOB& job, IMB_HASH_ALG algorithm, std::uint32_t tag, const Pads& pads) {
  job.cipher_mode = IMB_CIPHER_NULL;
  job.cipher_direction = IMB_DIR_ENCRYPT;
  job.chain_order = IMB_ORDER_HASH_CIPHER;
  job.hash_alg = algorithm;
  job.hash_start_src_offset_in_bytes = 0;
  job.auth_tag_output_len_in_bytes = tag;
  job.u.HMAC._hashed_auth_key_xor_ipad = pads.inner.data();
  job.u.HMAC._hashed_auth_key_xor_opad = pads.outer.data();
}

void set_message(IMB_JOB& job, const Burst& b, std::uint32_t i) {
  job.src = bytes(b.in[i]);
  job.msg_len_to_hash_in_bytes = b.in_len[i];
  job.auth_tag_output = bytes(b.out[i]);
}

/// SHA-1 and SHA-256 through the synchronous hash burst. The constructor fills in the fields that all messages share.
template <IMB_HASH_ALG Algorithm, std::uint32_t Tag>
class BurstKernel {
 public:
  BurstKernel(ManagerPtr manager, std::shared_ptr<const Pads> pads)
      : manager_(std::move(manager)), pads_(std::move(pads)), jobs_(std::make_unique<std::array<IMB_JOB, ipsec_mb::kMaxJobs>>()) {
    for (IMB_JOB& job : *jobs_) describe(job, Algorithm, Tag, *pads_);
  }

  void operator()(Burst& b) noexcept {
    ipsec_mb::in_parts(b.n, [&](std::uint32_t first, std::uint32_t count) {
      IMB_JOB* const jobs = jobs_->data();
      for (std::uint32_t i = 0; i < count; ++i) set_message(jobs[i], b, first + i);
      IMB_SUBMIT_HASH_BURST_NOCHECK(manager_.get(), jobs, count, Algorithm);
      for (std::uint32_t i = 0; i < count; ++i) {
        b.out_len[first + i] = Tag;
        b.status[first + i] = jobs[i].status == IMB_STATUS_COMPLETED ? kStatusOk : kStatusRejected;
      }
    });
  }

 private:
  ManagerPtr manager_;
  std::shared_ptr<const Pads> pads_;
  std::unique_ptr<std::array<IMB_JOB, ipsec_mb::kMaxJobs>> jobs_;
};

/// MD5 through multi-buffer jobs, because the hash burst does not take it.
struct JobKernel {
  ManagerPtr manager;
  std::shared_ptr<const Pads> pads;

  void operator()(Burst& b) noexcept {
    constexpr std::uint32_t kTag = 16;
    for (std::uint32_t i = 0; i < b.n; ++i) b.out_len[i] = kTag;
    ipsec_mb::run_jobs(manager.get(), b, [&](IMB_JOB& job, std::uint32_t i) {
      describe(job, IMB_AUTH_MD5, kTag, *pads);
      set_message(job, b, i);
    });
  }
};

class IpsecMb final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override {
    static const EngineInfo info{"hmac", "ipsec-mb", "hash bursts for SHA-1 and SHA-256, multi-buffer jobs for MD5",
                                 ipsec_mb::version()};
    return info;
  }
  [[nodiscard]] std::string unavailable() const override { return ipsec_mb::unavailable(); }

  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& any) const override {
    const auto& work = static_cast<const HmacWork&>(any);
    const auto pads = make_pads(work);
    switch (work.hash) {
      case Hash::kMd5:
        return ipsec_mb::session(
            [pads](ManagerPtr manager) {
              return JobKernel{std::move(manager), pads};
            },
            "IMB_SUBMIT_BURST_NOCHECK IMB_AUTH_MD5");
      case Hash::kSha1:
        return burst<IMB_AUTH_HMAC_SHA_1, IMB_SHA1_DIGEST_SIZE_IN_BYTES>(pads, "IMB_AUTH_HMAC_SHA_1");
      case Hash::kSha256:
        break;
    }
    return burst<IMB_AUTH_HMAC_SHA_256, IMB_SHA256_DIGEST_SIZE_IN_BYTES>(pads, "IMB_AUTH_HMAC_SHA_256");
  }

 private:
  template <IMB_HASH_ALG Algorithm, std::uint32_t Tag>
  static std::unique_ptr<Session> burst(const std::shared_ptr<const Pads>& pads, const std::string& name) {
    return ipsec_mb::session([pads](ManagerPtr manager) { return BurstKernel<Algorithm, Tag>(std::move(manager), pads); },
                             "IMB_SUBMIT_HASH_BURST_NOCHECK " + name);
  }
};

}  // namespace
}  // namespace dpubench::hmac

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::hmac::IpsecMb>());
}
