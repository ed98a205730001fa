// The inputs of a job. Each is read once and shared by all operators.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "inputs/capture.hpp"
#include "inputs/corpus.hpp"
#include "inputs/prefixes.hpp"
#include "inputs/random.hpp"
#include "inputs/rules.hpp"
#include "inputs/traffic.hpp"

namespace dpubench::inputs {

/// The files of a job by kind: "routes4", "routes6", "rules" (one file each), "capture", "corpus" (any number; a corpus may be a
/// directory).
using Files = std::map<std::string, std::vector<std::filesystem::path>, std::less<>>;

/// A store that reads each input on first use and keeps it. It is not thread-safe: use it before threads start.
class Store {
 public:
  /// @param cache_dir  folder for compiled artefacts by content hash; empty: no cache
  /// @throws Error on an unknown kind, or several files for a kind that takes one
  Store(Files files, std::uint64_t seed, std::filesystem::path cache_dir = {});

  [[nodiscard]] std::uint64_t seed() const { return seed_; }
  /// Return a separate generator for `purpose`, so that the draws of one operator never shift those of another.
  [[nodiscard]] Random random(std::string_view purpose) const;

  [[nodiscard]] bool has(std::string_view kind) const;
  /// Return the input. @throws Error that names the kind and how to give it, when the job has none
  const PrefixList4& routes4();
  const PrefixList6& routes6();
  const RuleList& rules();
  /// Return all captures of the job, concatenated.
  const Capture& capture();
  const Corpus& corpus();
  /// Read the input of `kind`, for callers that only want to know whether it is readable. @throws Error as the functions above
  void read(std::string_view kind);

  /// The identity of an input that was read: its file names for people, and a SHA-256 for pairing results. The SHA-256 covers the
  /// content of all files, one after the other (a corpus: in name order).
  struct Identity {
    std::string name;
    std::string sha256;
  };
  [[nodiscard]] Identity identity(std::string_view kind) const;
  /// Return the identities of all inputs read so far.
  [[nodiscard]] const std::map<std::string, Identity, std::less<>>& identities() const { return identities_; }

  /// Return the skipped parts with reasons ("rule 12 of crs.regex does not compile: ..."), for the run's warnings.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  /// Add a text to notes() unless it is there already. The same input is prepared for many configurations.
  void note(const std::string& text);

  /// Return the bytes cached under `key`, or build() and cache them. `key` must name the content and version of the cached data.
  /// Writes are atomic. A cache that cannot be written is no error.
  std::vector<std::byte> cached(std::string_view key, const std::function<std::vector<std::byte>()>& build) const;

 private:
  [[nodiscard]] const std::vector<std::filesystem::path>& files(std::string_view kind) const;
  void note_duplicates(const std::filesystem::path& path, std::uint64_t duplicates);
  void note_passed_over(const std::filesystem::path& path, const Capture& capture);

  Files files_;
  std::uint64_t seed_;
  std::filesystem::path cache_dir_;
  std::unique_ptr<PrefixList4> routes4_;
  std::unique_ptr<PrefixList6> routes6_;
  std::unique_ptr<RuleList> rules_;
  std::unique_ptr<Capture> capture_;
  std::unique_ptr<Corpus> corpus_;
  std::map<std::string, Identity, std::less<>> identities_;
  std::vector<std::string> notes_;
};

}  // namespace dpubench::inputs
