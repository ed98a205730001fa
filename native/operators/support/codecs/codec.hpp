// The common part of the operators that pack bytes and unpack them again (lz77, huffman, snappy, deflate).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "operators/operator.hpp"

namespace dpubench {

/// An operator with a `direction` that packs (encode, compress) and one that unpacks. To judge packing, every engine unpacks the
/// output, and must reject a truncated copy. Unpacking must give back the very bytes. Plain C++ of the core, not an engine, packs
/// the inputs of unpacking: they are the same whatever libraries a machine has.
class CodecOperator : public Operator {
 public:
  [[nodiscard]] Equivalence equivalence(const Params& params) const override;
  [[nodiscard]] std::unique_ptr<Work> prepare(const Params& params, inputs::Store& store, WorkSize size) const override;
  [[nodiscard]] std::unique_ptr<Work> inverse(const Work& work, std::span<const std::size_t> items,
                                              std::span<const Output> outputs) const override;
  /// Return the uncompressed over the compressed size, in both directions.
  [[nodiscard]] std::vector<double> metrics(const Work& work, const WindowTotals& totals) const override;
  /// Return `expansion` if packing made the input larger.
  [[nodiscard]] std::optional<Remark> remark(const Work& work, const WindowTotals& totals) const override;
  /// Return the uncompressed bytes in both directions.
  [[nodiscard]] std::uint64_t rate_bytes(const Work& work, const WindowTotals& totals) const override;

  /// The packed size depends on the engine, so packing counts only its input.
  [[nodiscard]] Touched touched(const Params& params, const Item& item) const override {
    return {item.in.size(), 0, packs(params) ? 0 : item.out_room};
  }

  /// Return whether these parameters pack.
  [[nodiscard]] static bool packs(const Params& params);

 protected:
  /// Return the fields of a descriptor that all these operators share.
  /// @param pack, unpack  names of the two directions
  [[nodiscard]] static OperatorInfo common_info(std::string name, const std::string& pack, const std::string& unpack);

  /// Return the bytes that any engine may need to pack `size` bytes.
  [[nodiscard]] virtual std::size_t packed_room(const Params& params, std::size_t size) const = 0;
  /// Pack with plain C++. @param out at least packed_room() bytes @returns bytes written
  [[nodiscard]] virtual std::size_t pack(std::span<const std::byte> in, std::span<std::byte> out) const = 0;
  /// Return the parameters that undo what `params` made: the same in the other direction, unless an operator overrides this.
  [[nodiscard]] virtual Params unpacking(const Params& params) const;

  /// A work of unpacking that collects streams made by hand.
  class Vectors {
   public:
    explicit Vectors(const Params& params) : work_(std::make_unique<Work>()) { work_->params = params; }
    /// @param packed  hexadecimal text
    Vectors& gives(std::string_view packed, std::string_view plain);
    Vectors& rejects(std::string_view packed, std::uint32_t room = 64);
    KnownAnswer answer(std::string name) { return {std::move(name), std::move(work_)}; }

   private:
    std::unique_ptr<Work> work_;
  };
};

}  // namespace dpubench
