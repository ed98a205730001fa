// What the operators that pack bytes and unpack them again share (lz77, huffman, snappy, deflate).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "operators/operator.hpp"

namespace dpubench {

/// An operator with a `direction` that packs (encode, compress) and one that unpacks. Packing is judged by unpacking with every
/// engine, and a truncated copy must be rejected; unpacking must give back the very bytes. Works of unpacking are packed by plain
/// C++ of the core, and not by an engine: they are the same whatever libraries a machine has.
class CodecOperator : public Operator {
 public:
  [[nodiscard]] Equivalence equivalence(const Params& params) const override;
  [[nodiscard]] std::unique_ptr<Work> prepare(const Params& params, inputs::Store& store, WorkSize size) const override;
  [[nodiscard]] std::unique_ptr<Work> inverse(const Work& work, std::span<const std::size_t> items,
                                              std::span<const Output> outputs) const override;
  /// Uncompressed over compressed size, whichever way.
  [[nodiscard]] std::vector<double> metrics(const Work& work, const WindowTotals& totals) const override;
  /// `expansion` where packing made the input larger.
  [[nodiscard]] std::optional<Remark> remark(const Work& work, const WindowTotals& totals) const override;
  /// Uncompressed bytes in both directions.
  [[nodiscard]] std::uint64_t rate_bytes(const Work& work, const WindowTotals& totals) const override;

  /// How much a message packs to is the engine's affair: the footprint counts what is read alone.
  [[nodiscard]] Touched touched(const Params& params, const Item& item) const override {
    return {item.in.size(), 0, packs(params) ? 0 : item.out_room};
  }

  /// Whether these parameters pack.
  [[nodiscard]] static bool packs(const Params& params);

 protected:
  /// Fields of a descriptor that all of them have in common.
  /// @param pack, unpack  what the two directions are called
  [[nodiscard]] static OperatorInfo common_info(std::string name, const std::string& pack, const std::string& unpack);

  /// Bytes that any engine may need to pack `size` bytes.
  [[nodiscard]] virtual std::size_t packed_room(const Params& params, std::size_t size) const = 0;
  /// Packs with plain C++. @param out at least packed_room() bytes @returns bytes written
  [[nodiscard]] virtual std::size_t pack(std::span<const std::byte> in, std::span<std::byte> out) const = 0;
  /// The parameters that undo what `params` made: the same in the other direction, unless an operator says otherwise.
  [[nodiscard]] virtual Params unpacking(const Params& params) const;

  /// One work of unpacking to collect hand-made streams in.
  class Vectors {
   public:
    explicit Vectors(const Params& params) : work_(std::make_unique<Work>()) { work_->params = params; }
    /// @param packed as hexadecimal text
    Vectors& gives(std::string_view packed, std::string_view plain);
    Vectors& rejects(std::string_view packed, std::uint32_t room = 64);
    KnownAnswer answer(std::string name) { return {std::move(name), std::move(work_)}; }

   private:
    std::unique_ptr<Work> work_;
  };
};

}  // namespace dpubench
