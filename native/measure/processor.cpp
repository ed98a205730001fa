#include "measure/processor.hpp"

#include <algorithm>
#include <array>
#include <span>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace dpubench::measure {
namespace {

constexpr std::string_view kIntel = "GenuineIntel";
constexpr std::string_view kAmd = "AuthenticAMD";
constexpr std::string_view kFog = "Fog, Instruction tables (agner.org/optimize)";
constexpr std::string_view kUops = "uops.info, IMUL (R64, R64)";

/// The models `from` to `to` of a microarchitecture, of one vendor and family.
struct Known {
  std::string_view vendor;
  std::uint32_t family;
  std::uint32_t from;
  std::uint32_t to;
  double cycles;
  std::string_view processor;
  std::string_view source;
};

// Intel's models: SDM volume 4, table 2-1. AMD's models: the PPR and the optimization guide of each family. The list omits
// processors with two kinds of cores (client processors from Alder Lake on), because the efficient cores take 5 cycles
// (uops.info) and a thread may change cores. It also omits Atom, Zhaoxin and AMD before Zen: few of them are left, and their
// latencies differ (4 to 6).
constexpr std::array kKnown = {
    Known{kIntel, 6, 0x1a, 0x1a, 3, "Nehalem", kFog},
    Known{kIntel, 6, 0x1e, 0x1f, 3, "Nehalem", kFog},
    Known{kIntel, 6, 0x2e, 0x2e, 3, "Nehalem", kFog},
    Known{kIntel, 6, 0x25, 0x25, 3, "Westmere", kUops},
    Known{kIntel, 6, 0x2c, 0x2c, 3, "Westmere", kUops},
    Known{kIntel, 6, 0x2f, 0x2f, 3, "Westmere", kUops},
    Known{kIntel, 6, 0x2a, 0x2a, 3, "Sandy Bridge", kFog},
    Known{kIntel, 6, 0x2d, 0x2d, 3, "Sandy Bridge", kFog},
    Known{kIntel, 6, 0x3a, 0x3a, 3, "Ivy Bridge", kFog},
    Known{kIntel, 6, 0x3e, 0x3e, 3, "Ivy Bridge", kFog},
    Known{kIntel, 6, 0x3c, 0x3c, 3, "Haswell", kFog},
    Known{kIntel, 6, 0x3f, 0x3f, 3, "Haswell", kFog},
    Known{kIntel, 6, 0x45, 0x46, 3, "Haswell", kFog},
    Known{kIntel, 6, 0x3d, 0x3d, 3, "Broadwell", kFog},
    Known{kIntel, 6, 0x47, 0x47, 3, "Broadwell", kFog},
    Known{kIntel, 6, 0x4f, 0x4f, 3, "Broadwell", kFog},
    Known{kIntel, 6, 0x56, 0x56, 3, "Broadwell", kFog},
    Known{kIntel, 6, 0x4e, 0x4e, 3, "Skylake", kFog},
    Known{kIntel, 6, 0x5e, 0x5e, 3, "Skylake", kFog},
    Known{kIntel, 6, 0x55, 0x55, 3, "Skylake, Cascade Lake or Cooper Lake server", kUops},
    Known{kIntel, 6, 0x8e, 0x8e, 3, "Kaby Lake to Comet Lake", kUops},
    Known{kIntel, 6, 0x9e, 0x9e, 3, "Kaby Lake to Comet Lake", kUops},
    Known{kIntel, 6, 0xa5, 0xa6, 3, "Kaby Lake to Comet Lake", kUops},
    Known{kIntel, 6, 0x6a, 0x6a, 3, "Ice Lake server", kFog},
    Known{kIntel, 6, 0x6c, 0x6c, 3, "Ice Lake server", kFog},
    Known{kIntel, 6, 0x7d, 0x7e, 3, "Ice Lake", kFog},
    Known{kIntel, 6, 0x8c, 0x8d, 3, "Tiger Lake", kUops},
    Known{kIntel, 6, 0xa7, 0xa7, 3, "Rocket Lake", kUops},
    Known{kIntel, 6, 0x8f, 0x8f, 3, "Sapphire Rapids (Golden Cove)", "uops.info, IMUL (R64, R64) on Golden Cove (Alder Lake-P)"},
    // The optimization manual lists Raptor Cove with Golden Cove. They differ in their caches.
    Known{kIntel, 6, 0xcf, 0xcf, 3, "Emerald Rapids (Raptor Cove)", "Intel Optimization Reference Manual, Golden Cove"},
    Known{kAmd, 0x17, 0x00, 0x2f, 4, "Zen or Zen+", "AMD 55723, Software Optimization Guide for Family 17h"},
    Known{kAmd, 0x17, 0x30, 0xaf, 3, "Zen 2", "AMD 56305, Software Optimization Guide for Family 17h Models 30h and Greater"},
    Known{kAmd, 0x19, 0x00, 0x0f, 3, "Zen 3", "AMD 56665, Software Optimization Guide for Family 19h"},
    Known{kAmd, 0x19, 0x20, 0x5f, 3, "Zen 3", "AMD 56665, Software Optimization Guide for Family 19h"},
    Known{kAmd, 0x19, 0x10, 0x1f, 3, "Zen 4", "AMD 57647, Software Optimization Guide for Zen 4"},
    Known{kAmd, 0x19, 0x60, 0xaf, 3, "Zen 4", "AMD 57647, Software Optimization Guide for Zen 4"},
    Known{kAmd, 0x1a, 0x00, 0x7f, 3, "Zen 5", "AMD 58455, Software Optimization Guide for Zen 5"},
};

}  // namespace

MultiplyLatency multiply_latency(const Signature& processor) {
  if (processor.vendor.empty()) {
    return {0,
            {},
            {},
            "the latency of a multiplication differs between the cores of this architecture, and there is no list of them"};
  }
  const auto found = std::find_if(kKnown.begin(), kKnown.end(), [&](const Known& known) {
    return known.vendor == processor.vendor && known.family == processor.family && known.from <= processor.model &&
           processor.model <= known.to;
  });
  if (found != kKnown.end()) return {found->cycles, found->processor, found->source, {}};
  return {0,
          {},
          {},
          "the latency of a multiplication on this processor is not known: " + processor.vendor + " family " +
              std::to_string(processor.family) + " model " + std::to_string(processor.model) +
              " is not in the list with sources (native/measure/processor.cpp)"};
}

Signature signature() {
  Signature found;
#if defined(__x86_64__)
  std::array<std::uint32_t, 3> name{};
  std::uint32_t eax = 0;
  std::uint32_t ebx = 0;
  std::uint32_t ecx = 0;
  std::uint32_t edx = 0;
  if (__get_cpuid(0, &eax, &name[0], &name[2], &name[1]) == 0) return found;
  for (const std::byte letter : std::as_bytes(std::span(name))) found.vendor += std::to_integer<char>(letter);
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0) return {};
  // Intel SDM volume 2, CPUID, figure 3-6: extended fields count if the base family is 15. The extended model also counts if the
  // base family is 6.
  constexpr std::uint32_t kNibble = 0xf;
  const std::uint32_t family = eax >> 8U & kNibble;
  found.family = family == kNibble ? family + (eax >> 20U & 0xffU) : family;
  found.model = (eax >> 4U & kNibble) | (family == kNibble || family == 6 ? (eax >> 16U & kNibble) << 4U : 0);
#endif
  return found;
}

}  // namespace dpubench::measure
