// hmac: bare loop over hash bursts and, for MD5, over multi-buffer jobs.
// requires: lib:IPSec_MB intel-ipsec-mb.h
// arch: x86_64

#include "../support/ipsec_mb_bare.hpp"
#include "operators/hmac/work.hpp"

namespace dpubench::bare {
namespace {

struct MacLoop {
  Manager m = manager();
  struct State {
    alignas(64) std::uint8_t inner[32];
    alignas(64) std::uint8_t outer[32];
    IMB_JOB jobs[IMB_MAX_BURST_SIZE];
  };
  std::shared_ptr<State> s = std::make_shared<State>();
  IMB_HASH_ALG algorithm;
  std::uint32_t tag;

  explicit MacLoop(const hmac::HmacWork& work)
      : algorithm(work.hash == hmac::Hash::kMd5    ? IMB_AUTH_MD5
                  : work.hash == hmac::Hash::kSha1 ? IMB_AUTH_HMAC_SHA_1
                                                   : IMB_AUTH_HMAC_SHA_256),
        tag(hmac::tag_bytes(work.hash)) {
    std::uint8_t inner[64];
    std::uint8_t outer[64];
    for (std::size_t i = 0; i < 64; ++i) {
      inner[i] = static_cast<std::uint8_t>(std::to_integer<unsigned>(work.block_key[i]) ^ 0x36U);
      outer[i] = static_cast<std::uint8_t>(std::to_integer<unsigned>(work.block_key[i]) ^ 0x5cU);
    }
    const auto one = algorithm == IMB_AUTH_MD5          ? m->md5_one_block
                     : algorithm == IMB_AUTH_HMAC_SHA_1 ? m->sha1_one_block
                                                        : m->sha256_one_block;
    one(inner, s->inner);
    one(outer, s->outer);
    for (IMB_JOB& j : s->jobs) constant(&j);
  }

  void constant(IMB_JOB* j) const {
    j->cipher_mode = IMB_CIPHER_NULL;
    j->hash_alg = algorithm;
    j->chain_order = IMB_ORDER_HASH_CIPHER;
    j->hash_start_src_offset_in_bytes = 0;
    j->auth_tag_output_len_in_bytes = tag;
    j->u.HMAC._hashed_auth_key_xor_ipad = s->inner;
    j->u.HMAC._hashed_auth_key_xor_opad = s->outer;
  }

  void message(IMB_JOB* j, Burst& b, std::uint32_t i) const {
    j->src = reinterpret_cast<const std::uint8_t*>(b.in[i]);
    j->msg_len_to_hash_in_bytes = b.in_len[i];
    j->auth_tag_output = reinterpret_cast<std::uint8_t*>(b.out[i]);
    b.out_len[i] = tag;
    b.status[i] = kStatusOk;
  }

  void operator()(Burst& b) noexcept {
    if (algorithm == IMB_AUTH_MD5) {
      jobs(m.get(), b, [&](IMB_JOB* j, std::uint32_t i) {
        constant(j);
        message(j, b, i);
      });
      return;
    }
    for (std::uint32_t first = 0; first < b.n; first += IMB_MAX_BURST_SIZE) {
      const std::uint32_t n = b.n - first < IMB_MAX_BURST_SIZE ? b.n - first : IMB_MAX_BURST_SIZE;
      for (std::uint32_t i = 0; i < n; ++i) message(&s->jobs[i], b, first + i);
      m->submit_hash_burst_nocheck(m.get(), s->jobs, n, algorithm);
    }
  }
};

std::unique_ptr<Session> prepare(const Work& any) {
  const auto& work = static_cast<const hmac::HmacWork&>(any);
  return timed_session([&work] { return MacLoop(work); }, {"chosen by library", "bare", false});
}

}  // namespace
}  // namespace dpubench::bare

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::bare::Loop>("hmac", "ipsec-mb-bare", dpubench::bare::prepare));
}
