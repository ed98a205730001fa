// What the bare loops over ipsec-mb share.
#pragma once

#include <intel-ipsec-mb.h>

#include "bare.hpp"

namespace dpubench::bare {

using Manager = std::shared_ptr<IMB_MGR>;

inline Manager manager() {
  Manager m(alloc_mb_mgr(0), &free_mb_mgr);
  init_mb_mgr_auto(m.get(), nullptr);
  return m;
}

/// Jobs one by one through the ring, then a flush: the loop of the library's own examples.
template <class Fill>
void jobs(IMB_MGR* m, Burst& b, Fill fill) {
  for (std::uint32_t first = 0; first < b.n; first += IMB_MAX_BURST_SIZE) {
    const std::uint32_t n = b.n - first < IMB_MAX_BURST_SIZE ? b.n - first : IMB_MAX_BURST_SIZE;
    IMB_JOB* list[IMB_MAX_BURST_SIZE];
    m->get_next_burst(m, n, list);
    for (std::uint32_t i = 0; i < n; ++i) fill(list[i], first + i);
    for (std::uint32_t done = m->submit_burst_nocheck(m, n, list); done < n;) done += m->flush_burst(m, n - done, list);
    for (std::uint32_t i = first; i < first + n; ++i) b.status[i] = kStatusOk;
  }
}

/// Plain hash of a burst.
struct HashLoop {
  Manager m;
  IMB_HASH_ALG algorithm;
  std::uint32_t bytes;

  void operator()(Burst& b) noexcept {
    if (b.n == 1) {
      (algorithm == IMB_AUTH_SHA_1 ? m->sha1 : m->sha256)(b.in[0], b.in_len[0], b.out[0]);
      b.status[0] = kStatusOk;
      b.out_len[0] = bytes;
      return;
    }
    jobs(m.get(), b, [&](IMB_JOB* j, std::uint32_t i) {
      j->cipher_mode = IMB_CIPHER_NULL;
      j->hash_alg = algorithm;
      j->chain_order = IMB_ORDER_HASH_CIPHER;
      j->src = reinterpret_cast<const std::uint8_t*>(b.in[i]);
      j->hash_start_src_offset_in_bytes = 0;
      j->msg_len_to_hash_in_bytes = b.in_len[i];
      j->auth_tag_output = reinterpret_cast<std::uint8_t*>(b.out[i]);
      j->auth_tag_output_len_in_bytes = bytes;
      b.out_len[i] = bytes;
    });
  }
};

inline std::unique_ptr<Engine> ipsec_mb_hash(const std::string& op, IMB_HASH_ALG algorithm, std::uint32_t bytes) {
  return std::make_unique<Loop>(op, "ipsec-mb-bare", [algorithm, bytes](const Work&) {
    return timed_session([=] { return HashLoop{manager(), algorithm, bytes}; }, {"chosen by library", "bare", false});
  });
}

}  // namespace dpubench::bare
