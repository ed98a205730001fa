// ESP in tunnel mode (RFC 4303): the outbound and the inbound end of one security association.
#pragma once

#include <openssl/evp.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace dpubench::applications {

enum class Algorithm : std::uint8_t {
  kCbcHmac,  ///< AES-CBC (RFC 3602) and HMAC-SHA-256-128 (RFC 4868)
  kGcm,      ///< AES-GCM with an ICV of 16 bytes (RFC 4106)
};

/// The agreement between both ends of a tunnel.
struct SaKeys {
  Algorithm algorithm = Algorithm::kGcm;
  std::uint32_t spi = 0;
  std::vector<std::byte> cipher;          ///< 16 or 32 bytes
  std::array<std::byte, 32> integrity{};  ///< HMAC key
  std::array<std::byte, 4> salt{};        ///< GCM salt
  std::array<std::byte, 4> local{};       ///< outer addresses, IPv4
  std::array<std::byte, 4> remote{};
};

inline constexpr std::size_t kOuterHeader = 20;
inline constexpr std::size_t kEspHeader = 8;  ///< SPI and sequence number

struct FreeCipher {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};
struct FreeMac {
  void operator()(EVP_MAC_CTX* context) const { EVP_MAC_CTX_free(context); }
};
using CipherContext = std::unique_ptr<EVP_CIPHER_CTX, FreeCipher>;
using MacContext = std::unique_ptr<EVP_MAC_CTX, FreeMac>;

/// The sending end of a tunnel.
class Outbound {
 public:
  /// @throws Error when OpenSSL lacks an algorithm
  explicit Outbound(const SaKeys& keys);
  /// Append the outer IPv4 packet that carries `packet`. @throws Error when the sequence numbers are used up (section 3.3.3), or
  /// the packet is too long
  void protect(std::span<const std::byte> packet, std::vector<std::byte>& out);

 private:
  void write_outer(std::byte* at, std::size_t length);
  void seal_cbc(std::byte* esp, std::size_t encrypted);
  void seal_gcm(std::byte* esp, std::size_t encrypted);

  SaKeys keys_;
  std::uint32_t sequence_ = 0;
  std::uint16_t identification_ = 0;
  CipherContext cipher_;
  CipherContext iv_cipher_;
  MacContext mac_;
};

/// The receiving end's decision on a packet. The set is closed.
enum class Verdict : std::uint8_t { kAccepted, kMalformed, kReplayed, kNotAuthentic, kPadding };

/// The receiving end of a tunnel, with the anti-replay window of section 3.4.3.
class Inbound {
 public:
  explicit Inbound(const SaKeys& keys);
  /// Open an ESP packet. @param esp  from the ESP header on, untrusted @param out  receives the inner packet if it is accepted
  Verdict open(std::span<const std::byte> esp, std::vector<std::byte>& out);

 private:
  static constexpr std::uint32_t kWindow = 64;
  [[nodiscard]] bool is_new(std::uint32_t sequence) const;
  void note(std::uint32_t sequence);
  bool open_cbc(std::span<const std::byte> esp, std::span<std::byte> plain);
  bool open_gcm(std::span<const std::byte> esp, std::span<std::byte> plain);

  SaKeys keys_;
  std::uint32_t highest_ = 0;
  std::uint64_t seen_ = 0;  ///< bit i: `highest_ - i` was seen
  CipherContext cipher_;
  MacContext mac_;
  std::vector<std::byte> plain_;
};

}  // namespace dpubench::applications
