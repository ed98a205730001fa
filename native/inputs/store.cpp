#include "inputs/store.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <fstream>
#include <optional>
#include <stdexcept>

#include "base/error.hpp"
#include "inputs/digest.hpp"
#include "inputs/file.hpp"

namespace dpubench::inputs {

namespace fs = std::filesystem;

namespace {

struct Kind {
  std::string_view name;
  std::string_view noun;
  bool many;
  std::string_view default_source;  ///< Debian package of the default; empty if there is none
};
constexpr std::array<Kind, 5> kKinds = {{
    {"routes4", "IPv4 prefix list", false, "python3-pyasn"},
    {"routes6", "IPv6 prefix list", false, "python3-pyasn"},
    {"rules", "rule list", false, "modsecurity-crs"},
    {"capture", "packet capture", true, ""},
    {"corpus", "corpus", true, ""},
}};

const Kind* find_kind(std::string_view name) {
  const auto it = std::find_if(kKinds.begin(), kKinds.end(), [&](const Kind& k) { return k.name == name; });
  return it == kKinds.end() ? nullptr : &*it;
}

/// Return the file names in the given order, for people.
std::string names(const std::vector<fs::path>& paths) {
  std::string text;
  for (const fs::path& path : paths) {
    // A directory may be given with a slash at its end.
    const fs::path last = path.has_filename() ? path : path.parent_path();
    text += (text.empty() ? "" : ", ") + last.filename().string();
  }
  return text;
}

std::string count_of(std::uint64_t n, std::string_view one, std::string_view many) {
  return std::to_string(n) + " " + std::string(n == 1 ? one : many);
}

std::string finished(Sha256& sha) {
  return Sha256::hex(sha.finish());
}

}  // namespace

Store::Store(Files files, std::uint64_t seed, fs::path cache_dir)
    : files_(std::move(files)), seed_(seed), cache_dir_(std::move(cache_dir)) {
  for (const auto& [kind, paths] : files_) {
    const Kind* known = find_kind(kind);
    if (known == nullptr) {
      std::string message = "input " + excerpt(kind) + ": no such kind of input; there are";
      for (const Kind& k : kKinds) message += " " + std::string(k.name);
      throw Error(message);
    }
    if (!known->many && paths.size() > 1) {
      throw Error("input " + kind + ": " + std::to_string(paths.size()) + " files were given, but it takes one; keep one of " +
                  names(paths));
    }
  }
}

Random Store::random(std::string_view purpose) const {
  std::array<std::byte, 8> seed{};
  for (std::size_t i = 0; i < seed.size(); ++i) seed[i] = static_cast<std::byte>(seed_ >> 8 * i & 0xffU);
  Sha256 sha;
  sha.update(seed);
  sha.update(std::as_bytes(std::span(purpose)));
  const auto digest = sha.finish();
  std::uint64_t mixed = 0;
  for (std::size_t i = 0; i < 8; ++i) mixed = mixed << 8 | std::to_integer<std::uint64_t>(digest[i]);
  return Random(mixed);
}

bool Store::has(std::string_view kind) const {
  const auto it = files_.find(kind);
  return it != files_.end() && !it->second.empty();
}

const std::vector<fs::path>& Store::files(std::string_view kind) const {
  if (has(kind)) return files_.find(kind)->second;
  const Kind* known = find_kind(kind);
  if (known == nullptr) throw std::invalid_argument("Store: no such kind of input: " + std::string(kind));
  std::string message = "no " + std::string(known->noun) + " was given; give one with --input " + std::string(kind) + "=FILE";
  if (!known->default_source.empty()) {
    message += ", or install the default: on Debian it is made from the package " + std::string(known->default_source) +
               " (apt install " + std::string(known->default_source) + ")";
  }
  throw Error(message);
}

const PrefixList4& Store::routes4() {
  if (!routes4_) {
    const auto& paths = files("routes4");
    const auto bytes = read_file(paths.front(), "prefix list");
    routes4_ = std::make_unique<PrefixList4>(parse_prefixes4(as_text(bytes), paths.front().string()));
    note_duplicates(paths.front(), routes4_->duplicates);
    identities_["routes4"] = {names(paths), Sha256::hex(Sha256::of(bytes))};
  }
  return *routes4_;
}

const PrefixList6& Store::routes6() {
  if (!routes6_) {
    const auto& paths = files("routes6");
    const auto bytes = read_file(paths.front(), "prefix list");
    routes6_ = std::make_unique<PrefixList6>(parse_prefixes6(as_text(bytes), paths.front().string()));
    note_duplicates(paths.front(), routes6_->duplicates);
    identities_["routes6"] = {names(paths), Sha256::hex(Sha256::of(bytes))};
  }
  return *routes6_;
}

const RuleList& Store::rules() {
  if (!rules_) {
    const auto& paths = files("rules");
    const auto bytes = read_file(paths.front(), "rules");
    rules_ = std::make_unique<RuleList>(parse_rules(as_text(bytes), paths.front().string()));
    notes_.insert(notes_.end(), rules_->skipped.begin(), rules_->skipped.end());
    identities_["rules"] = {names(paths), Sha256::hex(Sha256::of(bytes))};
  }
  return *rules_;
}

const Capture& Store::capture() {
  if (!capture_) {
    const auto& paths = files("capture");
    auto all = std::make_unique<Capture>();
    Sha256 sha;
    for (const fs::path& path : paths) {
      const auto bytes = read_file(path, "capture");
      sha.update(bytes);
      const Capture one = parse_capture(bytes, path.string());
      require_packets(one, path.string());
      note_passed_over(path, one);
      all->append(one);
    }
    capture_ = std::move(all);
    identities_["capture"] = {names(paths), finished(sha)};
  }
  return *capture_;
}

const Corpus& Store::corpus() {
  if (!corpus_) {
    const auto& paths = files("corpus");
    corpus_ = std::make_unique<Corpus>(read_corpus(paths));
    Sha256 sha;
    for (const CorpusFile& file : corpus_->files) sha.update(file.bytes);
    identities_["corpus"] = {names(paths), finished(sha)};
  }
  return *corpus_;
}

void Store::read(std::string_view kind) {
  if (kind == "routes4") routes4();
  if (kind == "routes6") routes6();
  if (kind == "rules") rules();
  if (kind == "capture") capture();
  if (kind == "corpus") corpus();
}

void Store::note(const std::string& text) {
  if (std::find(notes_.begin(), notes_.end(), text) == notes_.end()) notes_.push_back(text);
}

void Store::note_duplicates(const fs::path& path, std::uint64_t duplicates) {
  if (duplicates == 0) return;
  notes_.push_back(path.string() + ": " + count_of(duplicates, "line repeats", "lines repeat") +
                   " a prefix; the last next hop is used");
}

void Store::note_passed_over(const fs::path& path, const Capture& capture) {
  const std::string where = path.string() + ": ";
  if (capture.non_ip > 0)
    notes_.push_back(where + count_of(capture.non_ip, "frame without IP was", "frames without IP were") + " skipped");
  if (capture.malformed > 0) {
    notes_.push_back(where +
                     count_of(capture.malformed, "frame with a cut off or inconsistent IP header was",
                              "frames with a cut off or inconsistent IP header were") +
                     " skipped");
  }
  if (capture.truncated) notes_.push_back(where + "ends inside a record; the packets before it are used");
}

Store::Identity Store::identity(std::string_view kind) const {
  const auto it = identities_.find(kind);
  if (it == identities_.end()) throw std::invalid_argument("Store::identity: " + std::string(kind) + " was not read yet");
  return it->second;
}

namespace {

/// Return the digest that a cached file needs. A full disk or a stray edit must cost a rebuild, not a crash.
std::array<std::byte, Sha256::kBytes> seal(std::string_view key, std::span<const std::byte> content) {
  Sha256 sha;
  sha.update(Sha256::of(std::as_bytes(std::span(key))));
  sha.update(content);
  return sha.finish();
}

std::optional<std::vector<std::byte>> load(const fs::path& path, std::string_view key) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return std::nullopt;
  try {
    std::vector<std::byte> bytes = read_file(path, "cache");
    if (bytes.size() < Sha256::kBytes) return std::nullopt;
    const auto start = bytes.begin() + Sha256::kBytes;
    if (!std::equal(bytes.begin(), start, seal(key, std::span(bytes).subspan(Sha256::kBytes)).begin())) return std::nullopt;
    bytes.erase(bytes.begin(), start);
    return bytes;
  } catch (const Error&) {
    return std::nullopt;
  }
}

void save(const fs::path& path, std::string_view key, std::span<const std::byte> content) {
  static std::atomic<unsigned> counter{0};
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  // Each writer has its own file name. The rename makes the whole file visible at once.
  fs::path temporary = path;
  temporary += "." + std::to_string(getpid()) + "." + std::to_string(counter++) + ".tmp";
  std::ofstream file(temporary, std::ios::binary);
  const auto sealed = seal(key, content);
  file.write(reinterpret_cast<const char*>(sealed.data()), sealed.size());
  file.write(reinterpret_cast<const char*>(content.data()), static_cast<std::streamsize>(content.size()));
  file.close();
  if (file) fs::rename(temporary, path, error);
  if (!file || error) fs::remove(temporary, error);
}

}  // namespace

std::vector<std::byte> Store::cached(std::string_view key, const std::function<std::vector<std::byte>()>& build) const {
  if (cache_dir_.empty()) return build();
  const fs::path path = cache_dir_ / Sha256::hex(Sha256::of(std::as_bytes(std::span(key))));
  if (auto found = load(path, key)) return *std::move(found);
  std::vector<std::byte> content = build();
  save(path, key, content);
  return content;
}

}  // namespace dpubench::inputs
