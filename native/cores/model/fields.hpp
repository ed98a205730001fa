// Reads required fields of a model description. It builds on the reader of jobs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/reader.hpp"

namespace dpubench::cores {

/// One object of a description, with its place. Fields are required unless the method begins with `maybe_`: a model must not use
/// a value that its description does not state.
class Fields {
 public:
  Fields(protocol::Reader& reader, const nlohmann::json& object, std::string where)
      : reader_(&reader), object_(&object), where_(std::move(where)) {}

  [[nodiscard]] const std::string& where() const { return where_; }
  [[nodiscard]] const nlohmann::json& json() const { return *object_; }
  [[nodiscard]] bool has(const char* key) const { return object_->contains(key); }
  [[nodiscard]] std::string at(const char* key) const { return where_ + "/" + key; }
  void fault(const char* key, const std::string& what) const { reader_->fault(at(key), what); }
  /// Return whether these fields have no fault so far. A faulty field keeps its default. A comparison of the default with another
  /// field would report a second fault that does not exist.
  template <class... Keys>
  [[nodiscard]] bool sound(Keys... keys) const {
    return (reader_->sound(at(keys)) && ...);
  }

  template <class T>
  void number(const char* key, T& into, double least, double most) const {
    if (!has(key)) return fault(key, "is missing");
    reader_->number(*object_, where_, key, into, least, most);
  }
  template <class T>
  void maybe_number(const char* key, T& into, double least, double most) const {
    reader_->number(*object_, where_, key, into, least, most);
  }
  void maybe_boolean(const char* key, bool& into) const { reader_->boolean(*object_, where_, key, into); }
  void text(const char* key, std::string& into) const { reader_->text(*object_, where_, key, into); }

  /// Read a text that must be one of a closed set.
  template <class T>
  void choice(const char* key, T& into, const std::vector<std::pair<std::string_view, T>>& choices) const {
    std::string chosen;
    text(key, chosen);
    if (chosen.empty()) return;
    std::string list;
    for (const auto& [name, value] : choices) {
      if (name == chosen) {
        into = value;
        return;
      }
      list += (list.empty() ? "" : ", ") + std::string(name);
    }
    fault(key, "is '" + chosen + "', and must be one of: " + list);
  }
  template <class T>
  void maybe_choice(const char* key, T& into, const std::vector<std::pair<std::string_view, T>>& choices) const {
    if (has(key)) choice(key, into, choices);
  }

 private:
  protocol::Reader* reader_;
  const nlohmann::json* object_;
  std::string where_;
};

}  // namespace dpubench::cores
