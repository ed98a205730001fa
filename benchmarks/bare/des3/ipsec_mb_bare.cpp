// des3: bare loop over multi-buffer jobs.
// requires: lib:IPSec_MB intel-ipsec-mb.h
// arch: x86_64

#include "../support/ipsec_mb_bare.hpp"
#include "operators/des3/work.hpp"

namespace dpubench::bare {
namespace {

struct CipherLoop {
  bool encrypt;
  Manager m = manager();
  struct State {
    alignas(64) std::uint64_t schedule[3][16];
    const void* keys[3];
  };
  std::shared_ptr<State> s = std::make_shared<State>();

  explicit CipherLoop(const des3::Des3Work& work) : encrypt(work.encrypt) {
    for (std::size_t i = 0; i < 3; ++i) {
      m->des_key_sched(s->schedule[i], work.key.data() + 8 * i);
      s->keys[i] = s->schedule[i];
    }
  }

  void operator()(Burst& b) noexcept {
    jobs(m.get(), b, [&](IMB_JOB* j, std::uint32_t i) {
      j->cipher_mode = IMB_CIPHER_DES3;
      j->cipher_direction = encrypt ? IMB_DIR_ENCRYPT : IMB_DIR_DECRYPT;
      j->chain_order = encrypt ? IMB_ORDER_CIPHER_HASH : IMB_ORDER_HASH_CIPHER;
      j->hash_alg = IMB_AUTH_NULL;
      j->enc_keys = s->keys;
      j->dec_keys = s->keys;
      j->key_len_in_bytes = 24;
      j->iv_len_in_bytes = 8;
      j->iv = reinterpret_cast<const std::uint8_t*>(b.aux[i]);
      j->src = reinterpret_cast<const std::uint8_t*>(b.in[i]);
      j->dst = reinterpret_cast<std::uint8_t*>(b.out[i]);
      j->cipher_start_src_offset_in_bytes = 0;
      j->msg_len_to_cipher_in_bytes = b.in_len[i];
      b.out_len[i] = b.in_len[i];
    });
  }
};

std::unique_ptr<Session> prepare(const Work& any) {
  const auto& work = static_cast<const des3::Des3Work&>(any);
  return timed_session([&work] { return CipherLoop(work); }, {"chosen by library", "bare", false});
}

}  // namespace
}  // namespace dpubench::bare

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::bare::Loop>("des3", "ipsec-mb-bare", dpubench::bare::prepare));
}
