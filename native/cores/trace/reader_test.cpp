#include "cores/trace/reader.hpp"

#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "expect_error.hpp"
#include "temporary_directory.hpp"
#include "trace_writer.hpp"

namespace dpubench::cores {
namespace {

using dpubench::test::expect_error;
using dpubench::test::TemporaryDirectory;
using test::TraceWriter;
using What = Step::What;

constexpr std::uint32_t kNopWord = 0xd503201f;

/// Read a trace to its end. @throws Error
std::vector<What> read_all(const std::filesystem::path& folder) {
  TraceReader reader(folder);
  std::vector<What> steps;
  do {
    steps.push_back(reader.next().what);
  } while (steps.back() != What::kEnd);
  return steps;
}

/// Expect the reader to refuse a trace with `parts` in the message. `fill` writes the trace; its block 0 has four instructions.
void expect_refused(const std::function<void(TraceWriter&)>& fill, std::initializer_list<std::string_view> parts) {
  const TemporaryDirectory folder;
  TraceWriter writer;
  writer.block(0x1000, {kNopWord, kNopWord, kNopWord, kNopWord});
  fill(writer);
  writer.write(folder.path());
  expect_error([&] { read_all(folder.path()); }, parts);
}

TEST(TraceReader, ReadsHeadBlocksAndSteps) {
  const TemporaryDirectory folder;
  TraceWriter writer("lpm portable");
  const auto a = writer.block(0x400000, {1, 2, 3});
  const auto b = writer.block(0x400100, {4});
  writer.open();
  writer.message();
  writer.run(b);
  writer.run(a);
  writer.access(0x7fff12345678, 0, 3, false);
  writer.access(0x8000, 2, 0, true);
  writer.close();
  writer.end();
  writer.write(folder.path());

  TraceReader reader(folder.path());
  EXPECT_EQ(reader.head().architecture, "aarch64");
  EXPECT_EQ(reader.head().kernel, "lpm portable");
  EXPECT_EQ(reader.head().cpu, "neoverse-n1");
  EXPECT_EQ(reader.head().program_digest, "digest");
  ASSERT_EQ(reader.blocks().size(), 2U);
  EXPECT_EQ(reader.blocks()[0].pc, 0x400000U);
  EXPECT_EQ(reader.blocks()[0].words, (std::vector<std::uint32_t>{1, 2, 3}));
  for (int pass = 0; pass < 2; ++pass) {
    EXPECT_EQ(reader.next().what, What::kOpen);
    EXPECT_EQ(reader.next().what, What::kMessage);
    const Step& first = reader.next();
    ASSERT_EQ(first.what, What::kBlock);
    EXPECT_EQ(first.block, &reader.blocks()[1]);
    EXPECT_TRUE(first.accesses.empty());
    const Step& second = reader.next();
    ASSERT_EQ(second.what, What::kBlock);
    EXPECT_EQ(second.block->number, a);
    ASSERT_EQ(second.accesses.size(), 2U);
    EXPECT_EQ(second.accesses[0].address, 0x7fff12345678U);
    EXPECT_EQ(second.accesses[0].index, 0);
    EXPECT_EQ(second.accesses[0].size_log2, 3);
    EXPECT_FALSE(second.accesses[0].is_store);
    EXPECT_EQ(second.accesses[1].index, 2);
    EXPECT_TRUE(second.accesses[1].is_store);
    EXPECT_EQ(reader.next().what, What::kClose);
    EXPECT_EQ(reader.next().what, What::kEnd);
    EXPECT_EQ(reader.next().what, What::kEnd);
    reader.rewind();
  }
}

TEST(TraceReader, JoinsWhatOneInstructionAccessesInARow) {
  const TemporaryDirectory folder;
  TraceWriter writer;
  const auto block = writer.block(0x1000, {1, 2, 3, 4, 5});
  writer.open();
  writer.run(block);
  for (unsigned i = 0; i < 64; ++i) writer.access(0x100 + i, 0, 0, false);    // LD4 of bytes
  for (unsigned i = 0; i < 6; ++i) writer.access(0x200 + 8 * i, 1, 3, true);  // 48 bytes
  writer.access(0x300, 2, 3, false);                                          // an atomic: a load and a store of the same bytes
  writer.access(0x300, 2, 3, true);
  writer.access(0x308, 3, 3, true);   // the next bytes, another instruction
  writer.access(0x400, 4, 3, false);  // no neighbours
  writer.access(0x410, 4, 3, false);
  for (unsigned i = 0; i < 32; ++i) writer.access(0x500 + 8 * i, 4, 3, false);  // longer than one access can be
  writer.close();
  writer.end();
  writer.write(folder.path());

  TraceReader reader(folder.path());
  reader.next();
  const Step& step = reader.next();
  std::vector<std::array<std::uint64_t, 4>> got;
  for (const Access& access : step.accesses) got.push_back({access.index, access.address, access.size_log2, access.is_store});
  EXPECT_EQ(got, (std::vector<std::array<std::uint64_t, 4>>{{0, 0x100, 6, 0},
                                                            {1, 0x200, 5, 1},
                                                            {1, 0x220, 4, 1},
                                                            {2, 0x300, 3, 0},
                                                            {2, 0x300, 3, 1},
                                                            {3, 0x308, 3, 1},
                                                            {4, 0x400, 3, 0},
                                                            {4, 0x410, 3, 0},
                                                            {4, 0x500, 7, 0},
                                                            {4, 0x580, 7, 0}}));
}

/// Counts from reading a trace to its end, and the growth of the peak of resident memory in bytes.
struct Reading {
  std::uint64_t runs = 0;
  std::uint64_t accesses = 0;
  std::uint64_t peak_bytes = 0;
};

/// Read the trace in `folder` in a separate process. Nothing else has raised that process's peak.
Reading read_apart(const std::filesystem::path& folder) {
  int ends[2];
  if (pipe(ends) != 0) throw Error("no pipe");
  malloc_trim(0);  // free resident memory could be reused without raising the peak
  const pid_t child = fork();
  if (child == 0) {
    const auto peak_bytes = [] {
      rusage used{};
      getrusage(RUSAGE_SELF, &used);
      return static_cast<std::uint64_t>(used.ru_maxrss) * 1024;
    };
    Reading reading;
    const std::uint64_t before = peak_bytes();
    try {
      TraceReader reader(folder);
      for (const Step* step = &reader.next(); step->what != What::kEnd; step = &reader.next()) {
        reading.runs += step->what == What::kBlock ? 1 : 0;
        reading.accesses += step->accesses.size();
      }
    } catch (const std::exception&) {
      _exit(2);  // never return into the tests
    }
    reading.peak_bytes = peak_bytes() - before;
    _exit(write(ends[1], &reading, sizeof reading) == sizeof reading ? 0 : 1);
  }
  close(ends[1]);
  Reading reading;
  const bool is_whole = read(ends[0], &reading, sizeof reading) == sizeof reading;
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(is_whole && status == 0) << "the process that reads ended with " << status;
  return reading;
}

TEST(TraceReader, StreamsMoreThanItHolds) {
  const TemporaryDirectory folder;
  constexpr std::uint64_t kRuns = 4'000'000;
  std::uint64_t unpacked_bytes = 0;
  {
    TraceWriter writer;
    const auto block = writer.block(0x1000, {1, 2});
    writer.open();
    for (std::uint64_t i = 0; i < kRuns; ++i) {
      writer.run(block);
      if (i % 3 != 0) writer.access(0x1000, 1, 2, true);
    }
    writer.close();
    writer.end();
    writer.write(folder.path());
    unpacked_bytes = writer.stream().size();
  }
  const Reading reading = read_apart(folder.path());
  EXPECT_EQ(reading.runs, kRuns);
  EXPECT_EQ(reading.accesses, kRuns - (kRuns + 2) / 3);
  EXPECT_GT(unpacked_bytes, 50'000'000U);
  EXPECT_LT(reading.peak_bytes, unpacked_bytes / 4);
}

TEST(TraceReader, RefusesAStreamThatContradictsItself) {
  expect_refused([](TraceWriter& w) { w.open(), w.close(); }, {"stream", "no end mark"});
  expect_refused([](TraceWriter& w) { w.end(); }, {"word 1", "no region was ever opened"});
  expect_refused([](TraceWriter& w) { w.open(), w.run(0), w.end(); }, {"word 3", "opened and never closed"});
  expect_refused([](TraceWriter& w) { w.open(), w.open(); }, {"opened while one is open"});
  expect_refused([](TraceWriter& w) { w.close(); }, {"closed while none is open"});
  expect_refused([](TraceWriter& w) { w.message(); }, {"message begins outside any region"});
  expect_refused([](TraceWriter& w) { w.run(0); }, {"a block is outside any region"});
  expect_refused([](TraceWriter& w) { w.open(), w.word(1); }, {"there is no block 1: the number of blocks is 1"});
  expect_refused([](TraceWriter& w) { w.open(), w.access(0, 0, 0, false); }, {"belongs to no block"});
  expect_refused([](TraceWriter& w) { w.open(), w.run(0), w.access(0, 4, 0, false); },
                 {"instruction 4, but its block has only 4"});
  expect_refused([](TraceWriter& w) { w.open(), w.run(0), w.access(0, 2, 0, false), w.access(0, 1, 0, false); }, {"too late"});
  expect_refused([](TraceWriter& w) { w.open(), w.mark(4); }, {"unknown mark"});
  expect_refused([](TraceWriter& w) { w.open(), w.run(0), w.close(), w.mark(DPUBENCH_MARK_END, 5); }, {"counts 5", "have 4"});
  expect_refused([](TraceWriter& w) { w.open(), w.close(), w.end(), w.open(); }, {"follows the end mark"});
  expect_refused([](TraceWriter& w) { w.stream() += "abc"; }, {"middle of a word"});
  expect_refused([](TraceWriter& w) { w.stream().resize(12); }, {"stream", "ends within its head"});
}

TEST(TraceReader, RefusesATableOfBlocksThatIsNone) {
  expect_refused([](TraceWriter& w) { w.block(0x1002, {1}); }, {"block 1", "middle of an instruction"});
  expect_refused([](TraceWriter& w) { w.block(0x1000, {}); }, {"block 1 has 0 instructions"});
  expect_refused([](TraceWriter& w) { w.block(0x1000, std::vector<std::uint32_t>(1025)); }, {"block 1 has 1025 instructions"});
  expect_refused([](TraceWriter& w) { w.blocks() += std::string(8, '\1'); }, {"after 1 blocks comes block number 16843009"});
  expect_refused([](TraceWriter& w) { w.end_of_blocks(); }, {"goes on after its table"});
  expect_refused([](TraceWriter& w) { w.blocks().replace(12, 4, 4, '\x7f'); }, {"name of the architecture is 2139062143 bytes"});
}

TEST(TraceReader, RefusesWhatItDoesNotKnow) {
  const TemporaryDirectory folder;
  const auto refused = [&](const TraceWriter& writer, std::initializer_list<std::string_view> parts) {
    TraceWriter(writer).write(folder.path());
    expect_error([&] { read_all(folder.path()); }, parts);
  };
  refused(TraceWriter("k", "x86_64"), {"blocks", "'x86_64'", "aarch64"});
  refused(TraceWriter("k", "aarch64", 1), {"version 1", "reads version 2"});
  refused(TraceWriter("k", "aarch64", DPUBENCH_TRACE_VERSION, "dpubtrax"), {"is not a trace"});
}

TEST(TraceReader, GivesNothingOutThatItDidNotCheck) {
  // A reader of only the beginning can check only the checksums of the frames that it reads.
  const TemporaryDirectory folder;
  TraceWriter writer;
  const auto block = writer.block(0x1000, {1, 2});
  writer.open();
  std::uint64_t drawn = 1;
  for (unsigned i = 0; i < 200'000; ++i) {
    drawn = drawn * 6364136223846793005ULL + 1442695040888963407ULL;
    writer.run(block);
    writer.access(drawn >> 20, 1, 3, false);
  }
  writer.close();
  writer.end();
  writer.write(folder.path());
  const auto path = folder.path() / DPUBENCH_TRACE_STREAM;
  const std::string whole = TraceWriter::compressed(writer.stream());
  const std::size_t first =
      TraceWriter::compressed(std::string_view(writer.stream()).substr(0, DPUBENCH_TRACE_FRAME_BYTES)).size();
  ASSERT_GT(whole.size(), 2 * first);
  const auto read_beginning = [&] {
    TraceReader reader(folder.path());
    for (int i = 0; i < 100; ++i) reader.next();
  };
  for (std::size_t at = 0; at < first; at += first / 97) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << at % 8));
    TraceWriter::write_file(path, damaged);
    expect_error(read_beginning, {"stream"});
  }
  std::string damaged = whole;
  damaged[first + 1000] = static_cast<char>(damaged[first + 1000] ^ 1);
  TraceWriter::write_file(path, damaged);
  read_beginning();
  expect_error([&] { read_all(folder.path()); }, {"stream", "damaged", "capture the trace again"});
}

TEST(TraceReader, RefusesFilesThatAreMissingDamagedOrCutOff) {
  const TemporaryDirectory folder;
  const auto blocks = folder.path() / "blocks";
  const auto stream = folder.path() / "stream";
  const auto refused = [&](std::initializer_list<std::string_view> parts) {
    expect_error([&] { read_all(folder.path()); }, parts);
  };
  const auto write = [&] {
    TraceWriter writer;
    const auto block = writer.block(0x1000, std::vector<std::uint32_t>(64, kNopWord));
    writer.open();
    for (unsigned i = 0; i < 5000; ++i) {
      writer.run(block);
      writer.access(i * i * 977ULL, 0, 3, false);
    }
    writer.close();
    writer.end();
    writer.write(folder.path());
  };
  refused({"blocks", "cannot be opened", "No such file"});
  TraceWriter::write_file(blocks, TraceWriter::compressed("dpub"));
  refused({"blocks", "ends within its head"});
  write();
  EXPECT_EQ(read_all(folder.path()).size(), 5003U);
  std::filesystem::remove(stream);
  refused({"stream", "cannot be opened"});
  for (const auto& path : {blocks, stream}) {
    write();
    std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
    refused({path.filename().string(), "was cut off"});
    std::filesystem::resize_file(path, 0);
    refused({path.filename().string(), "was cut off"});
    TraceWriter::write_file(path, "not compressed at all");
    refused({path.filename().string(), "was not written by the tracing plugin"});
    write();
    std::ofstream(path, std::ios::binary | std::ios::app) << "more";
    refused({path.filename().string(), "was cut off"});
    std::ofstream(path, std::ios::binary | std::ios::app) << " than a head";
    refused({path.filename().string(), "the first bytes of a zstd frame are wrong"});
    TraceWriter::write_file(path, TraceWriter::compressed("dpubtrac", false));
    refused({path.filename().string(), "has no checksum"});
    const std::string long_one(DPUBENCH_TRACE_FRAME_BYTES + 1, '\0');
    TraceWriter::write_file(path, TraceWriter::compressed(long_one, true, long_one.size()));
    refused({path.filename().string(), "more than 1048576 bytes"});
  }
  std::filesystem::remove(stream);
  std::filesystem::create_directory(stream);
  refused({"stream", "cannot be read"});
}

}  // namespace
}  // namespace dpubench::cores
