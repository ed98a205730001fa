// DPDK's bulk GFNI Toeplitz hash, compiled for CPUs that have GFNI and AVX-512, while the rest of the including file is not. A
// module that is built with such flags as a whole would execute these instructions before it could report that the CPU lacks
// them.
#pragma once

#ifndef ALLOW_EXPERIMENTAL_API
#define ALLOW_EXPERIMENTAL_API  // rte_thash_complete_matrix and rte_thash_gfni_bulk
#endif
#ifndef ALLOW_INTERNAL_API
#define ALLOW_INTERNAL_API  // functions that these call inline; only an optimising build leaves no calls to them
#endif

// Include everything that rte_thash.h includes, so that only its own functions are compiled for the other CPU.
#include <immintrin.h>
#include <rte_byteorder.h>
#include <rte_common.h>
#include <rte_compat.h>
#include <rte_config.h>
#include <rte_ip.h>
#include <rte_vect.h>

#include <cstdint>
#include <string>

#if defined __clang__
#pragma clang attribute push(__attribute__((target("gfni,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // from _mm256_undefined_pd in GCC's own header (GCC bug 105593)
#pragma GCC target("gfni,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")
#endif
// rte_thash_x86_gfni.h checks these macros, but neither compiler's pragma (GCC's before 13) changes them.
#if !defined __GFNI__ && !defined __AVX512F__
#define __GFNI__ 1     // NOLINT(bugprone-reserved-identifier)
#define __AVX512F__ 1  // NOLINT(bugprone-reserved-identifier)
#define DPUBENCH_DEFINED_GFNI
#endif

#include <rte_thash.h>

namespace dpubench::toeplitz {

/// Call rte_thash_gfni_bulk under a name that code for any CPU may call. @param matrices  result of rte_thash_complete_matrix
inline void gfni_bulk(const std::uint64_t* matrices, int tuple_bytes, std::uint8_t** tuples, std::uint32_t* hashes,
                      std::uint32_t n) {
  rte_thash_gfni_bulk(matrices, tuple_bytes, tuples, hashes, n);
}

}  // namespace dpubench::toeplitz

#if defined DPUBENCH_DEFINED_GFNI
#undef __GFNI__
#undef __AVX512F__
#undef DPUBENCH_DEFINED_GFNI
#endif
#if defined __clang__
#pragma clang attribute pop
#else
#pragma GCC diagnostic pop
#pragma GCC pop_options
#endif

namespace dpubench::toeplitz {

/// Return which of the instructions the CPU lacks, or an empty string. (rte_thash_gfni_supported() tells how the DPDK library was
/// compiled. In a distribution's package it is always 0, although the functions used here are inline and need nothing of it.)
inline std::string gfni_missing() {
  std::string missing;
  const auto need = [&](bool there, const char* name) {
    if (!there) missing += (missing.empty() ? "the CPU lacks " : ", ") + std::string(name);
  };
  need(__builtin_cpu_supports("gfni") != 0, "GFNI");
  need(__builtin_cpu_supports("avx512f") != 0, "AVX-512F");
  need(__builtin_cpu_supports("avx512bw") != 0, "AVX-512BW");
  need(__builtin_cpu_supports("avx512dq") != 0, "AVX-512DQ");
  need(__builtin_cpu_supports("avx512vl") != 0, "AVX-512VL");
  need(__builtin_cpu_supports("avx512vbmi") != 0, "AVX-512VBMI");
  return missing;
}

}  // namespace dpubench::toeplitz
