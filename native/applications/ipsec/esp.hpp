// ESP in tunnel mode (RFC 4303), outbound and inbound, of one security association each.
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

/// What both ends of a tunnel agreed on.
struct SaKeys {
  Algorithm algorithm = Algorithm::kGcm;
  std::uint32_t spi = 0;
  std::vector<std::byte> cipher;          ///< 16 or 32 bytes
  std::array<std::byte, 32> integrity{};  ///< of HMAC
  std::array<std::byte, 4> salt{};        ///< of GCM
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

/// The sending end.
class Outbound {
 public:
  /// @throws Error when OpenSSL lacks an algorithm
  explicit Outbound(const SaKeys& keys);
  /// Appends the outer IPv4 packet that carries `packet`. @throws Error when the sequence numbers are used up (section 3.3.3), or
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

/// What the receiving end makes of a packet. A closed set.
enum class Verdict : std::uint8_t { kAccepted, kMalformed, kReplayed, kNotAuthentic, kPadding };

/// The receiving end, with the window against replays of section 3.4.3.
class Inbound {
 public:
  explicit Inbound(const SaKeys& keys);
  /// @param esp  from the ESP header on, untrusted @param out  the packet that was carried, appended when it is accepted
  Verdict open(std::span<const std::byte> esp, std::vector<std::byte>& out);

 private:
  static constexpr std::uint32_t kWindow = 64;
  [[nodiscard]] bool is_new(std::uint32_t sequence) const;
  void note(std::uint32_t sequence);
  bool open_cbc(std::span<const std::byte> esp, std::span<std::byte> plain);
  bool open_gcm(std::span<const std::byte> esp, std::span<std::byte> plain);

  SaKeys keys_;
  std::uint32_t highest_ = 0;
  std::uint64_t seen_ = 0;  ///< bit i: `highest_ - i`
  CipherContext cipher_;
  MacContext mac_;
  std::vector<std::byte> plain_;
};

}  // namespace dpubench::applications
