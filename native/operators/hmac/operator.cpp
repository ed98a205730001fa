// hmac: the authentication tag of a message (RFC 2104).

#include <algorithm>

#include "inputs/digest.hpp"
#include "operators/hmac/vectors.hpp"
#include "operators/hmac/work.hpp"
#include "operators/lane.hpp"
#include "operators/md5/md5.hpp"
#include "operators/sha1/sha1.hpp"
#include "operators/support/messages.hpp"

namespace dpubench::hmac {
namespace {

Hash hash_of(const Params& params) {
  if (params.is("hash", "md5")) return Hash::kMd5;
  return params.is("hash", "sha1") ? Hash::kSha1 : Hash::kSha256;
}

std::vector<std::byte> digest(Hash hash, std::span<const std::byte> data) {
  const auto copy = [](const auto& array) { return std::vector<std::byte>(array.begin(), array.end()); };
  switch (hash) {
    case Hash::kMd5:
      return copy(Md5::of(data));
    case Hash::kSha1:
      return copy(Sha1::of(data));
    case Hash::kSha256:
      break;
  }
  return copy(inputs::Sha256::of(data));
}

std::unique_ptr<HmacWork> make_work(const Params& params, std::vector<std::byte> key) {
  auto work = std::make_unique<HmacWork>();
  work->params = params;
  work->hash = hash_of(params);
  work->block_key = key.size() > kBlockBytes ? digest(work->hash, key) : key;
  work->block_key.resize(kBlockBytes);
  work->key = std::move(key);
  return work;
}

class HmacOperator final : public Operator {
 public:
  [[nodiscard]] const OperatorInfo& info() const override {
    static const OperatorInfo info = [] {
      OperatorInfo i;
      i.name = "hmac";
      i.scenarios = {"security"};
      i.summary = "HMAC tag of a message over MD5, SHA-1 or SHA-256";
      i.definition =
          "in: the message. out: its tag, not truncated (16, 20 or 32 bytes). A work has one key, as long as the tag (RFC 2104 "
          "section 3); computations that depend on the key alone are not timed. One operation is one whole message: inner and "
          "outer hash.";
      i.parameters = {{"hash", "underlying hash function", {"md5", "sha1", "sha256"}, "sha256", true, "", 0, 0},
                      size_parameter()};
      i.equivalence = Equivalence::kIdentical;
      i.equivalence_text = "the same tag as the reference engine; the reference agrees with RFC 2104 computed step by step";
      i.primary_metric = "gbps";
      i.processes_all_bytes = true;
      i.reference_engine = "openssl";
      i.sources = {"RFC 2104", "RFC 2202", "RFC 4231", "Crowley et al. (1999), the VPN workload"};
      return i;
    }();
    return info;
  }

  [[nodiscard]] std::unique_ptr<Work> prepare(const Params& params, inputs::Store& store, WorkSize size) const override {
    const std::uint32_t tag = tag_bytes(hash_of(params));
    std::vector<std::byte> key(tag);
    store.random("hmac-key").fill(key);
    auto work = make_work(params, std::move(key));
    work->items = random_messages(store, "hmac", size.items, params.number("size"), tag);
    describe_generated(*work, store, "hmac");
    return work;
  }

  [[nodiscard]] std::vector<KnownAnswer> known_answers(const Params& params) const override {
    std::vector<KnownAnswer> answers;
    for (const Vector& vector : vectors()) {
      if (!params.is("hash", vector.hash)) continue;
      auto work = make_work(params, from_hex(vector.key));
      work->items.push_back({from_hex(vector.message), {}, tag_bytes(work->hash)});
      work->expected.push_back({from_hex(vector.tag), 0, kStatusOk});
      answers.push_back({std::string(vector.name), std::move(work)});
    }
    return answers;
  }

  /// Compute the tag as in RFC 2104 section 2: H(key ^ opad, H(key ^ ipad, text)).
  [[nodiscard]] std::optional<Output> oracle(const Work& any, std::size_t item) const override {
    const auto& work = static_cast<const HmacWork&>(any);
    const auto hashed = [&](std::byte pad, std::span<const std::byte> text) {
      std::vector<std::byte> message(work.block_key);
      for (std::byte& b : message) b ^= pad;
      message.insert(message.end(), text.begin(), text.end());
      return digest(work.hash, message);
    };
    return Output{hashed(std::byte{0x5c}, hashed(std::byte{0x36}, work.items[item].in)), 0, kStatusOk};
  }
};

DPUBENCH_OPERATOR(HmacOperator);

}  // namespace
}  // namespace dpubench::hmac
