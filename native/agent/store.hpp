// What lies in the target's folder: the bundle that this agent is of, and input files that were sent, named by their SHA-256.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "inputs/digest.hpp"

namespace dpubench::agent {

/// 64 lower-case hexadecimal digits.
bool is_digest(std::string_view text);
/// A file name that stays in its folder: no separator, no control character, neither empty nor a dot or two.
bool is_file_name(std::string_view text);

/// SHA-256 of a file's content, in hexadecimal digits. @throws Error when it cannot be read
std::string digest_of(const std::filesystem::path& file);

/// Compares every file of the bundle in `folder` with its manifest, whose own digest is `manifest_sha256`; the number of files.
/// @throws Error naming the first file that is missing or different
std::size_t verify_bundle(const std::filesystem::path& folder, const std::string& manifest_sha256);

/// Removes the bundles in `folder` (named by digests) but `keep` and those of which a program is running; the names of the
/// removed.
std::vector<std::string> remove_other_bundles(const std::filesystem::path& folder, const std::string& keep);

struct Input {
  std::string sha256;
  std::string name;
  std::uint64_t bytes = 0;
};

/// `<cache>/inputs/<sha256>/<name>`. @throws Error for a digest or a name that is none
std::filesystem::path input_path(const std::filesystem::path& cache, const Input& input);
/// Whether it is there, whole.
bool has_input(const std::filesystem::path& cache, const Input& input);

/// Takes an input in piece by piece; it gets its name only when it is complete and its digest is right.
class Incoming {
 public:
  /// @throws Error with the path and the system's reason
  Incoming(const std::filesystem::path& cache, Input input);
  Incoming(const Incoming&) = delete;
  Incoming& operator=(const Incoming&) = delete;
  ~Incoming();
  /// @throws Error: more than was announced, or the disk is full
  void add(std::string_view bytes);
  /// The path under which it can be used now. @throws Error: less than was announced, other content, or the disk is full
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
