// The inputs of a job, read once and shared by every operator.
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

/// Files by kind, as the job names them: "routes4", "routes6", "rules" (one file each), "capture", "corpus" (any number; a corpus
/// may be a directory).
using Files = std::map<std::string, std::vector<std::filesystem::path>, std::less<>>;

/// Reads each input on first use and keeps it; not thread-safe (used before threads start).
class Store {
 public:
  /// @param cache_dir  where compiled artefacts are kept by content hash; empty: nowhere
  /// @throws Error on a kind that does not exist, or several files where one is taken
  Store(Files files, std::uint64_t seed, std::filesystem::path cache_dir = {});

  [[nodiscard]] std::uint64_t seed() const { return seed_; }
  /// A generator of its own for `purpose`, so that one operator's draws never shift another's.
  [[nodiscard]] Random random(std::string_view purpose) const;

  [[nodiscard]] bool has(std::string_view kind) const;
  /// @throws Error naming the kind and how to give it, when the job has none.
  const PrefixList4& routes4();
  const PrefixList6& routes6();
  const RuleList& rules();
  /// All captures of the job, concatenated.
  const Capture& capture();
  const Corpus& corpus();
  /// Reads the input of `kind`, for whoever only wants to know whether it can be read. @throws Error as these
  void read(std::string_view kind);

  /// What identifies an input that was read: the file names for people, and the SHA-256 of the content of all its files, one
  /// after the other (a corpus: in name order), for pairing results.
  struct Identity {
    std::string name;
    std::string sha256;
  };
  [[nodiscard]] Identity identity(std::string_view kind) const;
  /// Identities of everything read so far.
  [[nodiscard]] const std::map<std::string, Identity, std::less<>>& identities() const { return identities_; }

  /// What was passed over and why ("rule 12 of crs.regex does not compile: ..."), for the run's warnings.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  /// Adds to notes() what an operator passes over, once: the same input is prepared for many configurations.
  void note(const std::string& text);

  /// Bytes cached under `key` (which must name content and version of what is cached), else build() and keep. Written atomically;
  /// a cache that cannot be written is no fault.
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
