// The engine "ipsec-mb" of the hash operators: one message per vector lane.
#pragma once

#include <string>
#include <utility>

#include "operators/support/ipsec_mb/ipsec_mb.hpp"

namespace dpubench::ipsec_mb {

/// @tparam Algorithm   the library's plain hash
/// @tparam Single      its routine for one message, as a member of the manager
/// @tparam DigestBytes length of its digest
template <IMB_HASH_ALG Algorithm, auto Single, std::uint32_t DigestBytes>
class Hash final : public Engine {
 public:
  /// @param name  the library's name of the hash: "SHA_256"
  Hash(std::string op, std::string name)
      : info_{std::move(op), "ipsec-mb", "multi-buffer jobs; a burst of one message takes the single-buffer call", version()},
        routine_("IMB_SUBMIT_BURST_NOCHECK IMB_AUTH_" + std::move(name)) {}

  [[nodiscard]] const EngineInfo& info() const override { return info_; }
  [[nodiscard]] std::string unavailable() const override { return ipsec_mb::unavailable(); }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work&) const override {
    return session([](ManagerPtr manager) { return Kernel{std::move(manager)}; }, routine_);
  }

 private:
  struct Kernel {
    ManagerPtr manager;

    void operator()(Burst& b) noexcept {
      for (std::uint32_t i = 0; i < b.n; ++i) b.out_len[i] = DigestBytes;
      if (b.n == 1) {
        // All lanes of a vector take as long as one, so a lone message is 1.5 times faster through the scalar routine.
        (manager.get()->*Single)(b.in[0], b.in_len[0], b.out[0]);
        b.status[0] = kStatusOk;
        return;
      }
      run_jobs(manager.get(), b, [&](IMB_JOB& job, std::uint32_t i) {
        job.cipher_mode = IMB_CIPHER_NULL;
        job.cipher_direction = IMB_DIR_ENCRYPT;
        job.chain_order = IMB_ORDER_HASH_CIPHER;
        job.hash_alg = Algorithm;
        job.src = bytes(b.in[i]);
        job.hash_start_src_offset_in_bytes = 0;
        job.msg_len_to_hash_in_bytes = b.in_len[i];
        job.auth_tag_output = bytes(b.out[i]);
        job.auth_tag_output_len_in_bytes = DigestBytes;
      });
    }
  };

  EngineInfo info_;
  std::string routine_;
};

}  // namespace dpubench::ipsec_mb
