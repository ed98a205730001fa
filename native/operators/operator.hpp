// What an operator is: the definition, the work it prepares, and how outputs of two engines are compared.
// An operator lives in operators/<name>/operator.cpp and registers itself with DPUBENCH_OPERATOR.
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

/// A parameter and its value, with which alone something belongs to a configuration; empty: with any.
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
  OnlyWith only_with{};  ///< a mode, for a parameter that is none itself
  [[nodiscard]] bool is_number() const { return !unit.empty(); }
  [[nodiscard]] bool belongs_to(const Params& params) const { return only_with.holds(params); }
};

/// `given` with defaults filled in, without parameters that do not belong to it. @param whose  for messages: "aes"
/// @throws Error on an unknown parameter, or a value out of its choices or range
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

/// How outputs of an engine are judged.
enum class Equivalence : std::uint8_t {
  kIdentical,  ///< the same bytes, result and status as the reference engine
  kInverse,    ///< every engine's inverse operation gives back the input (decodes, verifies); a corrupted output does not
  kChecked,    ///< the operator's own check() decides from input and output (reassembles, checksums valid; same set)
};

/// "identical", "inverse", "checked": as events and catalogs spell it.
const char* equivalence_name(Equivalence equivalence);

struct OperatorInfo {
  std::string name;
  std::vector<std::string> scenarios;  ///< network, storage, security
  std::string summary;                 ///< one line
  std::string definition;              ///< what `in`, `aux`, `out`, `result` are, and what counts as one operation
  std::vector<Parameter> parameters;
  Equivalence equivalence = Equivalence::kIdentical;
  std::string equivalence_text;      ///< the rule in words
  std::string primary_metric;        ///< "gbps" (of rate_bytes()), "mops" or "kops" (operations)
  bool uses_result = false;          ///< Burst::result is part of the output
  bool processes_all_bytes = false;  ///< in some mode at least: Gb/s is shown only where true, and rate_bytes() is not 0
  std::vector<Metric> metrics;       ///< beyond ops/s, ns per operation and Gb/s
  std::vector<InputKind> inputs;     ///< empty: generated
  std::string reference_engine;
  std::vector<std::string> sources;    ///< RFC section, FIPS, paper and figure
  std::uint32_t version = 1;           ///< raised when the same parameters begin to mean other work
  std::uint32_t distinct_items = 256;  ///< messages that a work should hold before they repeat over the footprint
  bool keyed = false;                  ///< messages look up a table: footprint memory has more distinct ones
  std::uint32_t default_burst = 32;    ///< 1 for operations of tens of microseconds and more
};

/// One message of a work: what a lane gets.
struct Item {
  std::vector<std::byte> in;
  std::vector<std::byte> aux;
  std::uint32_t out_room = 0;  ///< bytes of output that any engine may need
};

/// What an engine made of one item.
struct Output {
  std::vector<std::byte> bytes;
  std::uint64_t result = 0;
  std::uint8_t status = 0;
};

/// One prepared configuration, the same for every engine. Operators derive from it to carry tables, keys or rules;
/// their engines static_cast to the type that the operator's header declares.
class Work {
 public:
  Work() = default;
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  virtual ~Work() = default;

  Params params;
  std::vector<Item> items;       ///< distinct messages; the harness lays copies of them out over the footprint
  std::vector<Output> expected;  ///< known answers, or the reference engine's outputs; empty where equivalence is not kIdentical
  std::string input_name;        ///< what the items were made from, for the report
  std::string input_hash;        ///< SHA-256 of that input, hex
};

struct KnownAnswer {
  std::string name;            ///< "SP 800-38A F.2.1 CBC-AES128"
  std::unique_ptr<Work> work;  ///< with `expected` filled in
};

/// How many distinct items a work should have: enough for the footprint, few enough to verify.
struct WorkSize {
  std::uint32_t items = 32;
};

class Operator {
 public:
  virtual ~Operator() = default;
  [[nodiscard]] virtual const OperatorInfo& info() const = 0;

  /// How outputs of this configuration are judged: one operator's directions may differ (what compresses need only decode to its
  /// input, what decompresses must give the same bytes).
  [[nodiscard]] virtual Equivalence equivalence(const Params&) const { return info().equivalence; }

  /// Why this combination of (individually valid) parameters does not exist; empty if it does.
  [[nodiscard]] virtual std::string invalid(const Params&) const { return {}; }

  /// Builds the work of a configuration, untimed; deterministic for a seed. @throws Error on unusable input.
  [[nodiscard]] virtual std::unique_ptr<Work> prepare(const Params& params, inputs::Store& store, WorkSize size) const = 0;

  /// Published vectors that any engine must reproduce before it is timed with these parameters. Whether they apply depends on
  /// mode, direction and key size, not on `size`. `expected` is filled in; judged by check() against it.
  [[nodiscard]] virtual std::vector<KnownAnswer> known_answers(const Params& params) const = 0;

  /// Judges one output: empty, or what is wrong with it. `want` is the known answer or the reference engine's output,
  /// null for kChecked on real input. The default demands the same bytes, result and status as `want`.
  [[nodiscard]] virtual std::string check(const Work& work, std::size_t item, const Output& got, const Output* want) const;

  /// Judges all outputs of a pass over real input together, after each passed check(): empty, or what is wrong with them. For
  /// what no single output shows, such as an engine that leaves most of its work undecided.
  [[nodiscard]] virtual std::string check_all(const Work&, std::span<const std::size_t> /*items*/,
                                              std::span<const Output> /*outputs*/) const {
    return {};
  }

  /// The share of its work that an engine left undecided, of `outputs` of all items in order: what makes its rate one of other
  /// work than that of an engine that decides it. Nothing where an output is right or wrong, and no more.
  [[nodiscard]] virtual std::optional<double> undecided_share(const Work&, std::span<const Output> /*outputs*/) const {
    return std::nullopt;
  }

  /// An answer computed another way (brute force), on which the reference engine itself is checked; nullopt where there is none.
  [[nodiscard]] virtual std::optional<Output> oracle(const Work&, std::size_t /*item*/) const { return std::nullopt; }

  /// kInverse only: the work that undoes `outputs` (decompress what was compressed, verify what was signed) with `expected` set
  /// to what must come back. It also holds corrupted copies whose expected status is kStatusRejected where the operation can
  /// tell.
  [[nodiscard]] virtual std::unique_ptr<Work> inverse(const Work&, std::span<const std::size_t> /*items*/,
                                                      std::span<const Output> /*outputs*/) const {
    return nullptr;
  }

  /// kInverse only: whether right outputs differ from call to call (a signature with a random nonce), so that those of a window
  /// cannot be compared with what was accepted before: the first window's are all undone, of later ones a sample.
  [[nodiscard]] virtual bool randomized(const Params&) const { return false; }

  /// Bytes of each part of a message, from its start, that every engine reads or writes: what the footprint counts the cache
  /// lines of. All of them, unless the operator says otherwise (a look-up reads a header).
  struct Touched {
    std::size_t in = 0;
    std::size_t aux = 0;
    std::size_t out = 0;
  };
  [[nodiscard]] virtual Touched touched(const Params&, const Item& item) const {
    return {item.in.size(), item.aux.size(), item.out_room};
  }
  /// The bytes of a message that are looked up in a table or hashed; empty where the operator has no such thing.
  [[nodiscard]] virtual std::span<const std::byte> key(const Params&, const Item&) const { return {}; }

  /// Values of info().metrics for the items that a window processed, from their inputs and outputs.
  struct WindowTotals {
    std::uint64_t operations = 0;
    std::uint64_t in_bytes = 0;
    std::uint64_t out_bytes = 0;
    std::uint64_t result_sum = 0;
  };
  [[nodiscard]] virtual std::vector<double> metrics(const Work&, const WindowTotals&) const { return {}; }
  /// Bytes on which a window's Gb/s is based; 0 where it has none, because not every byte is processed. Its input, unless the
  /// operator says otherwise (decompression: its output, so that rates of both directions mean uncompressed bytes).
  [[nodiscard]] virtual std::uint64_t rate_bytes(const Work&, const WindowTotals& totals) const {
    return info().processes_all_bytes ? totals.in_bytes : 0;
  }

  /// Something a reader of the result must know ("input fits already"), once per point; `code` is one of docs/architecture.md's.
  struct Remark {
    std::string code;
    std::string message;
  };
  [[nodiscard]] virtual std::optional<Remark> remark(const Work&, const WindowTotals&) const { return std::nullopt; }

  /// `given` with defaults filled in. @throws Error on an unknown parameter, a value out of its choices or range, or invalid()
  [[nodiscard]] Params complete(const Params& given) const;
  /// Every valid combination of all modes, with the other parameters at their defaults.
  [[nodiscard]] std::vector<Params> configurations() const;
};

/// Every operator linked in, by name.
std::span<const Operator* const> operators();
/// nullptr when there is no operator of that name.
const Operator* find_operator(std::string_view name);

namespace detail {
struct OperatorRegistrar {
  explicit OperatorRegistrar(const Operator& op);
};
}  // namespace detail

}  // namespace dpubench

/// Registers `Type` (an Operator, default-constructible). Once, at namespace scope of operator.cpp.
#define DPUBENCH_OPERATOR(Type)                   \
  static const Type dpubench_operator_instance{}; \
  static const ::dpubench::detail::OperatorRegistrar dpubench_operator_registrar(dpubench_operator_instance)
