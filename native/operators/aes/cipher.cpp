#include "operators/aes/cipher.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "base/error.hpp"

namespace dpubench::aes {
namespace {

using Word = std::uint32_t;

// --- FIPS 197
// ---------------------------------------------------------------------------------------------------------------------

/// Return a times x in GF(2^8) (section 4.2.1).
constexpr std::uint8_t times_x(std::uint8_t a) {
  return static_cast<std::uint8_t>((a << 1) ^ ((a & 0x80) != 0 ? 0x1b : 0));
}

struct SBoxes {
  std::array<std::uint8_t, 256> forward{};
  std::array<std::uint8_t, 256> inverse{};
};

/// Return the S-box and its inverse (section 5.1.1: inversion, then an affine map). p runs through the powers of 3, which
/// generate the field, and q through their inverses.
constexpr SBoxes make_sboxes() {
  SBoxes boxes;
  std::uint8_t p = 1;
  std::uint8_t q = 1;
  do {
    p = static_cast<std::uint8_t>(p ^ times_x(p));
    q = static_cast<std::uint8_t>(q ^ (q << 1));  // division by 3, which is multiplication by 0xf6
    q = static_cast<std::uint8_t>(q ^ (q << 2));
    q = static_cast<std::uint8_t>(q ^ (q << 4));
    if ((q & 0x80) != 0) q ^= 0x09;
    const auto s = static_cast<std::uint8_t>(q ^ std::rotl(q, 1) ^ std::rotl(q, 2) ^ std::rotl(q, 3) ^ std::rotl(q, 4) ^ 0x63);
    boxes.forward[p] = s;
    boxes.inverse[s] = p;
  } while (p != 1);
  boxes.forward[0] = 0x63;  // 0 has no inverse
  boxes.inverse[0x63] = 0;
  return boxes;
}
constexpr SBoxes kBoxes = make_sboxes();

constexpr std::uint8_t product(std::uint8_t a, std::uint8_t b) {
  std::uint8_t sum = 0;
  for (; b != 0; b = static_cast<std::uint8_t>(b >> 1), a = times_x(a)) {
    if ((b & 1) != 0) sum ^= a;
  }
  return sum;
}

constexpr Word word_of(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d) {
  return Word{a} << 24 | Word{b} << 16 | Word{c} << 8 | Word{d};
}

using Table = std::array<Word, 256>;
using Tables = std::array<Table, 4>;  ///< one for each row

/// Return the contribution of each byte of the state to its column: (Inv)SubBytes and (Inv)MixColumns in one lookup (Daemen and
/// Rijmen, "The Design of Rijndael", section 4.2). `column` is the first column of the mixing matrix. The table of each further
/// row is rotated by one more byte.
constexpr Tables make_tables(const std::array<std::uint8_t, 256>& box, const std::array<std::uint8_t, 4>& column) {
  Tables tables{};
  for (std::size_t i = 0; i < 256; ++i) {
    const std::uint8_t s = box[i];
    const Word word = word_of(product(s, column[0]), product(s, column[1]), product(s, column[2]), product(s, column[3]));
    for (int row = 0; row < 4; ++row) tables[static_cast<std::size_t>(row)][i] = std::rotr(word, 8 * row);
  }
  return tables;
}
constexpr Tables kEncrypt = make_tables(kBoxes.forward, {2, 1, 1, 3});     // section 5.1.3
constexpr Tables kDecrypt = make_tables(kBoxes.inverse, {14, 9, 13, 11});  // section 5.3.3

constexpr std::uint8_t byte_of(Word word, int row) {
  return static_cast<std::uint8_t>(word >> (24 - 8 * row));
}

constexpr Word substitute(const std::array<std::uint8_t, 256>& box, Word a, Word b, Word c, Word d) {
  return word_of(box[byte_of(a, 0)], box[byte_of(b, 1)], box[byte_of(c, 2)], box[byte_of(d, 3)]);
}

/// Return InvMixColumns of a round key. kDecrypt contains the inverse S-box, and the forward S-box cancels it.
constexpr Word inverse_mix(Word word) {
  Word sum = 0;
  for (int row = 0; row < 4; ++row) sum ^= kDecrypt[static_cast<std::size_t>(row)][kBoxes.forward[byte_of(word, row)]];
  return sum;
}

/// Run all rounds. ShiftRows takes row r of column c from column c + r (InvShiftRows: from c - r, written as c + 3 * r modulo 4).
template <std::size_t Shift>
[[gnu::always_inline]] inline State rounds(const Tables& t, const std::array<std::uint8_t, 256>& box, const State* keys,
                                           std::size_t count, State s) {
  const auto from = [](const State& state, std::size_t column, std::size_t row) { return state[(column + Shift * row) % 4]; };
  for (std::size_t c = 0; c < 4; ++c) s[c] ^= keys[0][c];
  for (std::size_t r = 1; r < count; ++r) {
    State next;
    for (std::size_t c = 0; c < 4; ++c) {
      next[c] = t[0][byte_of(from(s, c, 0), 0)] ^ t[1][byte_of(from(s, c, 1), 1)] ^ t[2][byte_of(from(s, c, 2), 2)] ^
                t[3][byte_of(from(s, c, 3), 3)] ^ keys[r][c];
    }
    s = next;
  }
  State last;  // without MixColumns
  for (std::size_t c = 0; c < 4; ++c) {
    last[c] = substitute(box, from(s, c, 0), from(s, c, 1), from(s, c, 2), from(s, c, 3)) ^ keys[count][c];
  }
  return last;
}

// --- memory
// -----------------------------------------------------------------------------------------------------------------------

template <class T>
T from_big_endian(T v) {
  if constexpr (std::endian::native == std::endian::big) return v;
  if constexpr (sizeof(T) == 8) return __builtin_bswap64(v);
  return static_cast<T>(__builtin_bswap32(static_cast<Word>(v)));
}

State load(const std::byte* p) {
  State s;
  std::memcpy(s.data(), p, sizeof s);
  for (Word& w : s) w = from_big_endian(w);
  return s;
}

void store(std::byte* p, State s) {
  for (Word& w : s) w = from_big_endian(w);
  std::memcpy(p, s.data(), sizeof s);
}

State operator^(State a, const State& b) {
  for (std::size_t i = 0; i < 4; ++i) a[i] ^= b[i];
  return a;
}

std::uint64_t load64(const std::byte* p) {
  std::uint64_t v = 0;
  std::memcpy(&v, p, sizeof v);
  return from_big_endian(v);
}

Element load_element(const std::byte* p) {
  return {load64(p), load64(p + 8)};
}

Element operator^(Element a, Element b) {
  return {a.high ^ b.high, a.low ^ b.low};
}

State state_of(Element e) {
  return {static_cast<Word>(e.high >> 32), static_cast<Word>(e.high), static_cast<Word>(e.low >> 32), static_cast<Word>(e.low)};
}

Element element_of(const State& s) {
  return {std::uint64_t{s[0]} << 32 | s[1], std::uint64_t{s[2]} << 32 | s[3]};
}

/// Return a block that begins with `length` bytes of p; the rest is zero.
std::array<std::byte, kBlockBytes> padded(const std::byte* p, std::size_t length) {
  std::array<std::byte, kBlockBytes> block{};
  std::copy_n(p, length, block.begin());
  return block;
}

/// XOR key stream blocks, which `next()` makes, onto a message of any length.
template <class Next>
void apply_stream(const std::byte* in, std::size_t length, std::byte* out, Next next) {
  for (; length >= kBlockBytes; length -= kBlockBytes, in += kBlockBytes, out += kBlockBytes) store(out, load(in) ^ next());
  if (length == 0) return;
  std::array<std::byte, kBlockBytes> block = padded(in, length);
  store(block.data(), load(block.data()) ^ next());
  std::copy_n(block.begin(), length, out);
}

// --- XTS (IEEE 1619-2007)
// -----------------------------------------------------------------------------------------------------------

/// A tweak as a number. Byte 0 of the block holds the coefficients of x^0 to x^7, in the opposite order to GCM.
struct Tweak {
  std::uint64_t low;
  std::uint64_t high;

  explicit Tweak(const State& s) : low(__builtin_bswap64(element_of(s).high)), high(__builtin_bswap64(element_of(s).low)) {}
  [[nodiscard]] State state() const { return state_of({__builtin_bswap64(low), __builtin_bswap64(high)}); }
  /// Multiply by x modulo x^128 + x^7 + x^2 + x + 1 (section 5.2).
  void double_it() {
    const std::uint64_t carry = high >> 63;
    high = high << 1 | low >> 63;
    low = low << 1 ^ (carry != 0 ? 0x87U : 0U);
  }
};

/// Convert a data unit (sections 5.3 and 5.4). @tparam Decrypt  swaps the order of the last two tweaks
template <bool Decrypt, class Crypt>
void xts(Tweak tweak, const std::byte* in, std::size_t length, std::byte* out, Crypt crypt) {
  const auto one = [&](const std::byte* from, std::byte* to, const Tweak& under) {
    const State t = under.state();
    store(to, crypt(load(from) ^ t) ^ t);
  };
  const std::size_t tail = length % kBlockBytes;
  const std::size_t plain_blocks = length / kBlockBytes - (tail == 0 ? 0 : 1);
  for (std::size_t i = 0; i < plain_blocks; ++i, in += kBlockBytes, out += kBlockBytes, tweak.double_it()) one(in, out, tweak);
  if (tail == 0) return;
  // Ciphertext stealing: the partial block is filled with the end of the last whole block, and the two change places.
  Tweak next = tweak;
  next.double_it();
  std::array<std::byte, kBlockBytes> whole;
  one(in, whole.data(), Decrypt ? next : tweak);
  std::array<std::byte, kBlockBytes> joined = whole;
  std::copy_n(in + kBlockBytes, tail, joined.begin());
  std::copy_n(whole.begin(), tail, out + kBlockBytes);
  one(joined.data(), out, Decrypt ? tweak : next);
}

std::span<const std::byte> half(std::span<const std::byte> key, std::size_t which) {
  return key.subspan(which * (key.size() / 2), key.size() / 2);
}

}  // namespace

BlockCipher::BlockCipher(std::span<const std::byte> key) : rounds_(key.size() / 4 + 6), encrypt_keys_{}, decrypt_keys_{} {
  if (key.size() != 16 && key.size() != 32) throw Error("an AES key has 16 or 32 bytes here, not " + std::to_string(key.size()));
  // Key expansion (section 5.2).
  const std::size_t nk = key.size() / 4;
  const auto at = [&](std::size_t i) -> Word& { return encrypt_keys_[i / 4][i % 4]; };
  for (std::size_t i = 0; i < nk; ++i) {
    std::memcpy(&at(i), key.data() + 4 * i, 4);
    at(i) = from_big_endian(at(i));
  }
  std::uint8_t round_constant = 1;
  for (std::size_t i = nk; i < 4 * (rounds_ + 1); ++i) {
    Word word = at(i - 1);
    if (i % nk == 0) {
      word = std::rotl(word, 8);
      word = substitute(kBoxes.forward, word, word, word, word) ^ Word { round_constant } << 24;
      round_constant = times_x(round_constant);
    } else if (nk > 6 && i % nk == 4) {
      word = substitute(kBoxes.forward, word, word, word, word);
    }
    at(i) = at(i - nk) ^ word;
  }
  // Keys of the equivalent inverse cipher (section 5.3.5).
  for (std::size_t r = 0; r <= rounds_; ++r) {
    decrypt_keys_[r] = encrypt_keys_[rounds_ - r];
    if (r == 0 || r == rounds_) continue;
    for (Word& word : decrypt_keys_[r]) word = inverse_mix(word);
  }
}

State BlockCipher::encrypt(State block) const {
  return rounds<1>(kEncrypt, kBoxes.forward, encrypt_keys_.data(), rounds_, block);
}

State BlockCipher::decrypt(State block) const {
  return rounds<3>(kDecrypt, kBoxes.inverse, decrypt_keys_.data(), rounds_, block);
}

Ghash::Ghash(Element key) : products_{} {
  Element power = key;  // the key times x^bit
  for (std::size_t bit = 0; bit < 128; ++bit) {
    auto& products = products_[bit / 4];
    const std::size_t weight = 8U >> bit % 4;  // the first bit of a nibble is its highest
    for (std::size_t v = 0; v < products.size(); ++v) {
      if ((v & weight) != 0) products[v] = products[v] ^ power;
    }
    // Multiply by x (section 6.3): the polynomial is 1 + x + x^2 + x^7 + x^128.
    const std::uint64_t carry = power.low & 1;
    power = {power.high >> 1, power.low >> 1 | power.high << 63};
    if (carry != 0) power.high ^= 0xe1ULL << 56;
  }
}

Element Ghash::times_key(Element y) const {
  Element sum;
  for (std::size_t i = 0; i < 16; ++i) {
    sum = sum ^ products_[i][y.high >> (60 - 4 * i) & 15] ^ products_[16 + i][y.low >> (60 - 4 * i) & 15];
  }
  return sum;
}

Element Ghash::absorb(Element y, std::span<const std::byte> data) const {
  const std::byte* p = data.data();
  std::size_t left = data.size();
  for (; left >= kBlockBytes; left -= kBlockBytes, p += kBlockBytes) y = times_key(y ^ load_element(p));
  if (left > 0) y = times_key(y ^ load_element(padded(p, left).data()));
  return y;
}

Element Ghash::of(std::span<const std::byte> additional, std::span<const std::byte> text) const {
  const Element y = absorb(absorb({}, additional), text);
  return times_key(y ^ Element{additional.size() * 8, text.size() * 8});
}

Cipher::Cipher(std::span<const std::byte> key) : cipher_(key), ghash_(element_of(cipher_.encrypt({}))) {}

void Cipher::cbc_encrypt(const std::byte* iv, const std::byte* in, std::size_t length, std::byte* out) const {
  State chain = load(iv);
  for (; length >= kBlockBytes; length -= kBlockBytes, in += kBlockBytes, out += kBlockBytes) {
    chain = cipher_.encrypt(load(in) ^ chain);
    store(out, chain);
  }
}

void Cipher::cbc_decrypt(const std::byte* iv, const std::byte* in, std::size_t length, std::byte* out) const {
  State chain = load(iv);
  for (; length >= kBlockBytes; length -= kBlockBytes, in += kBlockBytes, out += kBlockBytes) {
    const State block = load(in);
    store(out, cipher_.decrypt(block) ^ chain);
    chain = block;
  }
}

void Cipher::ctr(const std::byte* counter, const std::byte* in, std::size_t length, std::byte* out) const {
  Element number = load_element(counter);
  apply_stream(in, length, out, [&] {
    const State stream = cipher_.encrypt(state_of(number));
    if (++number.low == 0) ++number.high;
    return stream;
  });
}

void Cipher::gcm_ctr(const std::byte* iv, std::span<const std::byte> in, std::byte* out) const {
  // Sections 6.5 and 7.1: the last 32 bits are the counter. Counter 1 masks the tag, and the text begins at 2.
  std::array<std::byte, kBlockBytes> block = padded(iv, kGcmIvBytes);
  State counter = load(block.data());
  counter[3] = 1;
  apply_stream(in.data(), in.size(), out, [&] {
    ++counter[3];
    return cipher_.encrypt(counter);
  });
}

Element Cipher::gcm_tag(const std::byte* iv, std::span<const std::byte> additional, std::span<const std::byte> ciphertext) const {
  State counter = load(padded(iv, kGcmIvBytes).data());
  counter[3] = 1;
  return ghash_.of(additional, ciphertext) ^ element_of(cipher_.encrypt(counter));
}

void Cipher::gcm_seal(const std::byte* iv, std::span<const std::byte> additional, std::span<const std::byte> text,
                      std::byte* out) const {
  gcm_ctr(iv, text, out);
  store(out + text.size(), state_of(gcm_tag(iv, additional, {out, text.size()})));
}

bool Cipher::gcm_open(const std::byte* iv, std::span<const std::byte> additional, std::span<const std::byte> sealed,
                      std::byte* out) const {
  const auto ciphertext = sealed.first(sealed.size() - kTagBytes);
  const Element difference = gcm_tag(iv, additional, ciphertext) ^ load_element(sealed.data() + ciphertext.size());
  if ((difference.high | difference.low) != 0) return false;
  gcm_ctr(iv, ciphertext, out);
  return true;
}

XtsCipher::XtsCipher(std::span<const std::byte> key) : data_(half(key, 0)), tweak_(half(key, 1)) {}

void XtsCipher::encrypt(const std::byte* tweak, const std::byte* in, std::size_t length, std::byte* out) const {
  xts<false>(Tweak(tweak_.encrypt(load(tweak))), in, length, out, [&](const State& s) { return data_.encrypt(s); });
}

void XtsCipher::decrypt(const std::byte* tweak, const std::byte* in, std::size_t length, std::byte* out) const {
  xts<true>(Tweak(tweak_.encrypt(load(tweak))), in, length, out, [&](const State& s) { return data_.decrypt(s); });
}

}  // namespace dpubench::aes
