#include "cores/trace/compressed_file.hpp"

#include <zstd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "cores/trace/format.h"

namespace dpubench::cores {

namespace {

/// The plugin's files need 2^19. This limit keeps a damaged file from making the reader allocate gigabytes.
constexpr int kWindowLog = 23;
/// One byte more than a frame may have, so that too long frames are noticed.
constexpr std::size_t kMostPlain = DPUBENCH_TRACE_FRAME_BYTES + 1;

}  // namespace

struct CompressedFile::State {
  struct Close {
    void operator()(std::FILE* opened) const { std::fclose(opened); }
    void operator()(ZSTD_DCtx* made) const { ZSTD_freeDCtx(made); }
  };

  explicit State(std::filesystem::path p) : path(std::move(p)), file(std::fopen(path.c_str(), "rb")), context(ZSTD_createDCtx()) {
    if (file == nullptr) throw Error(path.string() + ": cannot be opened: " + std::strerror(errno));
    if (context == nullptr) throw std::bad_alloc();
    ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax, kWindowLog);
  }

  std::filesystem::path path;
  std::unique_ptr<std::FILE, Close> file;
  std::unique_ptr<ZSTD_DCtx, Close> context;
  std::vector<std::byte> compressed = std::vector<std::byte>(ZSTD_DStreamInSize());
  ZSTD_inBuffer in = {compressed.data(), 0, 0};
  bool was_any = false;          ///< at least one frame was read
  std::vector<std::byte> plain;  ///< the frame whose bytes are returned at present
  std::size_t given = 0;         ///< bytes of `plain` that were returned

  [[noreturn]] void refuse(const std::string& why) const { throw Error(path.string() + ": " + why); }
  [[noreturn]] void refuse_damaged(const std::string& why) const {
    refuse("is damaged, or was not written by the tracing plugin: " + why + ": capture the trace again");
  }

  /// Read more compressed bytes if all are used up. @returns whether there are more
  bool more() {
    if (in.pos < in.size) return true;
    in = {compressed.data(), std::fread(compressed.data(), 1, compressed.size(), file.get()), 0};
    if (std::ferror(file.get()) != 0) refuse(std::string("cannot be read: ") + std::strerror(errno));
    return in.size != 0;
  }

  /// Feed the next bytes to the decompressor. @returns 0 when the frame is complete
  std::size_t decompress(ZSTD_outBuffer& out, ZSTD_inBuffer& from) const {
    const std::size_t wanted = ZSTD_decompressStream(context.get(), &out, &from);
    if (ZSTD_isError(wanted) != 0) refuse_damaged(ZSTD_getErrorName(wanted));
    return wanted;
  }

  /// Check the head of a frame up to its descriptor (RFC 8878, 3.1.1.1), and feed it to the decompressor.
  void begin_frame() {
    std::array<unsigned char, 5> head{};
    for (unsigned char& byte : head) {
      if (!more()) refuse("was cut off: capture the trace again");
      byte = static_cast<unsigned char>(compressed[in.pos++]);
    }
    constexpr std::array<unsigned char, 4> kMagic = {0x28, 0xb5, 0x2f, 0xfd};
    constexpr unsigned char kChecksum = 1U << 2;
    if (!std::equal(kMagic.begin(), kMagic.end(), head.begin())) refuse_damaged("the first bytes of a zstd frame are wrong");
    if ((head[4] & kChecksum) == 0) refuse_damaged("a zstd frame has no checksum");
    ZSTD_inBuffer from = {head.data(), head.size(), 0};
    ZSTD_outBuffer nowhere = {nullptr, 0, 0};
    decompress(nowhere, from);
  }

  /// Read the next whole frame. @returns false at the end of the file
  bool next_frame() {
    plain.clear();
    given = 0;
    if (!more()) {
      if (!was_any) refuse("was cut off: capture the trace again");
      return false;
    }
    begin_frame();
    was_any = true;
    std::size_t filled = 0;
    for (std::size_t wanted = 1; wanted != 0;) {
      if (filled == plain.size()) plain.resize(std::min(std::max(2 * filled, ZSTD_DStreamOutSize()), kMostPlain));
      ZSTD_outBuffer out = {plain.data(), plain.size(), filled};
      const bool is_over = !more();
      wanted = decompress(out, in);
      if (is_over && wanted != 0 && out.pos == filled) refuse("was cut off: capture the trace again");
      filled = out.pos;
      if (filled == kMostPlain) refuse_damaged("a zstd frame has more than " + std::to_string(kMostPlain - 1) + " bytes");
    }
    plain.resize(filled);
    return true;
  }
};

CompressedFile::CompressedFile(const std::filesystem::path& path) : state_(std::make_unique<State>(path)) {}
CompressedFile::CompressedFile(CompressedFile&&) noexcept = default;
CompressedFile& CompressedFile::operator=(CompressedFile&&) noexcept = default;
CompressedFile::~CompressedFile() = default;

void CompressedFile::refuse(const std::string& why) const {
  state_->refuse(why);
}

std::size_t CompressedFile::read(std::span<std::byte> out) {
  State& s = *state_;
  std::size_t filled = 0;
  while (filled < out.size()) {
    if (s.given == s.plain.size() && !s.next_frame()) break;
    const std::size_t part = std::min(out.size() - filled, s.plain.size() - s.given);
    std::memcpy(out.data() + filled, s.plain.data() + s.given, part);
    s.given += part;
    filled += part;
  }
  return filled;
}

void CompressedFile::read_exactly(std::span<std::byte> out, const std::string& what) {
  if (read(out) != out.size()) refuse("ends within " + what + ": capture the trace again");
}

}  // namespace dpubench::cores
