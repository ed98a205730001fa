// aes, engine portable: FIPS 197 with the classic tables, one message after the other.

#include "operators/aes/work.hpp"
#include "operators/engine.hpp"

namespace dpubench::aes {
namespace {

/// Run the loop that all modes share. @param message  message(i) carries out item i and returns its status
template <class Message>
void each(Burst& b, Message message) noexcept {
  for (std::uint32_t i = 0; i < b.n; ++i) {
    b.out_len[i] = b.in_len[i];
    b.status[i] = message(i);
  }
}

constexpr auto kTag = static_cast<std::uint32_t>(kTagBytes);

template <Mode M, Direction D>
struct Kernel {
  const Cipher* cipher;
  std::uint32_t aad_bytes;

  void operator()(Burst& b) noexcept {
    each(b, [&](std::uint32_t i) {
      if constexpr (M == Mode::kCtr) {
        cipher->ctr(b.aux[i], b.in[i], b.in_len[i], b.out[i]);
      } else if constexpr (M == Mode::kCbc && D == Direction::kEncrypt) {
        cipher->cbc_encrypt(b.aux[i], b.in[i], b.in_len[i], b.out[i]);
      } else if constexpr (M == Mode::kCbc) {
        cipher->cbc_decrypt(b.aux[i], b.in[i], b.in_len[i], b.out[i]);
      } else if constexpr (D == Direction::kEncrypt) {
        cipher->gcm_seal(b.aux[i], {b.aux[i] + kGcmIvBytes, aad_bytes}, {b.in[i], b.in_len[i]}, b.out[i]);
        b.out_len[i] = b.in_len[i] + kTag;
      } else {
        b.out_len[i] = b.in_len[i] - kTag;
        if (!cipher->gcm_open(b.aux[i], {b.aux[i] + kGcmIvBytes, aad_bytes}, {b.in[i], b.in_len[i]}, b.out[i])) {
          return kStatusRejected;
        }
      }
      return kStatusOk;
    });
  }
};

template <Direction D>
struct XtsKernel {
  const XtsCipher* cipher;

  void operator()(Burst& b) noexcept {
    each(b, [&](std::uint32_t i) {
      if constexpr (D == Direction::kEncrypt) {
        cipher->encrypt(b.aux[i], b.in[i], b.in_len[i], b.out[i]);
      } else {
        cipher->decrypt(b.aux[i], b.in[i], b.in_len[i], b.out[i]);
      }
      return kStatusOk;
    });
  }
};

class Portable final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override {
    static const EngineInfo info{"aes", "portable",
                                 "table lookups in plain C++ (8 KiB of tables, GHASH 8 KiB); more than ten times slower than AES "
                                 "instructions: they do a round in one step, and this engine needs 16 dependent-address loads; "
                                 "not constant-time",
                                 ""};
    return info;
  }

  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& any) const override {
    const auto& work = static_cast<const AesWork&>(any);
    return work.direction == Direction::kEncrypt ? with<Direction::kEncrypt>(work) : with<Direction::kDecrypt>(work);
  }

 private:
  template <Direction D>
  static std::unique_ptr<Session> with(const AesWork& work) {
    switch (work.mode) {
      case Mode::kCbc:
        return with<Mode::kCbc, D>(work);
      case Mode::kCtr:
        return with<Mode::kCtr, D>(work);
      case Mode::kGcm:
        return with<Mode::kGcm, D>(work);
      case Mode::kXts:
        break;
    }
    auto cipher = std::make_shared<const XtsCipher>(work.key);
    return kernel_session([cipher] { return XtsKernel<D>{cipher.get()}; }, {"generic", "aes::XtsCipher", false});
  }

  template <Mode M, Direction D>
  static std::unique_ptr<Session> with(const AesWork& work) {
    auto cipher = std::make_shared<const Cipher>(work.key);
    return kernel_session(
        [cipher, aad = work.aad_bytes] {
          return Kernel<M, D>{cipher.get(), aad};
        },
        {"generic", "aes::Cipher", false});
  }
};

}  // namespace
}  // namespace dpubench::aes

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::aes::Portable>());
}
