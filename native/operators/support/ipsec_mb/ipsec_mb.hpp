// The common part of the engines of Intel's Multi-Buffer Crypto for IPsec Library.
#pragma once

#include <intel-ipsec-mb.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "operators/engine.hpp"

namespace dpubench::ipsec_mb {

/// Return "Intel ipsec-mb 1.3.0": the version of the loaded library, not of the headers.
inline std::string version() {
  return std::string("Intel ipsec-mb ") + imb_get_version_str();
}

/// Return why the library cannot run here, or an empty string.
inline std::string unavailable() {
  constexpr std::uint64_t kNeeded = IMB_FEATURE_SSE4_2 | IMB_FEATURE_AESNI | IMB_FEATURE_PCLMULQDQ;
  const std::uint64_t features = imb_get_feature_flags();
  return (features & kNeeded) == kNeeded ? "" : "needs a CPU with SSE4.2, AES-NI and PCLMULQDQ";
}

using ManagerPtr = std::unique_ptr<IMB_MGR, decltype(&free_mb_mgr)>;

/// Return a manager for the best instruction set here. It belongs to one thread: its lanes and job ring are unlocked state.
/// @throws Error with the library's reason
inline ManagerPtr make_manager() {
  ManagerPtr manager(alloc_mb_mgr(0), &free_mb_mgr);
  if (manager == nullptr) throw Error("ipsec-mb: alloc_mb_mgr: " + std::string(imb_get_strerror(imb_get_errno(nullptr))));
  IMB_ARCH arch = IMB_ARCH_NONE;
  init_mb_mgr_auto(manager.get(), &arch);
  if (const int code = imb_get_errno(manager.get()); code != 0) {
    throw Error("ipsec-mb: init_mb_mgr_auto: " + std::string(imb_get_strerror(code)));
  }
  return manager;
}

/// Return the instruction set that a manager selected, by its name in results.
inline std::string isa(const IMB_MGR& manager) {
  switch (manager.used_arch) {
    case IMB_ARCH_SSE:
      return "sse4.2";
    case IMB_ARCH_AVX:
      return "avx";
    case IMB_ARCH_AVX2:
      return "avx2";
    case IMB_ARCH_AVX512:
      return "avx512";
    default:
      return "chosen by library";
  }
}

inline const std::uint8_t* bytes(const std::byte* p) {
  return reinterpret_cast<const std::uint8_t*>(p);
}
inline std::uint8_t* bytes(std::byte* p) {
  return reinterpret_cast<std::uint8_t*>(p);
}

/// The most jobs that one call of the burst functions takes.
inline constexpr std::uint32_t kMaxJobs = IMB_MAX_BURST_SIZE;

/// Call `part(first, count)` for pieces of at most kMaxJobs items of a burst.
template <class Part>
inline void in_parts(std::uint32_t n, Part part) {
  for (std::uint32_t first = 0; first < n; first += kMaxJobs) part(first, std::min(kMaxJobs, n - first));
}

/// The longest piece of a message for a lane of AES-CBC encryption or of triple DES, in whole blocks of both. Lanes keep their
/// length in 16 bits, so a message of 65536 bytes would come out wrong, and without an error. Hashes count blocks instead.
inline constexpr std::uint32_t kMaxLaneBytes = 65520;

/// Run a burst through the manager's job ring: submit all messages, then flush, so that no lane holds a message back.
/// @param fill  fill(job, i) describes message i. Jobs come from a ring, so it must set every field that its algorithm reads
template <class Fill>
inline void run_jobs(IMB_MGR* manager, Burst& b, Fill fill) {
  in_parts(b.n, [&](std::uint32_t first, std::uint32_t count) {
    std::array<IMB_JOB*, kMaxJobs> jobs;
    // The ring is empty and larger than a part, so it always gives `count` jobs.
    IMB_GET_NEXT_BURST(manager, count, jobs.data());
    for (std::uint32_t i = 0; i < count; ++i) {
      fill(*jobs[i], first + i);
      jobs[i]->user_data = &b.status[first + i];
    }
    std::uint32_t completed = IMB_SUBMIT_BURST_NOCHECK(manager, count, jobs.data());
    for (std::uint32_t done = 0;;) {
      for (std::uint32_t i = 0; i < completed; ++i) {
        *static_cast<std::uint8_t*>(jobs[i]->user_data) = jobs[i]->status == IMB_STATUS_COMPLETED ? kStatusOk : kStatusRejected;
      }
      done += completed;
      if (done >= count) break;
      completed = IMB_FLUSH_BURST(manager, count - done, jobs.data());
      if (completed == 0) break;  // a lost job keeps its poisoned status and is reported as unprocessed
    }
  });
}

/// Return a session whose lanes each have their own manager. @param make  make(ManagerPtr) returns a thread's kernel
template <class Make>
std::unique_ptr<Session> session(Make make, const std::string& routine) {
  const ManagerPtr probe = make_manager();
  return kernel_session([make] { return make(make_manager()); }, {isa(*probe), routine, false});
}

}  // namespace dpubench::ipsec_mb
