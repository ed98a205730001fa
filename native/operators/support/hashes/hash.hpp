// The common part of the operators md5, sha1 and sha256: everything except their name, length and vectors.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "operators/engine.hpp"
#include "operators/support/messages.hpp"

namespace dpubench {

/// A hash function, as its operator.cpp describes it.
struct HashDescription {
  struct Vector {
    std::string message;
    std::string_view digest;  ///< hexadecimal
  };
  std::string name;   ///< name of the operator: "sha256"
  std::string title;  ///< name in its standard: "SHA-256"
  std::uint32_t digest_bytes = 0;
  std::vector<std::string> sources;
  std::string vectors_source;  ///< "FIPS 180-2 appendix B"
  std::vector<Vector> vectors;
};

/// The operator "hash of a message" for a description. An operator.cpp derives from it and registers the result.
class HashOperator : public Operator {
 public:
  explicit HashOperator(HashDescription hash) : hash_(std::move(hash)) {
    info_.name = hash_.name;
    info_.scenarios = {"security"};
    info_.summary = hash_.title + " of a message";
    info_.definition = "in: the message. out: its " + std::to_string(hash_.digest_bytes) +
                       "-byte digest. One operation is one whole message, padding included.";
    info_.parameters = {size_parameter()};
    info_.equivalence = Equivalence::kIdentical;
    info_.equivalence_text = "the same digest as the reference engine";
    info_.primary_metric = "gbps";
    info_.processes_all_bytes = true;
    info_.reference_engine = "portable";
    info_.sources = hash_.sources;
  }

  [[nodiscard]] const OperatorInfo& info() const override { return info_; }

  [[nodiscard]] std::unique_ptr<Work> prepare(const Params& params, inputs::Store& store, WorkSize size) const override {
    auto work = std::make_unique<Work>();
    work->params = params;
    work->items = random_messages(store, hash_.name, size.items, params.number("size"), hash_.digest_bytes);
    describe_generated(*work, store, hash_.name);
    return work;
  }

  [[nodiscard]] std::vector<KnownAnswer> known_answers(const Params& params) const override {
    auto work = std::make_unique<Work>();
    work->params = params;
    for (const HashDescription::Vector& vector : hash_.vectors) {
      work->items.push_back({bytes_of(vector.message), {}, hash_.digest_bytes});
      work->expected.push_back({from_hex(vector.digest), 0, kStatusOk});
    }
    std::vector<KnownAnswer> answers;
    answers.push_back({hash_.vectors_source, std::move(work)});
    return answers;
  }

 private:
  HashDescription hash_;
  OperatorInfo info_;
};

/// The engine "portable" of a hash operator: one message after the other.
/// @tparam Hash  has `static std::array<std::byte, N> of(std::span<const std::byte>)`
template <class Hash>
class PortableHash final : public Engine {
 public:
  /// @param routine  name of the class in results
  /// @param remark   further text of the summary
  PortableHash(std::string op, const std::string& standard, std::string routine, const std::string& remark = "")
      : info_{std::move(op), "portable", standard + " in plain C++" + remark, ""}, routine_(std::move(routine)) {}

  [[nodiscard]] const EngineInfo& info() const override { return info_; }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work&) const override {
    return kernel_session([] { return Kernel{}; }, {"generic", routine_, false});
  }

 private:
  struct Kernel {
    void operator()(Burst& b) noexcept {
      for (std::uint32_t i = 0; i < b.n; ++i) {
        const auto digest = Hash::of({b.in[i], b.in_len[i]});
        std::memcpy(b.out[i], digest.data(), digest.size());
        b.out_len[i] = static_cast<std::uint32_t>(digest.size());
        b.status[i] = kStatusOk;
      }
    }
  };

  EngineInfo info_;
  std::string routine_;
};

}  // namespace dpubench
