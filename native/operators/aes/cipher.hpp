// AES (FIPS 197) and its modes CBC, CTR (SP 800-38A), GCM (SP 800-38D) and XTS (SP 800-38E, IEEE 1619) in portable code. It is
// the kernel of the operator's portable engine, and it seals the messages for GCM decryption.
//
// Secret bytes index the tables. On a shared machine, cache timing reveals the key (Bernstein, "Cache-timing attacks on AES",
// 2005). Use this code to learn and to measure, not to protect data.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace dpubench::aes {

inline constexpr std::size_t kBlockBytes = 16;
inline constexpr std::size_t kTagBytes = 16;
inline constexpr std::size_t kGcmIvBytes = 12;

/// The state: four columns, each a big-endian word.
using State = std::array<std::uint32_t, 4>;

/// The block cipher under one key.
class BlockCipher {
 public:
  /// @param key  16 or 32 bytes @throws Error on any other length
  explicit BlockCipher(std::span<const std::byte> key);
  [[nodiscard]] State encrypt(State block) const;
  [[nodiscard]] State decrypt(State block) const;

 private:
  static constexpr std::size_t kMaxRounds = 14;
  std::size_t rounds_;
  std::array<State, kMaxRounds + 1> encrypt_keys_;
  std::array<State, kMaxRounds + 1> decrypt_keys_;  ///< keys of the equivalent inverse cipher, in the order of use
};

/// An element of GF(2^128) in GCM's bit order: the highest bit of `high` is the coefficient of x^0.
struct Element {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
};

/// GHASH (SP 800-38D section 6.4) under one key.
class Ghash {
 public:
  explicit Ghash(Element key);
  [[nodiscard]] Element of(std::span<const std::byte> additional, std::span<const std::byte> text) const;

 private:
  [[nodiscard]] Element times_key(Element y) const;
  Element absorb(Element y, std::span<const std::byte> data) const;
  /// products_[i][v] is the key times the block whose only bits are `v` in nibble i. The table has 8 KiB, and its lookups do not
  /// wait for each other.
  std::array<std::array<Element, 16>, 32> products_;
};

/// The modes CBC, CTR and GCM under one key. `out` has the room of `in` (sealing: kTagBytes more) and does not overlap it.
class Cipher {
 public:
  /// @param key  key of 16 or 32 bytes, for CBC, CTR and GCM @throws Error on any other length
  explicit Cipher(std::span<const std::byte> key);

  /// @param length  whole blocks
  void cbc_encrypt(const std::byte* iv, const std::byte* in, std::size_t length, std::byte* out) const;
  void cbc_decrypt(const std::byte* iv, const std::byte* in, std::size_t length, std::byte* out) const;
  /// Encrypt or decrypt. The whole counter block is one 128-bit big-endian number (SP 800-38A appendix B.1 with m = 128).
  void ctr(const std::byte* counter, const std::byte* in, std::size_t length, std::byte* out) const;
  /// Write the ciphertext and then the tag. @param iv  kGcmIvBytes
  void gcm_seal(const std::byte* iv, std::span<const std::byte> additional, std::span<const std::byte> text,
                std::byte* out) const;
  /// Decrypt if the tag is right. @param sealed  ciphertext and tag @return false, with nothing written, when the tag is wrong
  [[nodiscard]] bool gcm_open(const std::byte* iv, std::span<const std::byte> additional, std::span<const std::byte> sealed,
                              std::byte* out) const;

 private:
  [[nodiscard]] Element gcm_tag(const std::byte* iv, std::span<const std::byte> additional,
                                std::span<const std::byte> ciphertext) const;
  void gcm_ctr(const std::byte* iv, std::span<const std::byte> in, std::byte* out) const;
  BlockCipher cipher_;
  Ghash ghash_;
};

/// XTS under one pair of keys. Data units whose length is not a multiple of the block size end in ciphertext stealing.
class XtsCipher {
 public:
  /// @param key  both keys, one after the other: 32 or 64 bytes @throws Error on any other length
  explicit XtsCipher(std::span<const std::byte> key);
  /// @param tweak  number of the data unit, 16 bytes, little-endian @param length  at least one block
  void encrypt(const std::byte* tweak, const std::byte* in, std::size_t length, std::byte* out) const;
  void decrypt(const std::byte* tweak, const std::byte* in, std::size_t length, std::byte* out) const;

 private:
  BlockCipher data_;
  BlockCipher tweak_;
};

}  // namespace dpubench::aes
