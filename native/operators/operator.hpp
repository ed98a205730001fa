// The interface of an operator: its definition, the work that it prepares, and the comparison of two engines' outputs. An
// operator lives in operators/<name>/operator.cpp and registers itself with DPUBENCH_OPERATOR.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/params.hpp"
#include "inputs/store.hpp"

namespace dpubench {

/// A condition: something belongs to a configuration only if this parameter has this value. If empty, it always belongs.
struct OnlyWith {
  std::string parameter;
  std::string value;
  [[nodiscard]] bool holds(const Params& params) const { return parameter.empty() || params.is(parameter, value); }
};

/// One axis of an operator's configurations.
struct Parameter {
  std::string name;  ///< plan key, CLI key and result key
  std::string summary;
  std::vector<std::string> values;  ///< the choices; for a number, the published grid
  std::string default_value;
  bool is_mode = false;   ///< every value belongs to the `quick` plan (else only the default)
  std::string unit;       ///< empty for a choice; "B" for bytes, "1" for a count
  std::uint64_t min = 0;  ///< range of a number, ignored for a choice
  std::uint64_t max = 0;
  OnlyWith only_with{};  ///< the mode that the parameter belongs to; only for parameters that are no modes
  [[nodiscard]] bool is_number() const { return !unit.empty(); }
  [[nodiscard]] bool belongs_to(const Params& params) const { return only_with.holds(params); }
};

/// Return `given` with defaults filled in and without the parameters that do not belong to it.
/// @param whose  name for messages: "aes"
/// @throws Error on an unknown parameter, on a value out of its choices or range, or on a parameter that does not belong to it
Params complete(const std::string& whose, std::span<const Parameter> parameters, const Params& given);

/// A kind of input that an operator reads: "routes4", "routes6", "capture", "rules", "corpus".
struct InputKind {
  std::string name;
  OnlyWith only_with{};
};

/// A quantity that a window yields besides operations and time (a compression ratio, matches per unit).
struct Metric {
  std::string name;  ///< ends in its unit or is a ratio
  std::string unit;
  std::string summary;
  bool higher_is_better = true;
};

/// How the outputs of an engine are judged.
enum class Equivalence : std::uint8_t {
  kIdentical,  ///< the same bytes, result and status as the reference engine
  kInverse,    ///< every engine's inverse operation gives back the input (decodes, verifies); a corrupted output does not
  kChecked,    ///< the operator's own check() decides from input and output (reassembles, checksums valid; same set)
};

/// Return the name in events and catalogs: "identical", "inverse", "checked".
const char* equivalence_name(Equivalence equivalence);

struct OperatorInfo {
  std::string name;
  std::vector<std::string> scenarios;  ///< network, storage, security
  std::string summary;                 ///< one line
  std::string definition;              ///< contents of `in`, `aux`, `out`, `result`, and the meaning of one operation
  std::vector<Parameter> parameters;
  Equivalence equivalence = Equivalence::kIdentical;
  std::string equivalence_text;      ///< the rule in words
  std::string primary_metric;        ///< "gbps" (of rate_bytes()), "mops" or "kops" (operations)
  bool uses_result = false;          ///< Burst::result is part of the output
  bool processes_all_bytes = false;  ///< true if some mode does; Gb/s is shown only if true and rate_bytes() is not 0
  std::vector<Metric> metrics;       ///< metrics besides ops/s, ns per operation and Gb/s
  std::vector<InputKind> inputs;     ///< empty if the input is generated
  std::string reference_engine;
  std::vector<std::string> sources;    ///< RFC section, FIPS, paper and figure
  std::uint32_t version = 1;           ///< raise it when the same parameters begin to mean other work
  std::uint32_t distinct_items = 256;  ///< distinct messages that a work should hold; the footprint repeats them
  bool keyed = false;                  ///< messages look up a table; footprint memory then has more distinct messages
  std::uint32_t default_burst = 32;    ///< 1 if an operation takes tens of microseconds or more
};

/// One message of a work, as a lane gets it.
struct Item {
  std::vector<std::byte> in;
  std::vector<std::byte> aux;
  std::uint32_t out_room = 0;  ///< bytes of output that any engine may need
};

/// The output of an engine for one item.
struct Output {
  std::vector<std::byte> bytes;
  std::uint64_t result = 0;
  std::uint8_t status = 0;
};

/// One prepared configuration, the same for every engine. Operators derive from it to carry tables, keys or rules. Their engines
/// static_cast it to the type that the operator's header declares.
class Work {
 public:
  Work() = default;
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  virtual ~Work() = default;

  Params params;
  std::vector<Item> items;       ///< distinct messages; the harness lays copies of them out over the footprint
  std::vector<Output> expected;  ///< known answers, or the reference engine's outputs (kIdentical); else empty
  std::string input_name;        ///< name of the input that the items come from, for the report
  std::string input_hash;        ///< SHA-256 of that input, hex
};

struct KnownAnswer {
  std::string name;            ///< "SP 800-38A F.2.1 CBC-AES128"
  std::unique_ptr<Work> work;  ///< with `expected` filled in
};

/// The number of distinct items that a work should have: enough for the footprint, few enough to verify.
struct WorkSize {
  std::uint32_t items = 32;
};

class Operator {
 public:
  virtual ~Operator() = default;
  [[nodiscard]] virtual const OperatorInfo& info() const = 0;

  /// Return how the outputs of this configuration are judged. The directions of an operator may differ: compressed output need
  /// only decode to its input, but decompressed output must be the same bytes.
  [[nodiscard]] virtual Equivalence equivalence(const Params&) const { return info().equivalence; }

  /// Return why this combination of (individually valid) parameters does not exist, or an empty string.
  [[nodiscard]] virtual std::string invalid(const Params&) const { return {}; }

  /// Build the work of a configuration, untimed; deterministic for a seed. @throws Error on unusable input
  [[nodiscard]] virtual std::unique_ptr<Work> prepare(const Params& params, inputs::Store& store, WorkSize size) const = 0;

  /// Return published vectors that any engine must reproduce before it is timed with these parameters. Mode, direction and key
  /// size decide which vectors apply, not `size`. `expected` is filled in; check() judges against it.
  [[nodiscard]] virtual std::vector<KnownAnswer> known_answers(const Params& params) const = 0;

  /// Judge one output: return its fault, or an empty string. `want` is the known answer or the reference engine's output, or null
  /// for kChecked on real input. The default demands the same bytes, result and status as `want`.
  [[nodiscard]] virtual std::string check(const Work& work, std::size_t item, const Output& got, const Output* want) const;

  /// Judge all outputs of a pass over real input together, after each passed check(): return the fault, or an empty string. This
  /// finds faults that no single output shows, such as an engine that leaves most of its work undecided.
  [[nodiscard]] virtual std::string check_all(const Work&, std::span<const std::size_t> /*items*/,
                                              std::span<const Output> /*outputs*/) const {
    return {};
  }

  /// Return the share of its work that an engine left undecided, from `outputs` of all items in order. The rate of such an engine
  /// cannot be compared with the rate of one that decides everything. Return nothing if every output is either right or wrong.
  [[nodiscard]] virtual std::optional<double> undecided_share(const Work&, std::span<const Output> /*outputs*/) const {
    return std::nullopt;
  }

  /// Return the answer computed another way (brute force), or nullopt. The reference engine itself is checked against it.
  [[nodiscard]] virtual std::optional<Output> oracle(const Work&, std::size_t /*item*/) const { return std::nullopt; }

  /// kInverse only: return the work that undoes `outputs` (decompresses them, or verifies signatures), with `expected` set to the
  /// right results. It also holds corrupted copies; their expected status is kStatusRejected if the operation can detect it.
  [[nodiscard]] virtual std::unique_ptr<Work> inverse(const Work&, std::span<const std::size_t> /*items*/,
                                                      std::span<const Output> /*outputs*/) const {
    return nullptr;
  }

  /// kInverse only: return whether right outputs differ from call to call (a signature with a random nonce). Then a window's
  /// outputs cannot be compared with accepted ones: all outputs of the first window are undone, and a sample of those of later
  /// windows.
  [[nodiscard]] virtual bool randomized(const Params&) const { return false; }

  /// Bytes of each part of a message, from its start, that every engine reads or writes. The footprint counts their cache lines.
  /// The default is all bytes; an operator may return fewer (a look-up reads a header).
  struct Touched {
    std::size_t in = 0;
    std::size_t aux = 0;
    std::size_t out = 0;
  };
  [[nodiscard]] virtual Touched touched(const Params&, const Item& item) const {
    return {item.in.size(), item.aux.size(), item.out_room};
  }
  /// Return the bytes of a message that are looked up in a table or hashed; empty if the operator does neither.
  [[nodiscard]] virtual std::span<const std::byte> key(const Params&, const Item&) const { return {}; }

  /// Totals of the items that a window processed.
  struct WindowTotals {
    std::uint64_t operations = 0;
    std::uint64_t in_bytes = 0;
    std::uint64_t out_bytes = 0;
    std::uint64_t result_sum = 0;
  };
  /// Return the values of info().metrics for a window.
  [[nodiscard]] virtual std::vector<double> metrics(const Work&, const WindowTotals&) const { return {}; }
  /// Return the bytes that a window's Gb/s counts, or 0 if it has no Gb/s because not every byte is processed. The default is the
  /// input. Decompression counts its output, so that the rates of both directions mean uncompressed bytes.
  [[nodiscard]] virtual std::uint64_t rate_bytes(const Work&, const WindowTotals& totals) const {
    return info().processes_all_bytes ? totals.in_bytes : 0;
  }

  /// A note that a reader of the result must see ("input fits already"), once per point; `code` is one of those in
  /// docs/architecture.md.
  struct Remark {
    std::string code;
    std::string message;
  };
  [[nodiscard]] virtual std::optional<Remark> remark(const Work&, const WindowTotals&) const { return std::nullopt; }

  /// Return `given` with defaults filled in. @throws Error on an unknown parameter, on a value out of its choices or range, on a
  /// given parameter that does not belong to it, or if invalid() gives a reason
  [[nodiscard]] Params complete(const Params& given) const;
  /// Return every valid combination of all modes, with the other parameters at their defaults.
  [[nodiscard]] std::vector<Params> configurations() const;
};

/// Return every operator linked in, sorted by name.
std::span<const Operator* const> operators();
/// Return the operator of this name, or nullptr.
const Operator* find_operator(std::string_view name);

namespace detail {
struct OperatorRegistrar {
  explicit OperatorRegistrar(const Operator& op);
};
}  // namespace detail

}  // namespace dpubench

/// Register `Type` (an Operator, default-constructible). Use it once, at namespace scope of operator.cpp.
#define DPUBENCH_OPERATOR(Type)                 \
  static const Type dpubench_operator_##Type{}; \
  static const ::dpubench::detail::OperatorRegistrar dpubench_registrar_##Type(dpubench_operator_##Type)
