// aes: encryption and decryption of a message (FIPS 197) in the modes of network and storage protocols.

#include "operators/aes/vectors.hpp"
#include "operators/aes/work.hpp"
#include "operators/lane.hpp"
#include "operators/support/messages.hpp"

namespace dpubench::aes {
namespace {

constexpr std::uint32_t kAadBytes = 16;

Mode mode_of(const Params& params) {
  if (params.is("mode", "cbc")) return Mode::kCbc;
  if (params.is("mode", "ctr")) return Mode::kCtr;
  return params.is("mode", "gcm") ? Mode::kGcm : Mode::kXts;
}

Direction direction_of(const Params& params) {
  return params.is("direction", "encrypt") ? Direction::kEncrypt : Direction::kDecrypt;
}

std::unique_ptr<AesWork> make_work(const Params& params) {
  auto work = std::make_unique<AesWork>();
  work->params = params;
  work->mode = mode_of(params);
  work->direction = direction_of(params);
  return work;
}

/// Return the work of a vector, in the direction of `params`.
std::unique_ptr<AesWork> make_work(const Params& params, const Vector& vector) {
  auto work = make_work(params);
  work->key = from_hex(vector.key);
  Item item;
  item.aux = from_hex(vector.iv);
  const std::vector<std::byte> additional = from_hex(vector.additional);
  item.aux.insert(item.aux.end(), additional.begin(), additional.end());
  work->aad_bytes = static_cast<std::uint32_t>(additional.size());
  Output output;
  item.in = from_hex(vector.plain);
  output.bytes = from_hex(vector.cipher);
  if (work->direction == Direction::kDecrypt) std::swap(item.in, output.bytes);
  item.out_room = static_cast<std::uint32_t>(output.bytes.size());
  work->items.push_back(std::move(item));
  work->expected.push_back(std::move(output));
  return work;
}

/// Return copies of a vector's sealed message, each with one bit flipped: in the IV, the additional data, the ciphertext or the
/// tag. An engine must reject all of them.
std::unique_ptr<AesWork> make_forgeries(const Params& params, const Vector& vector) {
  auto work = make_work(params, vector);
  const Item genuine = work->items.front();
  work->items.clear();
  work->expected.clear();
  const auto add = [&](std::vector<std::byte> Item::*part, std::size_t byte, unsigned bit) {
    Item& item = work->items.emplace_back(genuine);
    (item.*part)[byte] ^= static_cast<std::byte>(1U << bit);
    work->expected.push_back({{}, 0, kStatusRejected});
  };
  add(&Item::aux, 0, 0);                                  // IV
  add(&Item::aux, genuine.aux.size() - 1, 7);             // additional data
  add(&Item::in, 0, 3);                                   // first byte of the ciphertext
  add(&Item::in, genuine.in.size() - kTagBytes - 1, 0);   // last byte of the ciphertext
  for (std::size_t byte = 0; byte < kTagBytes; ++byte) {  // an engine that compares fewer bytes of the tag fails here
    add(&Item::in, genuine.in.size() - kTagBytes + byte, byte % 8);
  }
  return work;
}

class AesOperator final : public Operator {
 public:
  [[nodiscard]] const OperatorInfo& info() const override {
    static const OperatorInfo info = [] {
      OperatorInfo i;
      i.name = "aes";
      i.scenarios = {"security"};
      i.summary = "AES encryption and decryption of a message";
      i.definition =
          "in: the message of `size` bytes; for GCM decryption, the ciphertext of `size` bytes and its 16-byte tag. aux: the IV "
          "of the message: CBC 16 bytes; CTR the first 16-byte counter block, one 128-bit big-endian number; XTS the 16-byte "
          "tweak; GCM 12 bytes, followed by 16 bytes of additional data. out: the converted message; GCM encryption appends the "
          "16-byte tag. status: rejected if GCM's tag is wrong. A work has one key, and its expansion is not timed. There is no "
          "padding: CBC takes whole blocks; XTS takes one block or more, and uses ciphertext stealing. One operation is one "
          "message with its own IV. Gb/s counts its `size` bytes.";
      i.parameters = {
          {"mode", "mode of operation", {"cbc", "ctr", "gcm", "xts"}, "gcm", true, "", 0, 0},
          {"direction", "encrypt or decrypt", {"encrypt", "decrypt"}, "encrypt", true, "", 0, 0},
          {"key_bits", "size of the key (XTS: of each of its two keys)", {"128", "256"}, "128", false, "", 0, 0},
          size_parameter(),
      };
      i.equivalence = Equivalence::kIdentical;
      i.equivalence_text =
          "the same bytes as the reference engine (the output of each mode depends only on key, IV and input); GCM rejects a "
          "message with a flipped bit in IV, additional data, ciphertext or tag";
      i.primary_metric = "gbps";
      i.processes_all_bytes = true;
      i.reference_engine = "portable";
      i.sources = {"FIPS 197", "NIST SP 800-38A (CBC, CTR), SP 800-38D (GCM), SP 800-38E and IEEE 1619 (XTS)",
                   "DPUBench (2023), security operators"};
      return i;
    }();
    return info;
  }

  [[nodiscard]] std::string invalid(const Params& params) const override {
    const std::uint64_t size = params.number("size");
    if (params.is("mode", "cbc") && size % kBlockBytes != 0) {
      return "mode=cbc takes whole blocks of 16 bytes (the protocol does the padding): give size=" +
             std::to_string(size / kBlockBytes * kBlockBytes + kBlockBytes) + " instead of " + std::to_string(size);
    }
    if (params.is("mode", "xts") && size < kBlockBytes) {
      return "mode=xts needs at least one block (IEEE 1619): give size=16 or more instead of " + std::to_string(size);
    }
    return {};
  }

  [[nodiscard]] std::unique_ptr<Work> prepare(const Params& params, inputs::Store& store, WorkSize count) const override {
    auto work = make_work(params);
    const std::size_t size = params.number("size");
    const std::size_t key_bytes = params.number("key_bits") / 8;
    inputs::Random random = store.random("aes-keys");
    work->key.resize(work->mode == Mode::kXts ? 2 * key_bytes : key_bytes);
    random.fill(work->key);
    work->aad_bytes = work->mode == Mode::kGcm ? kAadBytes : 0;
    work->items = random_messages(store, "aes", count.items, size, static_cast<std::uint32_t>(size));
    for (Item& item : work->items) {
      item.aux.resize(work->iv_bytes() + work->aad_bytes);
      random.fill(item.aux);
    }
    if (work->mode == Mode::kGcm) {
      if (work->direction == Direction::kEncrypt) {
        for (Item& item : work->items) item.out_room += kTagBytes;
      } else {
        seal(*work);
      }
    }
    describe_generated(*work, store, "aes");
    return work;
  }

  [[nodiscard]] std::vector<KnownAnswer> known_answers(const Params& params) const override {
    std::vector<KnownAnswer> answers;
    const Vector* forged = nullptr;
    for (const Vector& vector : vectors()) {
      auto work = make_work(params, vector);
      if (vector.mode != work->mode || work->key_bits() != params.number("key_bits")) continue;
      if (!vector.additional.empty() && !vector.plain.empty()) forged = &vector;
      answers.push_back({std::string(vector.name), std::move(work)});
    }
    if (forged != nullptr && direction_of(params) == Direction::kDecrypt) {
      answers.push_back({std::string(forged->name) + ", one bit flipped", make_forgeries(params, *forged)});
    }
    return answers;
  }

  [[nodiscard]] std::uint64_t rate_bytes(const Work& any, const WindowTotals& totals) const override {
    const auto& work = static_cast<const AesWork&>(any);
    const bool tag_in_input = work.mode == Mode::kGcm && work.direction == Direction::kDecrypt;
    return totals.in_bytes - (tag_in_input ? totals.operations * kTagBytes : 0);
  }

 private:
  /// Replace every message by its ciphertext and tag: only a genuine message goes all the way through decryption.
  static void seal(AesWork& work) {
    const Cipher cipher(work.key);
    for (Item& item : work.items) {
      std::vector<std::byte> sealed(item.in.size() + kTagBytes);
      cipher.gcm_seal(item.aux.data(), std::span(item.aux).subspan(kGcmIvBytes), item.in, sealed.data());
      item.in = std::move(sealed);
    }
  }
};

DPUBENCH_OPERATOR(AesOperator);

}  // namespace
}  // namespace dpubench::aes
