// aes: bare loop over cipher bursts and GCM calls.
// requires: lib:IPSec_MB intel-ipsec-mb.h
// arch: x86_64

#include <cstring>

#include "../support/ipsec_mb_bare.hpp"
#include "operators/aes/work.hpp"

namespace dpubench::bare {
namespace {

struct Loops {
  const aes::AesWork* work;
  Manager m = manager();
  struct State {
    alignas(64) std::uint8_t encrypt[240];
    alignas(64) std::uint8_t decrypt[240];
    gcm_key_data gcm;
    IMB_JOB jobs[IMB_MAX_BURST_SIZE];
  };
  std::shared_ptr<State> s = std::make_shared<State>();
  IMB_CIPHER_MODE mode = IMB_CIPHER_CBC;
  IMB_CIPHER_DIRECTION direction = IMB_DIR_ENCRYPT;
  IMB_KEY_SIZE_BYTES key = IMB_KEY_128_BYTES;

  explicit Loops(const aes::AesWork& w) : work(&w) {
    const void* k = w.key.data();
    if (w.key_bits() == 128) {
      m->keyexp_128(k, s->encrypt, s->decrypt);
      m->gcm128_pre(k, &s->gcm);
    } else {
      key = IMB_KEY_256_BYTES;
      m->keyexp_256(k, s->encrypt, s->decrypt);
      m->gcm256_pre(k, &s->gcm);
    }
    if (w.mode == aes::Mode::kCtr) mode = IMB_CIPHER_CNTR;
    if (w.direction == aes::Direction::kDecrypt) direction = IMB_DIR_DECRYPT;
    for (IMB_JOB& j : s->jobs) {
      j.enc_keys = s->encrypt;
      j.dec_keys = s->decrypt;
      j.iv_len_in_bytes = 16;
      j.key_len_in_bytes = key;
    }
  }

  void gcm(Burst& b) noexcept {
    const bool encrypt = direction == IMB_DIR_ENCRYPT;
    const auto call =
        key == IMB_KEY_128_BYTES ? (encrypt ? m->gcm128_enc : m->gcm128_dec) : (encrypt ? m->gcm256_enc : m->gcm256_dec);
    gcm_context_data context;
    for (std::uint32_t i = 0; i < b.n; ++i) {
      const auto* aux = reinterpret_cast<const std::uint8_t*>(b.aux[i]);
      const auto* in = reinterpret_cast<const std::uint8_t*>(b.in[i]);
      auto* out = reinterpret_cast<std::uint8_t*>(b.out[i]);
      const std::uint32_t text = encrypt ? b.in_len[i] : b.in_len[i] - 16;
      std::uint8_t computed[16];
      call(&s->gcm, &context, out, in, text, aux, aux + 12, work->aad_bytes, encrypt ? out + text : computed, 16);
      b.out_len[i] = encrypt ? text + 16 : text;
      b.status[i] = encrypt || std::memcmp(computed, in + text, 16) == 0 ? kStatusOk : kStatusRejected;
    }
  }

  void operator()(Burst& b) noexcept {
    if (work->mode == aes::Mode::kGcm) return gcm(b);
    for (std::uint32_t first = 0; first < b.n; first += IMB_MAX_BURST_SIZE) {
      const std::uint32_t n = b.n - first < IMB_MAX_BURST_SIZE ? b.n - first : IMB_MAX_BURST_SIZE;
      for (std::uint32_t i = 0; i < n; ++i) {
        IMB_JOB& j = s->jobs[i];
        j.src = reinterpret_cast<const std::uint8_t*>(b.in[first + i]);
        j.dst = reinterpret_cast<std::uint8_t*>(b.out[first + i]);
        j.iv = reinterpret_cast<const std::uint8_t*>(b.aux[first + i]);
        j.msg_len_to_cipher_in_bytes = b.in_len[first + i];
      }
      m->submit_cipher_burst_nocheck(m.get(), s->jobs, n, mode, direction, key);
      for (std::uint32_t i = first; i < first + n; ++i) {
        b.out_len[i] = b.in_len[i];
        b.status[i] = kStatusOk;
      }
    }
    if (mode == IMB_CIPHER_CNTR) carry(b);
  }

  /// The library's counters stop at 32 bits; messages in which they overflow are done again, block by block.
  void carry(Burst& b) noexcept {
    for (std::uint32_t i = 0; i < b.n; ++i) {
      std::uint8_t counter[16];
      std::memcpy(counter, b.aux[i], 16);
      const std::uint64_t start =
          std::uint64_t{counter[12]} << 24 | std::uint64_t{counter[13]} << 16 | std::uint64_t{counter[14]} << 8 | counter[15];
      if (start + (b.in_len[i] + 15) / 16 <= std::uint64_t{1} << 32) continue;
      for (std::uint32_t at = 0; at < b.in_len[i]; at += 16) {
        IMB_JOB j = s->jobs[0];
        j.src = reinterpret_cast<const std::uint8_t*>(b.in[i]) + at;
        j.dst = reinterpret_cast<std::uint8_t*>(b.out[i]) + at;
        j.iv = counter;
        j.msg_len_to_cipher_in_bytes = b.in_len[i] - at < 16 ? b.in_len[i] - at : 16;
        m->submit_cipher_burst_nocheck(m.get(), &j, 1, mode, direction, key);
        for (int digit = 15; digit >= 0 && ++counter[digit] == 0;) --digit;
      }
    }
  }
};

std::string unsupported(const Params& params) {
  return params.is("mode", "xts") ? "the library has no xts" : "";
}

std::unique_ptr<Session> prepare(const Work& any) {
  const auto& work = static_cast<const aes::AesWork&>(any);
  return timed_session([&work] { return Loops(work); }, {"chosen by library", "bare", false});
}

}  // namespace
}  // namespace dpubench::bare

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::bare::Loop>("aes", "ipsec-mb-bare", dpubench::bare::prepare, dpubench::bare::unsupported));
}
