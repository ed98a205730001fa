// regex: bare loop over hs_scan and hs_scan_stream.
// requires: libhs >= 5.0

#include <hs.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "../support/bare.hpp"
#include "operators/regex/work.hpp"

namespace dpubench::bare {
namespace {

using regex::RegexWork;

/// Every rule must compile, and where a rule is of UTF-8 the payloads must be: the engine finds out, a bare loop does not.
std::vector<std::byte> compile(const RegexWork& work) {
  std::vector<std::string> patterns;
  std::vector<const char*> pointers;
  std::vector<unsigned> flags;
  std::vector<unsigned> ids;
  for (const regex::Rule& rule : work.rules) {
    patterns.push_back(rule.extended ? "(?x)" + rule.pattern + "\n" : rule.pattern);
    ids.push_back(static_cast<unsigned>(ids.size()));
    flags.push_back(HS_FLAG_SINGLEMATCH | HS_FLAG_ALLOWEMPTY | (rule.caseless ? HS_FLAG_CASELESS : 0U) |
                    (rule.dotall ? HS_FLAG_DOTALL : 0U) | (rule.multiline ? HS_FLAG_MULTILINE : 0U) |
                    (rule.utf8 ? HS_FLAG_UTF8 : 0U) | (rule.ucp ? HS_FLAG_UCP : 0U));
  }
  for (const std::string& pattern : patterns) pointers.push_back(pattern.c_str());
  hs_database_t* db = nullptr;
  hs_compile_error_t* error = nullptr;
  if (hs_compile_multi(pointers.data(), flags.data(), ids.data(), static_cast<unsigned>(ids.size()),
                       work.stream ? HS_MODE_STREAM : HS_MODE_BLOCK, nullptr, &db, &error) != HS_SUCCESS) {
    const std::string message = error->message;
    hs_free_compile_error(error);
    throw Error("the bare loop needs rules that Hyperscan compiles: " + message);
  }
  char* content = nullptr;
  std::size_t length = 0;
  hs_serialize_database(db, &content, &length);
  hs_free_database(db);
  const auto* bytes = reinterpret_cast<const std::byte*>(content);
  std::vector<std::byte> all(bytes, bytes + length);
  std::free(content);
  return all;
}

struct Hits {
  std::byte* bits;
  std::uint64_t count;
};

int found(unsigned id, unsigned long long, unsigned long long, unsigned, void* context) {
  Hits& hits = *static_cast<Hits*>(context);
  if (!regex::bit({hits.bits, id / 8 + 1}, id)) ++hits.count;
  regex::set_bit(hits.bits, id);
  return 0;
}

struct ScanLoop {
  ScanLoop(std::shared_ptr<hs_database_t> database, std::size_t bitmap_bytes, bool streaming)
      : db(std::move(database)), bytes(bitmap_bytes) {
    hs_scratch_t* s = nullptr;
    if (hs_alloc_scratch(db.get(), &s) != HS_SUCCESS) throw Error("no scratch space");
    scratch.reset(s, &hs_free_scratch);
    hs_stream_t* f = nullptr;
    if (streaming && hs_open_stream(db.get(), 0, &f) != HS_SUCCESS) throw Error("no stream");
    if (streaming) flow.reset(f, [](hs_stream_t* open) { hs_close_stream(open, nullptr, nullptr, nullptr); });
  }

  void operator()(Burst& b) noexcept {
    for (std::uint32_t i = 0; i < b.n; ++i) {
      std::memset(b.out[i], 0, 2 * bytes);  // what matched, and what is undecided: nothing
      Hits hits{b.out[i], 0};
      const auto* in = reinterpret_cast<const char*>(b.in[i]);
      if (flow == nullptr) {
        hs_scan(db.get(), in, b.in_len[i], 0, scratch.get(), &found, &hits);
      } else {
        const regex::Segments segments(b.aux[i]);
        for (std::uint32_t s = 0; s < segments.size(); ++s)
          hs_scan_stream(flow.get(), in + segments[s].offset, segments[s].length, 0, scratch.get(), &found, &hits);
        hs_reset_stream(flow.get(), 0, scratch.get(), &found, &hits);
      }
      b.result[i] = hits.count;
      b.out_len[i] = static_cast<std::uint32_t>(2 * bytes);
      b.status[i] = kStatusOk;
    }
  }

  std::shared_ptr<hs_database_t> db;
  std::size_t bytes;
  std::shared_ptr<hs_scratch_t> scratch;
  std::shared_ptr<hs_stream_t> flow;
};

std::unique_ptr<Session> prepare(const Work& base) {
  const auto& work = static_cast<const RegexWork&>(base);
  const auto make = [&work] { return compile(work); };
  const std::string key = std::string("regex hyperscan-bare ") + hs_version() + (work.stream ? " stream " : " block ");
  const std::vector<std::byte> content = work.cached ? work.cached(key + work.rules_hash, make) : make();
  hs_database_t* db = nullptr;
  if (hs_deserialize_database(reinterpret_cast<const char*>(content.data()), content.size(), &db) != HS_SUCCESS)
    throw Error("the database cannot be read");
  const std::shared_ptr<hs_database_t> shared(db, &hs_free_database);
  const auto open = [shared, bytes = regex::bitmap_bytes(work.rules.size()), stream = work.stream] {
    return ScanLoop(shared, bytes, stream);
  };
  return timed_session(open, {"chosen by library", "bare", false});
}

}  // namespace
}  // namespace dpubench::bare

DPUBENCH_ENGINES(sink) {
  sink.add(std::make_unique<dpubench::bare::Loop>("regex", "hyperscan-bare", &dpubench::bare::prepare));
}
