#include "base/keyed_hash.hpp"

#include <sys/auxv.h>

#include <cstring>

namespace dpubench {

std::uint64_t process_secret() noexcept {
  // The kernel gives each process 16 random bytes (getauxval(3), AT_RANDOM), of which the C library makes its own secrets: not as
  // they are. An emulator gives the same ones for the same seed, so that a trace can be made again.
  static const std::uint64_t secret = [] {
    std::uint64_t words[2] = {};
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel gives the address as a number
    if (const auto* const random = reinterpret_cast<const void*>(getauxval(AT_RANDOM)); random != nullptr) {
      std::memcpy(words, random, sizeof words);
    }
    return fold(words[0] ^ 0xa076'1d64'78bd'642fU, words[1] ^ 0xe703'7ed1'a0b4'28dbU);
  }();
  return secret;
}

}  // namespace dpubench
