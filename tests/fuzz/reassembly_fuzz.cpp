// Reassembles segments in any order, with wraps, overlaps, resets and evictions. The result must equal that of a map from byte to
// content.
#include <cstddef>
#include <cstdint>
#include <string>

#include "check.hpp"
#include "reassembly_oracle.hpp"

namespace {

constexpr std::size_t kStepBytes = 4;
constexpr std::uint32_t kAroundTheWrap = 0xffffff00;

/// Return the step of four bytes. Byte 0: key (2 bits), SYN, RST, hit, far; 1 and 2: sequence number around the wrap; 3: length.
dpubench::test::ReassemblyStep step_of(const std::uint8_t* at) {
  dpubench::test::ReassemblyStep step;
  step.key = at[0] & 3U;
  step.syn = (at[0] & 0x04U) != 0;
  step.rst = (at[0] & 0x18U) == 0x18U;
  step.hit = (at[0] & 0x20U) != 0;
  const auto offset = static_cast<std::uint32_t>(at[1] | at[2] << 8);
  // Most numbers are near each other, a few are anywhere.
  step.sequence = kAroundTheWrap + ((at[0] & 0xc0U) == 0xc0U ? offset << 16 : offset % 1024);
  step.bytes = at[3] % 130;
  return step;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  dpubench::test::ReassemblyModel model({.flows = 3, .stretch_bytes = 128, .overlap_bytes = 8});
  for (std::size_t at = 0; at + kStepBytes <= size; at += kStepBytes) {
    const std::string wrong = model.apply(step_of(data + at));
    if (!wrong.empty()) std::fprintf(stderr, "step %zu: %s\n", at / kStepBytes, wrong.c_str());
    FUZZ_CHECK(wrong.empty());
    FUZZ_CHECK(model.reassembly().live_flows() <= 3);
  }
  FUZZ_CHECK(model.start_anew().empty());
  return 0;
}
