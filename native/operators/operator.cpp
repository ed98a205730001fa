#include "operators/operator.hpp"

#include <algorithm>
#include <cstring>

namespace dpubench {
namespace {

// A function-local static, because registrars of other translation units may run before this one is initialised.
std::vector<const Operator*>& registry() {
  static std::vector<const Operator*> all;
  return all;
}

}  // namespace

namespace detail {
OperatorRegistrar::OperatorRegistrar(const Operator& op) {
  registry().push_back(&op);
}
}  // namespace detail

const char* equivalence_name(Equivalence equivalence) {
  switch (equivalence) {
    case Equivalence::kIdentical:
      return "identical";
    case Equivalence::kInverse:
      return "inverse";
    case Equivalence::kChecked:
      break;
  }
  return "checked";
}

std::span<const Operator* const> operators() {
  std::vector<const Operator*>& all = registry();
  std::sort(all.begin(), all.end(), [](const Operator* a, const Operator* b) { return a->info().name < b->info().name; });
  return all;
}

const Operator* find_operator(std::string_view name) {
  const auto all = operators();
  const auto it = std::find_if(all.begin(), all.end(), [&](const Operator* op) { return op->info().name == name; });
  return it == all.end() ? nullptr : *it;
}

Params complete(const std::string& whose, std::span<const Parameter> parameters, const Params& given) {
  Params full;
  for (const Parameter& parameter : parameters) full.set(parameter.name, parameter.default_value);
  for (const auto& entry : given.all()) {
    const std::string& name = entry.first;  // no structured binding: Clang 14 lambdas cannot capture one
    const std::string& value = entry.second;
    const auto it = std::find_if(parameters.begin(), parameters.end(), [&](const Parameter& p) { return p.name == name; });
    if (it == parameters.end()) {
      std::string known;
      for (const Parameter& p : parameters) known += (known.empty() ? "" : ", ") + p.name;
      throw Error(whose + " has no parameter '" + name + "'; it has: " + (known.empty() ? "none" : known));
    }
    full.set(name, value);
    if (it->is_number()) {
      const std::uint64_t number = full.number(name);
      if (number < it->min || number > it->max) {
        throw Error(whose + ": " + name + " must be from " + std::to_string(it->min) + " to " + std::to_string(it->max) +
                    ", not " + value);
      }
    } else if (std::find(it->values.begin(), it->values.end(), value) == it->values.end()) {
      std::string known;
      for (const std::string& choice : it->values) known += (known.empty() ? "" : ", ") + choice;
      throw Error(whose + ": " + name + " must be one of " + known + ", not '" + value + "'");
    }
  }
  for (const Parameter& parameter : parameters) {
    if (parameter.belongs_to(full)) continue;
    full.remove(parameter.name);
    if (given.has(parameter.name)) {
      throw Error(whose + ": " + parameter.name + " applies only with " + parameter.only_with.parameter + "=" +
                  parameter.only_with.value + ": leave it out here");
    }
  }
  return full;
}

Params Operator::complete(const Params& given) const {
  Params full = dpubench::complete(info().name, info().parameters, given);
  if (const std::string reason = invalid(full); !reason.empty()) throw Error(info().name + ": " + reason);
  return full;
}

std::vector<Params> Operator::configurations() const {
  std::vector<Params> all{{}};
  for (const Parameter& parameter : info().parameters) {
    const std::vector<std::string> values = parameter.is_mode ? parameter.values : std::vector{parameter.default_value};
    std::vector<Params> wider;
    for (const Params& params : all) {
      for (const std::string& value : values) {
        wider.push_back(params);
        wider.back().set(parameter.name, value);
      }
    }
    all = std::move(wider);
  }
  for (Params& params : all) {
    for (const Parameter& parameter : info().parameters) {
      if (!parameter.belongs_to(params)) params.remove(parameter.name);
    }
  }
  std::erase_if(all, [&](const Params& params) { return !invalid(params).empty(); });
  return all;
}

std::string Operator::check(const Work&, std::size_t, const Output& got, const Output* want) const {
  if (want == nullptr) return "there is nothing to compare with";
  if (got.status != want->status) {
    return "status " + std::to_string(got.status) + " instead of " + std::to_string(want->status);
  }
  if (info().uses_result && got.result != want->result) {
    return "result " + std::to_string(got.result) + " instead of " + std::to_string(want->result);
  }
  if (got.bytes.size() != want->bytes.size()) {
    return std::to_string(got.bytes.size()) + " bytes of output instead of " + std::to_string(want->bytes.size());
  }
  const auto [a, b] = std::mismatch(got.bytes.begin(), got.bytes.end(), want->bytes.begin());
  if (a != got.bytes.end()) return "the output differs from byte " + std::to_string(a - got.bytes.begin()) + " on";
  return {};
}

}  // namespace dpubench
