// Reads the fields of a job and reports all its faults at once. Jobs are untrusted.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/params.hpp"

namespace dpubench::protocol {

/// One fault of a job.
struct Fault {
  std::string where;  ///< a JSON pointer; empty: the whole job
  std::string what;
};

/// The error for a job that cannot run, with all its faults.
class [[gnu::visibility("default")]] Refused : public Error {
 public:
  Refused(const std::string& message, std::vector<Fault> faults) : Error(message), faults_(std::move(faults)) {}
  [[nodiscard]] const std::vector<Fault>& faults() const {
    return faults_;
  }

 private:
  std::vector<Fault> faults_;
};

/// A reader of fields with types and ranges. It collects faults instead of stopping at the first one.
class Reader {
 public:
  /// @param schema  name of the job's schema, for messages
  explicit Reader(std::string_view schema) : schema_(schema) {}

  void fault(const std::string& where, const std::string& what) {
    faulty_.insert(where);
    if (faults_.size() < kMaxFaults) faults_.push_back({where, what});
  }
  /// Return whether there is no fault at `where`, above it or below it. Only then does the field hold the given value, so that it
  /// can be compared with other fields.
  [[nodiscard]] bool sound(const std::string& where) const;
  /// Throw if there are faults. @throws Refused
  void finish() const;

  bool object(const nlohmann::json& value, const std::string& where, const std::set<std::string_view>& known) {
    if (!value.is_object()) {
      fault(where, "must be an object");
      return false;
    }
    for (const auto& [key, unused] : value.items()) {
      if (!known.contains(key)) fault(where + "/" + key, "is not a field of a " + schema_);
    }
    return true;
  }

  void text(const nlohmann::json& parent, const std::string& where, const char* key, std::string& into, bool required = true) {
    const auto it = parent.find(key);
    if (it == parent.end()) {
      if (required) fault(where + "/" + key, "is missing");
    } else if (!it->is_string() || it->get_ref<const std::string&>().empty()) {
      fault(where + "/" + key, "must be a text that is not empty");
    } else {
      into = it->get<std::string>();
    }
  }

  template <class T>
  void number(const nlohmann::json& parent, const std::string& where, const char* key, T& into, double least, double most) {
    const auto it = parent.find(key);
    if (it == parent.end()) return;
    const bool fits = std::is_floating_point_v<T> ? it->is_number() : it->is_number_integer();
    const double value = fits ? it->get<double>() : 0;
    if (!fits || value < least || value > most) {
      fault(where + "/" + key, "must be a " + std::string(std::is_floating_point_v<T> ? "number" : "whole number") + " from " +
                                   bound(least) + " to " + bound(most));
    } else {
      into = it->get<T>();
    }
  }

  /// Return a bound of a range as people write it.
  [[nodiscard]] static std::string bound(double value);

  void boolean(const nlohmann::json& parent, const std::string& where, const char* key, bool& into) {
    const auto it = parent.find(key);
    if (it == parent.end()) return;
    if (!it->is_boolean()) {
      fault(where + "/" + key, "must be true or false");
    } else {
      into = it->get<bool>();
    }
  }

  /// Return the array `key` of `parent`, or null. Report a fault if it is no array, or is missing although required.
  const nlohmann::json* array(const nlohmann::json& parent, const std::string& where, const char* key, bool required) {
    const auto it = parent.find(key);
    if (it == parent.end()) {
      if (required) fault(where + "/" + key, "is missing");
      return nullptr;
    }
    if (!it->is_array()) {
      fault(where + "/" + key, "must be an array");
      return nullptr;
    }
    return &*it;
  }

  /// Read parameters: an object of texts.
  void params(const nlohmann::json& parent, const std::string& where, const char* key, Params& into);
  /// Read files by kind: an object of arrays of texts.
  void inputs(const nlohmann::json& parent, std::map<std::string, std::vector<std::filesystem::path>, std::less<>>& into);
  /// Read CPU numbers.
  void cpus(const nlohmann::json& parent, const char* key, std::vector<int>& into);

 private:
  static constexpr std::size_t kMaxFaults = 10;
  std::string schema_;
  std::vector<Fault> faults_;
  std::set<std::string> faulty_;  ///< places of all faults, without a limit
};

/// Parse JSON. @param what  for messages: "the job" @throws Error when the text is no JSON, larger than `most_bytes`, nested
/// deeper than any job, or has a key twice: only one of the two would count
nlohmann::json parse_json(std::string_view text, const char* what, std::size_t most_bytes);

}  // namespace dpubench::protocol
