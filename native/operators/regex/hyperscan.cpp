// regex, engine hyperscan: all rules in one database, matched in one pass over the payload. Vectorscan, the port of Hyperscan to
// Arm, has the same interface.
// requires: libhs >= 5.0
#include <hs.h>

#include <cstdlib>
#include <memory>
#include <utility>

#include "operators/engine.hpp"
#include "operators/regex/work.hpp"

namespace dpubench {
namespace {

using regex::RegexWork;

struct FreeDatabase {
  void operator()(hs_database_t* database) const { hs_free_database(database); }
};
struct FreeScratch {
  void operator()(hs_scratch_t* scratch) const { hs_free_scratch(scratch); }
};
struct FreeError {
  void operator()(hs_compile_error_t* error) const { hs_free_compile_error(error); }
};
using Database = std::unique_ptr<hs_database_t, FreeDatabase>;
using Scratch = std::unique_ptr<hs_scratch_t, FreeScratch>;
using CompileError = std::unique_ptr<hs_compile_error_t, FreeError>;

void require(hs_error_t error, const char* what) {
  if (error == HS_SUCCESS) return;
  throw Error(std::string("Hyperscan: ") + what + " failed with code " + std::to_string(error) +
              (error == HS_NOMEM ? " (out of memory)" : ""));
}

unsigned flags_of(const regex::Rule& rule) {
  // An empty match counts, as in PCRE. The library reports each rule once per payload, which is enough here.
  unsigned flags = HS_FLAG_SINGLEMATCH | HS_FLAG_ALLOWEMPTY;
  if (rule.caseless) flags |= HS_FLAG_CASELESS;
  if (rule.dotall) flags |= HS_FLAG_DOTALL;
  if (rule.multiline) flags |= HS_FLAG_MULTILINE;
  if (rule.utf8) flags |= HS_FLAG_UTF8;
  if (rule.ucp) flags |= HS_FLAG_UCP;
  return flags;
}

/// Return the pattern for the library. It has no flag for extended syntax, but it understands the option inside a pattern. The
/// line feed ends a comment before the pattern ends.
std::string pattern_of(const regex::Rule& rule) {
  return rule.extended ? "(?x)" + rule.pattern + "\n" : rule.pattern;
}

struct Rejected {
  std::uint32_t rule;
  std::string reason;
};

/// Return a compiled database in its cached form: rejected rules (count; index, length, reason), then the serialised database.
std::vector<std::byte> serialise(const std::vector<Rejected>& rejected, const hs_database_t* database) {
  std::vector<std::byte> bytes;
  const auto append = [&](const void* data, std::size_t length) {
    const std::size_t at = bytes.size();
    bytes.resize(at + length);
    if (length > 0) std::memcpy(bytes.data() + at, data, length);
  };
  const auto number = [&](std::uint32_t value) { append(&value, sizeof value); };
  number(static_cast<std::uint32_t>(rejected.size()));
  for (const Rejected& r : rejected) {
    number(r.rule);
    number(static_cast<std::uint32_t>(r.reason.size()));
    append(r.reason.data(), r.reason.size());
  }
  if (database == nullptr) return bytes;
  char* content = nullptr;
  std::size_t length = 0;
  require(hs_serialize_database(database, &content, &length), "hs_serialize_database");
  append(content, length);
  std::free(content);  // no allocator was set, and Hyperscan's default is malloc
  return bytes;
}

/// Compile all rules that the library takes. Each rule is analysed alone first, because a fault found while compiling the set
/// costs the compilation of the whole set again.
std::vector<std::byte> compile(const RegexWork& work) {
  std::vector<Rejected> rejected;
  std::vector<std::uint32_t> ids;
  for (std::uint32_t i = 0; i < work.rules.size(); ++i) {
    hs_expr_info_t* info = nullptr;
    hs_compile_error_t* error = nullptr;
    const hs_error_t result = hs_expression_info(pattern_of(work.rules[i]).c_str(), flags_of(work.rules[i]), &info, &error);
    const CompileError owned(error);
    std::free(info);
    if (result == HS_SUCCESS) {
      ids.push_back(i);
    } else {
      rejected.push_back({i, error == nullptr ? "code " + std::to_string(result) : error->message});
    }
  }
  while (!ids.empty()) {
    std::vector<std::string> patterns;
    std::vector<const char*> pointers;
    std::vector<unsigned> flags;
    for (const std::uint32_t i : ids) {
      patterns.push_back(pattern_of(work.rules[i]));
      flags.push_back(flags_of(work.rules[i]));
    }
    for (const std::string& pattern : patterns) pointers.push_back(pattern.c_str());
    hs_database_t* database = nullptr;
    hs_compile_error_t* error = nullptr;
    // No platform is given, so the database is for the CPU that compiles it.
    const hs_error_t result = hs_compile_multi(pointers.data(), flags.data(), ids.data(), static_cast<unsigned>(ids.size()),
                                               work.stream ? HS_MODE_STREAM : HS_MODE_BLOCK, nullptr, &database, &error);
    const Database owned(database);
    const CompileError owned_error(error);
    if (result == HS_SUCCESS) return serialise(rejected, database);
    const std::string message = error == nullptr ? "code " + std::to_string(result) : error->message;
    if (error == nullptr || error->expression < 0) throw Error("Hyperscan cannot compile the rule set: " + message);
    const auto bad = ids.begin() + error->expression;
    rejected.push_back({*bad, message});
    ids.erase(bad);
  }
  return serialise(rejected, nullptr);
}

struct RuleSet {
  Database database;
  std::vector<std::byte> blank;  ///< output before a payload: no rule matches, rejected rules are undecided
  std::vector<std::byte> utf8;   ///< bitmap of UTF-8 rules
  std::size_t not_compiled = 0;
  std::string first_reason;
  std::size_t rule_count = 0;
  std::size_t memory_bytes = 0;
  bool stream = false;
  bool any_utf8 = false;
};

/// Return a key that contains everything that the compiled database depends on.
std::string cache_key(const RegexWork& work) {
  hs_platform_info_t platform{};
  require(hs_populate_platform(&platform), "hs_populate_platform");
  return std::string("regex hyperscan 1 ") + hs_version() + (work.stream ? " stream " : " block ") +
         std::to_string(platform.tune) + ' ' + std::to_string(platform.cpu_features) + ' ' + work.rules_hash;
}

std::shared_ptr<const RuleSet> build(const RegexWork& work) {
  const auto make = [&] { return compile(work); };
  const std::vector<std::byte> bytes = work.cached ? work.cached(cache_key(work), make) : make();
  auto set = std::make_shared<RuleSet>();
  set->stream = work.stream;
  set->rule_count = work.rules.size();
  const std::size_t bytes_of_bitmap = regex::bitmap_bytes(work.rules.size());
  set->blank.resize(2 * bytes_of_bitmap);
  set->utf8.resize(regex::bitmap_bytes(work.rules.size()));
  for (std::size_t i = 0; i < work.rules.size(); ++i) {
    if (!work.rules[i].utf8) continue;
    set->any_utf8 = true;
    regex::set_bit(set->utf8.data(), i);
  }
  std::span<const std::byte> rest(bytes);
  const auto number = [&] {
    std::uint32_t value = 0;
    if (rest.size() < sizeof value) throw Error("Hyperscan: the cached database is cut short: delete the cache directory");
    std::memcpy(&value, rest.data(), sizeof value);
    rest = rest.subspan(sizeof value);
    return value;
  };
  set->not_compiled = number();
  for (std::size_t i = 0; i < set->not_compiled; ++i) {
    const std::uint32_t rule = number();
    const std::uint32_t length = number();
    if (rule >= work.rules.size() || length > rest.size())
      throw Error("Hyperscan: the cached database is damaged: delete the cache directory");
    if (i == 0) {
      set->first_reason =
          "id " + std::to_string(work.rules[rule].id) + ": " + std::string(reinterpret_cast<const char*>(rest.data()), length);
    }
    regex::set_bit(set->blank.data() + bytes_of_bitmap, rule);
    rest = rest.subspan(length);
  }
  if (rest.empty()) return set;  // no rule was compiled; compiled_summary() throws
  hs_database_t* database = nullptr;
  require(hs_deserialize_database(reinterpret_cast<const char*>(rest.data()), rest.size(), &database), "hs_deserialize_database");
  set->database.reset(database);
  require(hs_database_size(database, &set->memory_bytes), "hs_database_size");
  return set;
}

class Kernel {
 public:
  explicit Kernel(std::shared_ptr<const RuleSet> set) : set_(std::move(set)), bytes_(regex::bitmap_bytes(set_->rule_count)) {
    hs_scratch_t* scratch = nullptr;
    require(hs_alloc_scratch(set_->database.get(), &scratch), "hs_alloc_scratch");
    scratch_.reset(scratch);
    if (!set_->stream) return;
    hs_stream_t* stream = nullptr;
    require(hs_open_stream(set_->database.get(), 0, &stream), "hs_open_stream");
    stream_.reset(stream);
  }

  void operator()(Burst& b) noexcept {
    // Read these once. Behind a pointer, the compiler must assume that each library call may change them.
    const hs_database_t* const database = set_->database.get();
    hs_scratch_t* const scratch = scratch_.get();
    const std::byte* const blank = set_->blank.data();
    const std::size_t bytes = 2 * bytes_;
    const bool stream = set_->stream;
    const bool any_utf8 = set_->any_utf8;
    for (std::uint32_t i = 0; i < b.n; ++i) {
      std::byte* const out = b.out[i];
      std::memcpy(out, blank, bytes);
      Hits hits{out, 0};
      const hs_error_t error =
          stream ? scan_flow(b.in[i], b.aux[i], hits)
                 : hs_scan(database, reinterpret_cast<const char*>(b.in[i]), b.in_len[i], 0, scratch, &on_match, &hits);
      if (any_utf8 && !is_utf8(b.in[i], b.in_len[i], b.aux[i])) leave_utf8_undecided(out, hits);
      b.result[i] = hits.count;
      b.out_len[i] = static_cast<std::uint32_t>(bytes);
      b.status[i] = error == HS_SUCCESS ? kStatusOk : kStatusRejected;
    }
  }

 private:
  struct Hits {
    std::byte* bitmap;
    std::uint64_t count;
  };
  struct CloseStream {
    void operator()(hs_stream_t* stream) const { hs_close_stream(stream, nullptr, nullptr, nullptr); }
  };

  static int on_match(unsigned id, unsigned long long, unsigned long long, unsigned, void* context) {
    auto* const hits = static_cast<Hits*>(context);
    // A rule that can match in several ways may be reported again at the end of the data.
    const auto mask = static_cast<std::byte>(1U << id % 8);
    hits->count += (hits->bitmap[id / 8] & mask) == std::byte{} ? 1 : 0;
    hits->bitmap[id / 8] |= mask;
    return 0;
  }

  hs_error_t scan_flow(const std::byte* in, const std::byte* aux, Hits& hits) noexcept {
    const regex::Segments segments(aux);
    for (std::uint32_t s = 0; s < segments.size(); ++s) {
      const regex::Segment segment = segments[s];
      const hs_error_t error = hs_scan_stream(stream_.get(), reinterpret_cast<const char*>(in + segment.offset), segment.length,
                                              0, scratch_.get(), &on_match, &hits);
      if (error != HS_SUCCESS) return error;
    }
    // End the flow (rules anchored at the end report here) and reset the stream without allocating a new one.
    return hs_reset_stream(stream_.get(), 0, scratch_.get(), &on_match, &hits);
  }

  [[nodiscard]] bool is_utf8(const std::byte* in, std::size_t length, const std::byte* aux) const noexcept {
    regex::Utf8Check check;
    if (set_->stream) {
      const regex::Segments segments(aux);
      for (std::uint32_t s = 0; s < segments.size(); ++s) check.feed(in + segments[s].offset, segments[s].length);
    } else {
      check.feed(in, length);
    }
    return check.valid();
  }

  void leave_utf8_undecided(std::byte* out, Hits& hits) const noexcept {
    hits.count = 0;
    for (std::size_t i = 0; i < bytes_; ++i) {
      out[bytes_ + i] |= set_->utf8[i];
      out[i] &= ~set_->utf8[i];
      hits.count += static_cast<std::uint64_t>(std::popcount(std::to_integer<unsigned>(out[i])));
    }
  }

  std::shared_ptr<const RuleSet> set_;
  std::size_t bytes_;
  Scratch scratch_;
  std::unique_ptr<hs_stream_t, CloseStream> stream_;
};

std::string isa() {
  hs_platform_info_t platform{};
  if (hs_populate_platform(&platform) != HS_SUCCESS) return "chosen by library";
#ifdef HS_CPU_FEATURES_AVX512VBMI
  if ((platform.cpu_features & HS_CPU_FEATURES_AVX512VBMI) != 0) return "avx512vbmi";
#endif
#ifdef HS_CPU_FEATURES_AVX512
  if ((platform.cpu_features & HS_CPU_FEATURES_AVX512) != 0) return "avx512";
#endif
  if ((platform.cpu_features & HS_CPU_FEATURES_AVX2) != 0) return "avx2";
  return "chosen by library";
}

class HyperscanSession final : public Session {
 public:
  explicit HyperscanSession(const RegexWork& work) : set_(build(work)) {
    path_ = {isa(), work.stream ? "hs_scan_stream, segment by segment" : "hs_scan", false};
    path_.detail += ": HS_FLAG_SINGLEMATCH, the callback sets the rule's bit";
    path_.detail += regex::compiled_summary(work, set_->not_compiled, "hyperscan", set_->first_reason);
  }
  std::unique_ptr<Lane> open() override { return std::make_unique<SyncLane<Kernel>>(Kernel(set_)); }
  [[nodiscard]] PathInfo path() const override { return path_; }
  [[nodiscard]] std::size_t memory_bytes() const override { return set_->memory_bytes; }

 private:
  std::shared_ptr<const RuleSet> set_;
  PathInfo path_;
};

class Hyperscan final : public Engine {
 public:
  [[nodiscard]] const EngineInfo& info() const override { return info_; }
  [[nodiscard]] std::string unavailable() const override {
    return hs_valid_platform() == HS_SUCCESS ? "" : "Hyperscan does not run on this CPU (on x86-64 it needs SSSE3)";
  }
  [[nodiscard]] std::unique_ptr<Session> prepare(const Work& work) const override {
    return std::make_unique<HyperscanSession>(static_cast<const RegexWork&>(work));
  }

 private:
  EngineInfo info_{"regex", "hyperscan", "all rules in one automaton set, one pass; block or streaming mode",
                   std::string("Hyperscan ") + hs_version()};
};

}  // namespace
}  // namespace dpubench

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::Hyperscan>());
}
