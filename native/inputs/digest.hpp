// SHA-256 (FIPS 180-4) in portable code. It identifies inputs, and is the kernel of the sha256 operator's portable engine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace dpubench::inputs {

class Sha256 {
 public:
  static constexpr std::size_t kBytes = 32;
  Sha256();
  void update(std::span<const std::byte> data);
  /// Pad and return the digest. The object cannot be used afterwards.
  std::array<std::byte, kBytes> finish();
  static std::array<std::byte, kBytes> of(std::span<const std::byte> data);
  static std::string hex(std::span<const std::byte> data);

 private:
  void blocks(const std::byte* data, std::size_t count);  ///< whole blocks, straight from the caller's memory
  std::array<std::uint32_t, 8> state_;
  std::array<std::byte, 64> buffer_;
  std::size_t buffered_ = 0;
  std::uint64_t total_ = 0;
};

}  // namespace dpubench::inputs
