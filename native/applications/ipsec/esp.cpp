#include "applications/ipsec/esp.hpp"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/params.h>

#include <cstring>
#include <string>

#include "base/byte_order.hpp"
#include "base/error.hpp"
#include "packet/checksum.hpp"
#include "packet/headers.hpp"

namespace dpubench::applications {

namespace {

constexpr std::size_t kBlock = 16;
constexpr std::size_t kGcmIv = 8;
constexpr std::size_t kIcv = 16;
constexpr std::size_t kEspTrailer = 2;  // pad length and next header
constexpr std::size_t kMostPacket = 65'535;
constexpr std::uint8_t kIp4InIp = 4;
constexpr std::uint8_t kIp6InIp = 41;

std::size_t iv_bytes(Algorithm algorithm) {
  return algorithm == Algorithm::kGcm ? kGcmIv : kBlock;
}
/// Return the alignment of the encrypted part in bytes: 4 by section 2.4, or the cipher's block with CBC.
std::size_t alignment(Algorithm algorithm) {
  return algorithm == Algorithm::kGcm ? 4 : kBlock;
}

unsigned char* raw(std::byte* bytes) {
  return reinterpret_cast<unsigned char*>(bytes);
}
const unsigned char* raw(const std::byte* bytes) {
  return reinterpret_cast<const unsigned char*>(bytes);
}

void require(bool succeeded, const char* what) {
  if (!succeeded) throw Error(std::string("OpenSSL: ") + what + " failed");
}

CipherContext cipher_of(const SaKeys& keys, const EVP_CIPHER* cipher, bool encrypts) {
  CipherContext context(EVP_CIPHER_CTX_new());
  require(context != nullptr, "creating a cipher's context");
  require(EVP_CipherInit_ex2(context.get(), cipher, raw(keys.cipher.data()), nullptr, encrypts ? 1 : 0, nullptr) == 1,
          "setting a cipher's key");
  EVP_CIPHER_CTX_set_padding(context.get(), 0);
  return context;
}

CipherContext packet_cipher(const SaKeys& keys, bool encrypts) {
  const bool is_long = keys.cipher.size() == 32;
  if (keys.algorithm == Algorithm::kGcm) return cipher_of(keys, is_long ? EVP_aes_256_gcm() : EVP_aes_128_gcm(), encrypts);
  return cipher_of(keys, is_long ? EVP_aes_256_cbc() : EVP_aes_128_cbc(), encrypts);
}

MacContext mac_of(const SaKeys& keys) {
  if (keys.algorithm == Algorithm::kGcm) return nullptr;
  EVP_MAC* const mac = EVP_MAC_fetch(nullptr, "HMAC", nullptr);
  require(mac != nullptr, "HMAC");
  MacContext context(EVP_MAC_CTX_new(mac));
  EVP_MAC_free(mac);
  char digest[] = "SHA2-256";
  const OSSL_PARAM parameters[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
                                   OSSL_PARAM_construct_end()};
  require(EVP_MAC_init(context.get(), raw(keys.integrity.data()), keys.integrity.size(), parameters) == 1, "setting HMAC's key");
  return context;
}

/// Return the HMAC-SHA-256 of the authenticated part. HMAC-SHA-256-128 uses its first half (RFC 4868, section 2.1).
std::array<std::byte, 32> digest_of(EVP_MAC_CTX* mac, std::span<const std::byte> message) {
  std::array<std::byte, 32> digest{};
  std::size_t bytes = 0;
  require(EVP_MAC_init(mac, nullptr, 0, nullptr) == 1 && EVP_MAC_update(mac, raw(message.data()), message.size()) == 1 &&
              EVP_MAC_final(mac, raw(digest.data()), &bytes, digest.size()) == 1,
          "HMAC");
  return digest;
}

/// Return the nonce: the salt followed by the packet's IV (RFC 4106, section 4).
std::array<std::byte, 12> nonce_of(const SaKeys& keys, const std::byte* iv) {
  std::array<std::byte, 12> nonce{};
  std::memcpy(nonce.data(), keys.salt.data(), keys.salt.size());
  std::memcpy(nonce.data() + keys.salt.size(), iv, kGcmIv);
  return nonce;
}

}  // namespace

Outbound::Outbound(const SaKeys& keys) : keys_(keys), cipher_(packet_cipher(keys, true)), mac_(mac_of(keys)) {
  const EVP_CIPHER* const block_cipher = keys.cipher.size() == 32 ? EVP_aes_256_ecb() : EVP_aes_128_ecb();
  if (keys.algorithm == Algorithm::kCbcHmac) iv_cipher_ = cipher_of(keys, block_cipher, true);
}

void Outbound::protect(std::span<const std::byte> packet, std::vector<std::byte>& out) {
  // Section 3.3.3: an association must end before its sequence numbers start again.
  if (sequence_ == 0xffffffff) throw Error("ipsec: the sequence numbers of an association are used up: set more tunnels");
  ++sequence_;
  const std::size_t iv = iv_bytes(keys_.algorithm);
  const std::size_t align = alignment(keys_.algorithm);
  const std::size_t encrypted = (packet.size() + kEspTrailer + align - 1) / align * align;
  const std::size_t length = kOuterHeader + kEspHeader + iv + encrypted + kIcv;
  if (length > kMostPacket)
    throw Error("ipsec: a packet of " + std::to_string(packet.size()) + " bytes is too long for a tunnel");
  const std::size_t at = out.size();
  out.resize(at + length);
  std::byte* const outer = out.data() + at;
  write_outer(outer, length);
  std::byte* const esp = outer + kOuterHeader;
  wire::put32(esp, keys_.spi);
  wire::put32(esp + 4, sequence_);
  std::byte* const plain = esp + kEspHeader + iv;
  std::memcpy(plain, packet.data(), packet.size());
  const std::size_t padding = encrypted - packet.size() - kEspTrailer;
  for (std::size_t i = 0; i < padding; ++i) plain[packet.size() + i] = static_cast<std::byte>(i + 1);  // section 2.4
  plain[encrypted - 2] = static_cast<std::byte>(padding);
  plain[encrypted - 1] = static_cast<std::byte>(wire::u8(packet, 0) >> 4 == 6 ? kIp6InIp : kIp4InIp);
  if (keys_.algorithm == Algorithm::kGcm) {
    seal_gcm(esp, encrypted);
  } else {
    seal_cbc(esp, encrypted);
  }
}

/// Write the outer header with the addresses of the tunnel's ends (RFC 4303, section 5.1.2.1).
void Outbound::write_outer(std::byte* at, std::size_t length) {
  std::memset(at, 0, kOuterHeader);
  at[0] = std::byte{0x45};
  wire::put16(at + packet::ip4::kTotalLength, static_cast<std::uint32_t>(length));
  wire::put16(at + packet::ip4::kIdentification, ++identification_);
  at[packet::ip4::kTtl] = std::byte{64};
  at[packet::ip4::kProtocol] = std::byte{packet::protocol::kEsp};
  std::memcpy(at + packet::ip4::kSource, keys_.local.data(), 4);
  std::memcpy(at + packet::ip4::kDestination, keys_.remote.data(), 4);
  checksum::store16(at + packet::ip4::kChecksum, checksum::finish(checksum::add(0, at, kOuterHeader)));
}

void Outbound::seal_cbc(std::byte* esp, std::size_t encrypted) {
  // An IV must be unpredictable. The encryption of a counter is (NIST SP 800-38A, appendix C).
  std::array<std::byte, kBlock> counter{};
  wire::put32(counter.data(), keys_.spi);
  wire::put32(counter.data() + 12, sequence_);
  std::byte* const iv = esp + kEspHeader;
  int bytes = 0;
  require(EVP_EncryptUpdate(iv_cipher_.get(), raw(iv), &bytes, raw(counter.data()), kBlock) == 1, "AES of an IV");
  std::byte* const text = iv + kBlock;
  require(EVP_EncryptInit_ex2(cipher_.get(), nullptr, nullptr, raw(iv), nullptr) == 1 &&
              EVP_EncryptUpdate(cipher_.get(), raw(text), &bytes, raw(text), static_cast<int>(encrypted)) == 1,
          "AES-CBC");
  const std::size_t authenticated = kEspHeader + kBlock + encrypted;
  const auto digest = digest_of(mac_.get(), {esp, authenticated});
  std::memcpy(esp + authenticated, digest.data(), kIcv);
}

void Outbound::seal_gcm(std::byte* esp, std::size_t encrypted) {
  std::byte* const iv = esp + kEspHeader;
  wire::put32(iv, 0);
  wire::put32(iv + 4, sequence_);  // RFC 4106 requires only that it is unique under the key
  std::byte* const text = iv + kGcmIv;
  const auto nonce = nonce_of(keys_, iv);
  int bytes = 0;
  require(EVP_EncryptInit_ex2(cipher_.get(), nullptr, nullptr, raw(nonce.data()), nullptr) == 1 &&
              EVP_EncryptUpdate(cipher_.get(), nullptr, &bytes, raw(esp), kEspHeader) == 1 &&
              EVP_EncryptUpdate(cipher_.get(), raw(text), &bytes, raw(text), static_cast<int>(encrypted)) == 1 &&
              EVP_EncryptFinal_ex(cipher_.get(), raw(text) + encrypted, &bytes) == 1 &&
              EVP_CIPHER_CTX_ctrl(cipher_.get(), EVP_CTRL_AEAD_GET_TAG, kIcv, text + encrypted) == 1,
          "AES-GCM");
}

Inbound::Inbound(const SaKeys& keys) : keys_(keys), cipher_(packet_cipher(keys, false)), mac_(mac_of(keys)) {}

bool Inbound::is_new(std::uint32_t sequence) const {
  if (sequence == 0) return false;
  if (sequence > highest_) return true;
  const std::uint32_t behind = highest_ - sequence;
  return behind < kWindow && (seen_ >> behind & 1U) == 0;
}

void Inbound::note(std::uint32_t sequence) {
  if (sequence > highest_) {
    const std::uint32_t ahead = sequence - highest_;
    seen_ = ahead >= kWindow ? 0 : seen_ << ahead;
    highest_ = sequence;
  }
  seen_ |= std::uint64_t{1} << (highest_ - sequence);
}

Verdict Inbound::open(std::span<const std::byte> esp, std::vector<std::byte>& out) {
  const std::size_t iv = iv_bytes(keys_.algorithm);
  const std::size_t align = alignment(keys_.algorithm);
  if (esp.size() < kEspHeader + iv + align + kIcv) return Verdict::kMalformed;
  const std::size_t encrypted = esp.size() - kEspHeader - iv - kIcv;
  if (encrypted % align != 0) return Verdict::kMalformed;
  // Check for a replay before the costly work, but note the number only when the packet is authentic.
  const std::uint32_t sequence = wire::be32(esp, 4);
  if (!is_new(sequence)) return Verdict::kReplayed;
  plain_.resize(encrypted);
  const bool is_authentic = keys_.algorithm == Algorithm::kGcm ? open_gcm(esp, plain_) : open_cbc(esp, plain_);
  if (!is_authentic) return Verdict::kNotAuthentic;
  note(sequence);
  const std::size_t padding = wire::u8(plain_, encrypted - 2);
  if (padding + kEspTrailer > encrypted) return Verdict::kPadding;
  const std::size_t length = encrypted - kEspTrailer - padding;
  for (std::size_t i = 0; i < padding; ++i) {
    if (wire::u8(plain_, length + i) != ((i + 1) & 0xffU)) return Verdict::kPadding;
  }
  const std::uint32_t next = wire::u8(plain_, encrypted - 1);
  if (length == 0 || next != (wire::u8(plain_, 0) >> 4 == 6 ? kIp6InIp : kIp4InIp)) return Verdict::kMalformed;
  out.insert(out.end(), plain_.begin(), plain_.begin() + static_cast<std::ptrdiff_t>(length));
  return Verdict::kAccepted;
}

bool Inbound::open_cbc(std::span<const std::byte> esp, std::span<std::byte> plain) {
  const std::size_t authenticated = esp.size() - kIcv;
  const auto digest = digest_of(mac_.get(), esp.first(authenticated));
  if (CRYPTO_memcmp(digest.data(), esp.data() + authenticated, kIcv) != 0) return false;
  int bytes = 0;
  require(EVP_DecryptInit_ex2(cipher_.get(), nullptr, nullptr, raw(esp.data()) + kEspHeader, nullptr) == 1 &&
              EVP_DecryptUpdate(cipher_.get(), raw(plain.data()), &bytes, raw(esp.data()) + kEspHeader + kBlock,
                                static_cast<int>(plain.size())) == 1,
          "AES-CBC");
  return true;
}

bool Inbound::open_gcm(std::span<const std::byte> esp, std::span<std::byte> plain) {
  const auto nonce = nonce_of(keys_, esp.data() + kEspHeader);
  std::array<unsigned char, kIcv> tag{};
  std::memcpy(tag.data(), esp.data() + esp.size() - kIcv, kIcv);
  int bytes = 0;
  require(EVP_DecryptInit_ex2(cipher_.get(), nullptr, nullptr, raw(nonce.data()), nullptr) == 1 &&
              EVP_DecryptUpdate(cipher_.get(), nullptr, &bytes, raw(esp.data()), kEspHeader) == 1 &&
              EVP_DecryptUpdate(cipher_.get(), raw(plain.data()), &bytes, raw(esp.data()) + kEspHeader + kGcmIv,
                                static_cast<int>(plain.size())) == 1 &&
              EVP_CIPHER_CTX_ctrl(cipher_.get(), EVP_CTRL_AEAD_SET_TAG, kIcv, tag.data()) == 1,
          "AES-GCM");
  unsigned char none[kBlock];
  return EVP_DecryptFinal_ex(cipher_.get(), none, &bytes) == 1;
}

}  // namespace dpubench::applications
