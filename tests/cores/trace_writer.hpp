// Writes traces for tests, right ones and wrong ones, without an emulator.
#pragma once

#include <zstd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "cores/trace/format.h"

namespace dpubench::cores::test {

/// The bytes of both files as they are before compression; whatever is added comes at their end.
class TraceWriter {
 public:
  explicit TraceWriter(const std::string& kernel = "test", const std::string& architecture = "aarch64",
                       std::uint32_t version = DPUBENCH_TRACE_VERSION, std::string_view magic = DPUBENCH_TRACE_MAGIC) {
    blocks_ += magic;
    add(blocks_, version);
    for (const std::string& text : {architecture, kernel, std::string("neoverse-n1"), std::string("digest")}) {
      add(blocks_, static_cast<std::uint32_t>(text.size()));
      blocks_ += text;
    }
    stream_ += magic;
    add(stream_, std::uint64_t{version});
  }

  /// A block that begins at `pc`. Returns its number.
  std::uint32_t block(std::uint64_t pc, const std::vector<std::uint32_t>& words) {
    add(blocks_, static_cast<std::uint32_t>(sizes_.size()));
    add(blocks_, static_cast<std::uint32_t>(words.size()));
    add(blocks_, pc);
    for (const std::uint32_t word : words) add(blocks_, word);
    sizes_.push_back(words.size());
    return static_cast<std::uint32_t>(sizes_.size()) - 1;
  }
  void end_of_blocks() {
    add(blocks_, DPUBENCH_NO_BLOCK);
    add(blocks_, static_cast<std::uint32_t>(sizes_.size()));
  }

  void open() { mark(DPUBENCH_MARK_OPEN); }
  void close() { mark(DPUBENCH_MARK_CLOSE); }
  void message() { mark(DPUBENCH_MARK_MESSAGE); }
  void run(std::uint32_t block) {
    executed_ += sizes_.at(block);
    word(block);
  }
  void access(std::uint64_t address, unsigned index, unsigned size_log2, bool is_store) {
    word(DPUBENCH_WORD_ACCESS | address | std::uint64_t{index} << DPUBENCH_INDEX_SHIFT |
         std::uint64_t{size_log2} << DPUBENCH_SIZE_SHIFT | std::uint64_t{is_store} << DPUBENCH_STORE_SHIFT);
  }
  void mark(unsigned kind, std::uint64_t value = 0) { word(DPUBENCH_WORD_MARK | value << DPUBENCH_MARK_SHIFT | kind); }
  void end() { mark(DPUBENCH_MARK_END, executed_); }
  void word(std::uint64_t value) { add(stream_, value); }

  std::string& blocks() { return blocks_; }
  std::string& stream() { return stream_; }

  /// Ends the table of blocks and writes both files.
  void write(const std::filesystem::path& folder) {
    end_of_blocks();
    write_file(folder / DPUBENCH_TRACE_BLOCKS, compressed(blocks_));
    write_file(folder / DPUBENCH_TRACE_STREAM, compressed(stream_));
  }

  /// In frames as format.h wants them. @param checksums, frame_bytes  others, for what must be refused
  static std::string compressed(std::string_view bytes, bool checksums = true,
                                std::size_t frame_bytes = DPUBENCH_TRACE_FRAME_BYTES) {
    const std::unique_ptr<ZSTD_CCtx, std::size_t (*)(ZSTD_CCtx*)> context(ZSTD_createCCtx(), ZSTD_freeCCtx);
    ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, 1);
    ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, checksums ? 1 : 0);
    std::string out;
    do {
      const std::string_view part = bytes.substr(0, frame_bytes);
      std::string frame(ZSTD_compressBound(part.size()), '\0');
      const std::size_t size = ZSTD_compress2(context.get(), frame.data(), frame.size(), part.data(), part.size());
      if (ZSTD_isError(size) != 0) throw std::runtime_error(ZSTD_getErrorName(size));
      out.append(frame, 0, size);
      bytes.remove_prefix(part.size());
    } while (!bytes.empty());
    return out;
  }
  static void write_file(const std::filesystem::path& path, std::string_view bytes) {
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }

 private:
  template <typename T>
  static void add(std::string& to, T value) {
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    to.append(bytes, sizeof value);
  }

  std::string blocks_;
  std::string stream_;
  std::vector<std::size_t> sizes_;
  std::uint64_t executed_ = 0;
};

}  // namespace dpubench::cores::test
