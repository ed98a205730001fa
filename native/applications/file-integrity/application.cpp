// file-integrity: writes a manifest of SHA-256 digests and checks files against it.
// requires: libcrypto >= 3.0
#include <openssl/evp.h>

#include <array>
#include <cstdio>
#include <memory>
#include <optional>

#include "applications/application.hpp"
#include "inputs/digest.hpp"
#include "measure/region.hpp"

namespace dpubench::applications {
namespace {

const ApplicationInfo& info() {
  static const ApplicationInfo info{
      .name = "file-integrity",
      .summary = "SHA-256 of files in blocks, a manifest, and a check of the files against it",
      .definition =
          "Reads each file in blocks and writes a manifest (lines `digest  name`, as sha256sum does). Then reads the manifest "
          "and every file again, and reports whether each file is unchanged. A record is a file that was read. Verified: "
          "another implementation gives the same digests, and with one digit of the manifest changed, that one file is found.",
      .inputs = {{"corpus", "files to check"}},
      .operators = {"sha256"},
      .parameters = {{.name = "block",
                      .summary = "bytes per read",
                      .values = {"4096", "65536", "1048576"},
                      .default_value = "65536",
                      .unit = "B",
                      .min = 512,
                      .max = 1U << 24}},
      .sources = {"FIPS 180-4 section 6.2", "GNU coreutils sha256sum, format of --check"},
  };
  return info;
}

using Digest = std::array<std::byte, 32>;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
struct FreeDigest {
  void operator()(EVP_MD* digest) const { EVP_MD_free(digest); }
};

/// One line of a manifest.
struct Entry {
  std::string_view digest;
  std::string_view name;
};
std::optional<Entry> parse_line(std::string_view line) {
  constexpr std::size_t kHex = 64;
  if (line.size() < kHex + 3 || line.substr(kHex, 2) != "  ") return std::nullopt;
  const Entry entry{line.substr(0, kHex), line.substr(kHex + 2)};
  if (entry.digest.find_first_not_of("0123456789abcdef") != std::string_view::npos) return std::nullopt;
  return entry;
}

class FileIntegrity final : public Application {
 public:
  void run(const Task& task) override {
    sha256_.reset(EVP_MD_fetch(nullptr, "SHA2-256", nullptr));
    context_.reset(EVP_MD_CTX_new());
    if (sha256_ == nullptr || context_ == nullptr) throw Error("OpenSSL offers no SHA-256");
    block_.resize(task.params.number("block"));
    for (const auto& path : task.files("corpus"))
      manifest_ += inputs::Sha256::hex(digest_of(path, task.limit_bytes)) + "  " + path.string() + "\n";
    const std::string report = check(manifest_, task.limit_bytes);
    append(output, manifest_);
    append(output, report);
    facts = {{"files", task.files("corpus").size()}, {"failed", failed_}};
  }

  void verify(const Task& task) const override {
    std::string expected;
    std::string report;
    for (const auto& path : task.files("corpus")) {
      const std::vector<std::byte> bytes = read_input(path, "corpus", task.limit_bytes);
      expected += inputs::Sha256::hex(inputs::Sha256::of(bytes)) + "  " + path.string() + "\n";
      report += path.string() + ": OK\n";
    }
    const std::string_view text(reinterpret_cast<const char*>(output.data()), output.size());
    if (text != expected + report) throw Error("file-integrity: the manifest or the report on the files is wrong");
    check_that_changes_are_found(task);
  }

 private:
  Digest digest_of(const std::filesystem::path& path, std::uint64_t limit_bytes) {
    measure::next_message();
    const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "rb"));
    if (file == nullptr) throw Error("corpus " + path.string() + ": cannot be read");
    if (EVP_DigestInit_ex2(context_.get(), sha256_.get(), nullptr) != 1) throw Error("OpenSSL: SHA-256 cannot be started");
    std::uint64_t left = limit_bytes == 0 ? ~std::uint64_t{0} : limit_bytes;
    while (left > 0) {
      const std::size_t wanted = std::min<std::uint64_t>(left, block_.size());
      const std::size_t taken = std::fread(block_.data(), 1, wanted, file.get());
      if (taken == 0) break;
      if (EVP_DigestUpdate(context_.get(), block_.data(), taken) != 1) throw Error("OpenSSL: SHA-256 failed");
      input_bytes += taken;
      left -= taken;
    }
    if (std::ferror(file.get()) != 0) throw Error("corpus " + path.string() + ": cannot be read to its end");
    Digest digest{};
    if (EVP_DigestFinal_ex(context_.get(), reinterpret_cast<unsigned char*>(digest.data()), nullptr) != 1)
      throw Error("OpenSSL: SHA-256 cannot be finished");
    ++records;
    return digest;
  }

  /// Return the report that `sha256sum --check` would print.
  std::string check(std::string_view manifest, std::uint64_t limit_bytes) {
    std::string report;
    while (!manifest.empty()) {
      const std::size_t end = manifest.find('\n');
      const std::optional<Entry> entry = parse_line(manifest.substr(0, end));
      manifest.remove_prefix(end == std::string_view::npos ? manifest.size() : end + 1);
      if (!entry) throw Error("file-integrity: a line of the manifest has the wrong format");
      const bool same = inputs::Sha256::hex(digest_of(std::filesystem::path(entry->name), limit_bytes)) == entry->digest;
      failed_ += same ? 0 : 1;
      report += std::string(entry->name) + (same ? ": OK\n" : ": FAILED\n");
    }
    return report;
  }

  void check_that_changes_are_found(const Task& task) const {
    FileIntegrity other;
    other.sha256_.reset(EVP_MD_fetch(nullptr, "SHA2-256", nullptr));
    other.context_.reset(EVP_MD_CTX_new());
    other.block_.resize(block_.size());
    std::string changed = manifest_;
    changed[0] = changed[0] == '0' ? '1' : '0';
    other.check(changed, task.limit_bytes);
    if (other.failed_ != 1) throw Error("file-integrity: a changed digest was not found");
  }

  std::unique_ptr<EVP_MD, FreeDigest> sha256_;
  std::unique_ptr<EVP_MD_CTX, FreeContext> context_;
  std::vector<unsigned char> block_;
  std::string manifest_;
  std::uint64_t failed_ = 0;
};

}  // namespace

DPUBENCH_APPLICATION(info, FileIntegrity)

}  // namespace dpubench::applications
