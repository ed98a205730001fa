// crc, engines dpdk-sse, dpdk-avx512 and dpdk-neon (on Arm): rte_net_crc_calc, one engine for each of its vector routines.
// requires: libdpdk >= 21.11, libdpdk < 24.11
//
// DPDK 24.11 removed this interface: it replaced the process-wide choice of a routine by a context.

#include <rte_cpuflags.h>
#include <rte_lcore.h>
#include <rte_log.h>
#include <rte_net_crc.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "operators/crc/algorithms.hpp"
#include "operators/engine.hpp"
#include "operators/support/dpdk/dpdk.hpp"

#if defined(RTE_ARCH_ARM64)
// rte_vect.h declares this function, but without C linkage.
extern "C" int rte_vect_set_max_simd_bitwidth(std::uint16_t bits);
#endif

namespace dpubench {
namespace {

std::mutex selecting;
/// The routine that the library uses now in the whole process; -1 before this module has selected one.
std::atomic<int> selected{-1};

/// Select a routine for the whole process. rte_net_crc_set_alg leaves the library without any routine for a moment, so lanes of
/// two of these engines must not run at the same moment. The harness opens lanes of both engines and runs one of them at a time.
/// So each burst first checks the selection (one load and a compare that is always predicted), and only the first burst after a
/// change takes the lock.
[[gnu::noinline, gnu::cold]] void change(rte_net_crc_alg wanted) noexcept {
  const std::lock_guard lock(selecting);
  if (selected.load(std::memory_order_relaxed) == static_cast<int>(wanted)) return;
  rte_net_crc_set_alg(wanted);
  selected.store(static_cast<int>(wanted), std::memory_order_release);
}
inline void select(rte_net_crc_alg wanted) noexcept {
  if (selected.load(std::memory_order_acquire) != static_cast<int>(wanted)) [[unlikely]]
    change(wanted);
}

/// Select a routine with the library's log switched on, and return the log. The library falls back to another routine without any
/// other sign ("Requirements not met, can't use AVX512").
std::string objection_to(rte_net_crc_alg wanted) {
  const std::lock_guard lock(selecting);
  // Since 23.11, the name of librte_net's log type begins with "lib.".
  std::array<std::pair<int, int>, 2> levels{};
  int number = 0;
  for (auto& [type, level] : levels) {
    type = rte_log_register(number++ == 0 ? "lib.net" : "net");
    level = type < 0 ? 0 : rte_log_get_level(static_cast<std::uint32_t>(type));
    if (type >= 0) rte_log_set_level(static_cast<std::uint32_t>(type), RTE_LOG_DEBUG);
  }
  const std::uint32_t global = rte_log_get_global_level();
  rte_log_set_global_level(RTE_LOG_DEBUG);
  char* text = nullptr;
  std::size_t length = 0;
  std::FILE* const log = open_memstream(&text, &length);
  if (log == nullptr) throw Error("DPDK: no memory for the library's log");
  std::FILE* const before = rte_log_get_stream();
  rte_openlog_stream(log);
  rte_net_crc_set_alg(wanted);
  rte_openlog_stream(before == stderr ? nullptr : before);
  rte_log_set_global_level(global);
  for (const auto& [type, level] : levels) {
    if (type >= 0) rte_log_set_level(static_cast<std::uint32_t>(type), static_cast<std::uint32_t>(level));
  }
  std::fclose(log);
  std::string said(text, length);
  std::free(text);
  selected.store(static_cast<int>(wanted), std::memory_order_release);
  while (!said.empty() && said.back() == '\n') said.pop_back();
  return said;
}

#if defined(RTE_ARCH_ARM64)
/// Return why librte_net itself has no NEON routine, or an empty string. The routine exists only if DPDK was built for a core
/// with the cryptography extension (lib/net/meson.build). Debian builds for plain armv8-a, whatever core the machine has. Only
/// the library's objection shows this. The function runs before the EAL starts. No SIMD width is set then, which would cause an
/// objection too. 128 bits are the full width of NEON, so nothing is lost if the library keeps the value.
std::string neon_left_out() {
  if (rte_lcore_count() == 0) rte_vect_set_max_simd_bitwidth(128);
  const std::string said = objection_to(RTE_NET_CRC_NEON);
  return said.empty() ? said : "this DPDK was built for a core without PMULL, and lacks the routine: " + said;
}
#endif

template <rte_net_crc_alg Alg, rte_net_crc_type Type>
struct Kernel {
  void operator()(Burst& b) noexcept {
    select(Alg);
    const Burst here = b;  // a local copy: the library's calls cannot change it, so it stays in registers
    for (std::uint32_t i = 0; i < here.n; ++i) {
      here.result[i] = rte_net_crc_calc(here.in[i], here.in_len[i], Type);
      here.out_len[i] = 0;
      here.status[i] = kStatusOk;
    }
  }
};

template <rte_net_crc_alg Alg>
class Dpdk final : public Engine {
 public:
  /// @param flags  features that the CPU must have @param elsewhere  why this build has no such routine, or an empty string
  Dpdk(std::string name, std::string isa, std::vector<std::pair<rte_cpu_flag_t, std::string>> flags, std::string elsewhere = {})
      : isa_(std::move(isa)), flags_(std::move(flags)), elsewhere_(std::move(elsewhere)) {
    info_ = {"crc", std::move(name), "rte_net_crc_calc, " + isa_ + " routine", dpdk::version()};
  }
  [[nodiscard]] const EngineInfo& info() const override { return info_; }

  [[nodiscard]] std::string unavailable() const override {
    for (const auto& [flag, flag_name] : flags_) {
      if (rte_cpu_get_flag_enabled(flag) <= 0) return "the CPU has no " + flag_name;
    }
    return elsewhere_;
  }
  [[nodiscard]] std::string unsupported(const Params& params) const override {
    if (params.is("algorithm", "CRC-32/ISO-HDLC") || params.is("algorithm", "CRC-16/IBM-SDLC")) return {};
    return "rte_net_crc has two CRCs: 32-bit Ethernet (CRC-32/ISO-HDLC) and 16-bit CCITT (CRC-16/IBM-SDLC)";
  }

  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& work) const override {
    dpdk::require_eal();  // the library's first selection reads the EAL's --force-max-simd-bitwidth
    if (const std::string said = objection_to(Alg); !said.empty()) {
      throw Error("DPDK did not select its " + isa_ + " CRC routine: " + said);
    }
    PathInfo path{isa_, "rte_net_crc_calc", false};
    if (work.params.is("algorithm", "CRC-32/ISO-HDLC")) {
      return kernel_session([] { return Kernel<Alg, RTE_NET_CRC32_ETH>{}; }, std::move(path));
    }
    return kernel_session([] { return Kernel<Alg, RTE_NET_CRC16_CCITT>{}; }, std::move(path));
  }

 private:
  EngineInfo info_;
  std::string isa_;
  std::vector<std::pair<rte_cpu_flag_t, std::string>> flags_;
  std::string elsewhere_;
};

}  // namespace
}  // namespace dpubench

// List each routine on every architecture, so that a table from one machine shows why the other routines are absent.
DPUBENCH_ENGINES(sink) {
  using dpubench::Dpdk;
  using Flags = std::vector<std::pair<rte_cpu_flag_t, std::string>>;
  Flags sse;
  Flags avx512;
  Flags neon;
  std::string x86_only = "needs x86_64";
  std::string arm_only = "needs aarch64";
#if defined(RTE_ARCH_X86_64)
  sse = {{RTE_CPUFLAG_PCLMULQDQ, "PCLMULQDQ"}};
  avx512 = {{RTE_CPUFLAG_AVX512F, "AVX512F"},   {RTE_CPUFLAG_AVX512BW, "AVX512BW"},   {RTE_CPUFLAG_AVX512DQ, "AVX512DQ"},
            {RTE_CPUFLAG_AVX512VL, "AVX512VL"}, {RTE_CPUFLAG_PCLMULQDQ, "PCLMULQDQ"}, {RTE_CPUFLAG_VPCLMULQDQ, "VPCLMULQDQ"}};
  x86_only.clear();
#elif defined(RTE_ARCH_ARM64)
  neon = {{RTE_CPUFLAG_PMULL, "PMULL"}};
  arm_only = dpubench::neon_left_out();
#endif
  sink.add(std::make_unique<Dpdk<RTE_NET_CRC_SSE42>>("dpdk-sse", "sse4.2", sse, x86_only));
  sink.add(std::make_unique<Dpdk<RTE_NET_CRC_AVX512>>("dpdk-avx512", "avx512", avx512, x86_only));
  sink.add(std::make_unique<Dpdk<RTE_NET_CRC_NEON>>("dpdk-neon", "neon", neon, arm_only));
}
