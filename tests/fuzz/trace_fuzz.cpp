// Reads any two files as a trace. The result is an Error, or a trace whose blocks are in its table and whose accesses belong to
// them. A second pass must read the same. The first byte selects the files (1: blocks, 2: stream) that are used as they are
// instead of compressed. Two more bytes give the length of the first file.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "check.hpp"
#include "cores/trace/reader.hpp"
#include "trace_writer.hpp"

using namespace dpubench::cores;
using What = Step::What;

namespace {

/// Return a folder, in memory if /dev/shm exists. It is removed when the fuzzer ends, except after a crash.
const std::filesystem::path& folder() {
  static const struct Folder {
    Folder() {
      std::string pattern =
          std::string(std::filesystem::is_directory("/dev/shm") ? "/dev/shm" : "/tmp") + "/dpubench-fuzz-XXXXXX";
      FUZZ_CHECK(mkdtemp(pattern.data()) != nullptr);
      path = pattern;
    }
    ~Folder() { std::filesystem::remove_all(path); }
    std::filesystem::path path;
  } made;
  return made.path;
}

void write(const char* name, std::string_view bytes, bool as_it_is) {
  std::ofstream file(folder() / name, std::ios::binary);
  file << (as_it_is ? std::string(bytes) : test::TraceWriter::compressed(bytes));
}

/// The facts from one pass over a trace, to compare with another pass.
struct Seen {
  std::vector<What> steps;
  std::uint64_t instructions = 0;
  std::uint64_t accessed = 0;
  bool operator==(const Seen&) const = default;
};

Seen read(TraceReader& reader) {
  Seen seen;
  bool is_open = false;
  do {
    const Step& step = reader.next();
    seen.steps.push_back(step.what);
    FUZZ_CHECK((step.block != nullptr) == (step.what == What::kBlock));
    if (step.what == What::kOpen || step.what == What::kClose) {
      FUZZ_CHECK(is_open == (step.what == What::kClose));
      is_open = !is_open;
    }
    if (step.what != What::kBlock) continue;
    FUZZ_CHECK(is_open && step.block == &reader.blocks()[step.block->number]);
    seen.instructions += step.block->words.size();
    std::uint16_t index = 0;
    for (const Access& access : step.accesses) {
      FUZZ_CHECK(access.index >= index && access.index < step.block->words.size() && access.size_log2 < 8);
      index = access.index;
      seen.accessed = seen.accessed * 31 + access.address + access.size_log2 + (access.is_store ? 1 : 0);
    }
  } while (seen.steps.back() != What::kEnd);
  FUZZ_CHECK(!is_open && reader.next().what == What::kEnd);
  return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 3, size - 3);
  const std::size_t length = std::min<std::size_t>(rest.size(), data[1] | data[2] << 8);
  write(DPUBENCH_TRACE_BLOCKS, rest.substr(0, length), (data[0] & 1) != 0);
  write(DPUBENCH_TRACE_STREAM, rest.substr(length), (data[0] & 2) != 0);
  try {
    TraceReader reader(folder());
    const Seen first = read(reader);
    reader.rewind();
    FUZZ_CHECK(read(reader) == first);
  } catch (const dpubench::Error& e) {
    // A refusal must name the file.
    FUZZ_CHECK(std::string_view(e.what()).find(folder().string()) == 0);
  }
  return 0;
}
