#include "base/keyed_hash.hpp"

#include <sys/auxv.h>

#include <cstring>

namespace dpubench {

std::uint64_t process_secret() noexcept {
  // The kernel gives each process 16 random bytes (getauxval(3), AT_RANDOM). The C library derives its own secrets from them, so
  // this function mixes them and does not use them directly. An emulator gives the same bytes for the same seed. A trace can
  // therefore be repeated.
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
