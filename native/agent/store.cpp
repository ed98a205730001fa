#include "agent/store.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <span>
#include <system_error>
#include <utility>

#include "base/error.hpp"

namespace dpubench::agent {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxManifest = std::size_t{1} << 22;
constexpr std::string_view kPartPrefix = ".part-";

std::string because(int number) {
  return std::string(std::strerror(number)) + " (errno " + std::to_string(number) + ")";
}

/// Remove the partial files of agents that were killed while they received them.
void remove_abandoned(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!name.starts_with(kPartPrefix) || fs::exists("/proc/" + name.substr(kPartPrefix.size()))) continue;
    std::error_code ignored;
    fs::remove(it->path(), ignored);
  }
}

}  // namespace

bool is_digest(std::string_view text) {
  return text.size() == 2 * inputs::Sha256::kBytes && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_file_name(std::string_view text) {
  if (text.empty() || text == "." || text == ".." || text.size() > 255) return false;
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return c == '/' || static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

std::string digest_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw Error(file.string() + ": cannot be read: " + because(errno));
  inputs::Sha256 sha;
  std::array<char, std::size_t{1} << 16> bytes;
  while (in.read(bytes.data(), bytes.size()), in.gcount() > 0) {
    sha.update(std::as_bytes(std::span(bytes.data(), static_cast<std::size_t>(in.gcount()))));
  }
  if (in.bad()) throw Error(file.string() + ": cannot be read: " + because(errno));
  return inputs::Sha256::hex(sha.finish());
}

std::size_t verify_bundle(const fs::path& folder, const std::string& manifest_sha256) {
  const fs::path file = folder / "manifest.json";
  std::error_code error;
  const auto size = fs::file_size(file, error);
  if (error) throw Error(file.string() + ": " + error.message() + ": the bundle is not complete");
  if (size > kMaxManifest || digest_of(file) != manifest_sha256)
    throw Error(file.string() + ": differs from the manifest that was sent");
  std::ifstream in(file);
  const auto manifest = nlohmann::json::parse(in);
  std::size_t count = 0;
  for (const auto& [name, digest] : manifest.at("files").items()) {
    if (digest_of(folder / name) != digest.get<std::string>())
      throw Error((folder / name).string() + ": differs from the file that was sent");
    ++count;
  }
  return count;
}

std::vector<std::string> remove_other_bundles(const fs::path& folder, const std::string& keep) {
  std::vector<std::string> others;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (is_digest(name) && name != keep) others.push_back(name);
  }
  fs::directory_iterator process("/proc", error);
  for (; !error && process != fs::directory_iterator(); process.increment(error)) {
    std::error_code unreadable;  // a process of another user
    const std::string program = fs::read_symlink(process->path() / "exe", unreadable).string();
    std::erase_if(others, [&](const std::string& name) { return program.starts_with((folder / name).string() + '/'); });
  }
  // Without all processes nobody knows which bundles are at work.
  if (error) return {};
  for (const std::string& name : others) fs::remove_all(folder / name, error);
  return others;
}

fs::path input_path(const fs::path& cache, const Input& input) {
  if (!is_digest(input.sha256)) throw Error("'" + input.sha256 + "' is not a SHA-256");
  if (!is_file_name(input.name)) throw Error("the name of an input must not contain '/' or control characters");
  return cache / "inputs" / input.sha256 / input.name;
}

bool has_input(const fs::path& cache, const Input& input) {
  std::error_code error;
  const fs::path path = input_path(cache, input);
  return fs::is_regular_file(path, error) && fs::file_size(path, error) == input.bytes && !error;
}

Incoming::Incoming(const fs::path& cache, Input input) : input_(std::move(input)), path_(input_path(cache, input_)) {
  std::error_code error;
  fs::create_directories(path_.parent_path(), error);
  if (error) throw Error(path_.parent_path().string() + ": cannot be created: " + because(error.value()));
  const fs::path inputs = path_.parent_path().parent_path();
  remove_abandoned(inputs);
  temporary_ = inputs / (std::string(kPartPrefix) + std::to_string(getpid()));
  fd_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd_ < 0) throw Error(temporary_.string() + ": cannot be created: " + because(errno));
}

Incoming::~Incoming() {
  if (fd_ >= 0) close(fd_);
  if (temporary_.empty()) return;
  std::error_code ignored;
  fs::remove(temporary_, ignored);
  fs::remove(path_.parent_path(), ignored);  // removes only an empty folder
}

void Incoming::add(std::string_view bytes) {
  if (bytes.size() > input_.bytes - written_) fail("received more than the " + std::to_string(input_.bytes) + " bytes announced");
  sha_.update(std::as_bytes(std::span(bytes)));
  while (!bytes.empty()) {
    const ssize_t got = write(fd_, bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("cannot be written: " + because(errno));
    bytes.remove_prefix(static_cast<std::size_t>(got));
    written_ += static_cast<std::uint64_t>(got);
  }
}

fs::path Incoming::finish() {
  if (written_ != input_.bytes) fail("ends after " + std::to_string(written_) + " of " + std::to_string(input_.bytes) + " bytes");
  if (inputs::Sha256::hex(sha_.finish()) != input_.sha256) fail("the received file does not have SHA-256 " + input_.sha256);
  // Some file systems notice a full disk only now.
  if (fsync(fd_) != 0) fail("cannot be written: " + because(errno));
  const int closed = close(std::exchange(fd_, -1));
  if (closed != 0 || rename(temporary_.c_str(), path_.c_str()) != 0) fail("cannot be written: " + because(errno));
  temporary_.clear();
  return path_;
}

void Incoming::fail(const std::string& what) const {
  throw Error(path_.string() + ": " + what);
}

}  // namespace dpubench::agent
