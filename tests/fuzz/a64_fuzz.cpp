// Decodes any words. Their registers must exist, the counts must fit, and a target must be a whole number of instructions away.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "check.hpp"
#include "cores/a64/decode.hpp"

using namespace dpubench::cores;

namespace {

void check(const Instruction& i) {
  FUZZ_CHECK(static_cast<std::size_t>(i.kind) < kKinds);
  FUZZ_CHECK(i.reads <= i.read.size() && i.writes <= i.written.size());
  FUZZ_CHECK(i.first_data <= i.reads && i.first_address <= i.writes);
  for (std::size_t r = 0; r < i.reads; ++r) FUZZ_CHECK(i.read[r] < kRegisters);
  for (std::size_t r = 0; r < i.writes; ++r) FUZZ_CHECK(i.written[r] < kRegisters);
  FUZZ_CHECK((i.kind == Kind::kBranch) == (i.branch != Branch::kNone));
  const bool is_direct = i.branch == Branch::kConditional || i.branch == Branch::kDirect || i.branch == Branch::kCall;
  FUZZ_CHECK(i.target % 4 == 0 && (is_direct || i.target == 0));
  FUZZ_CHECK(i.target >= -(std::int64_t{1} << 27) && i.target < std::int64_t{1} << 27);
  if (i.kind == Kind::kUnknown) FUZZ_CHECK(i.reads == 0 && i.writes == 0);
  // Only loads have results from memory that come later than the address. Only stores and atomics have data.
  if (i.first_address != i.writes) FUZZ_CHECK(i.kind == Kind::kLoad);
  if (i.first_data != i.reads) FUZZ_CHECK(i.kind == Kind::kStore || i.kind == Kind::kAtomic);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (; size >= sizeof(std::uint32_t); data += sizeof(std::uint32_t), size -= sizeof(std::uint32_t)) {
    std::uint32_t word = 0;
    std::memcpy(&word, data, sizeof word);
    check(a64::decode(word));
  }
  return 0;
}
