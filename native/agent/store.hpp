// Manages the target's folder: the agent's own bundle, and the received input files, which are named by their SHA-256.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "inputs/digest.hpp"

namespace dpubench::agent {

/// Return whether the text is 64 lowercase hexadecimal digits.
bool is_digest(std::string_view text);
/// Return whether the text is a file name that stays in its folder: no separator, no control character, not empty, "." or "..".
bool is_file_name(std::string_view text);

/// Return the SHA-256 of a file's content in hexadecimal digits. @throws Error when the file cannot be read
std::string digest_of(const std::filesystem::path& file);

/// Compare every file of the bundle in `folder` with its manifest. The manifest's own digest is `manifest_sha256`.
/// @returns the number of files @throws Error that names the first missing or different file
std::size_t verify_bundle(const std::filesystem::path& folder, const std::string& manifest_sha256);

/// Remove the bundles in `folder` (named by digests), except `keep` and bundles with a running program.
/// @returns the names of the removed bundles
std::vector<std::string> remove_other_bundles(const std::filesystem::path& folder, const std::string& keep);

struct Input {
  std::string sha256;
  std::string name;
  std::uint64_t bytes = 0;
};

/// Return `<cache>/inputs/<sha256>/<name>`. @throws Error on an invalid digest or name
std::filesystem::path input_path(const std::filesystem::path& cache, const Input& input);
/// Return whether the input exists in full length.
bool has_input(const std::filesystem::path& cache, const Input& input);

/// A receiver that takes an input in pieces. The file gets its name only when it is complete and its digest is right.
class Incoming {
 public:
  /// @throws Error with the path and the system's reason
  Incoming(const std::filesystem::path& cache, Input input);
  Incoming(const Incoming&) = delete;
  Incoming& operator=(const Incoming&) = delete;
  ~Incoming();
  /// Add a piece. @throws Error when more bytes come than announced, or the disk is full
  void add(std::string_view bytes);
  /// Finish the file and return its path. @throws Error when bytes are missing, the content differs, or the disk is full
  std::filesystem::path finish();

 private:
  [[noreturn]] void fail(const std::string& what) const;
  Input input_;
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int fd_ = -1;
  std::uint64_t written_ = 0;
  inputs::Sha256 sha_;
};

}  // namespace dpubench::agent
