#include "cores/trace/compressed_file.hpp"

#include <zstd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace dpubench::cores {

namespace {

/// What the plugin writes needs 2^19; a damaged file must not make the reader allocate gigabytes.
constexpr int kWindowLog = 23;

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
  std::size_t wanted = 1;  ///< 0 once a frame is complete
};

CompressedFile::CompressedFile(const std::filesystem::path& path) : state_(std::make_unique<State>(path)) {}
CompressedFile::CompressedFile(CompressedFile&&) noexcept = default;
CompressedFile& CompressedFile::operator=(CompressedFile&&) noexcept = default;
CompressedFile::~CompressedFile() = default;

void CompressedFile::refuse(const std::string& why) const {
  throw Error(state_->path.string() + ": " + why);
}

std::size_t CompressedFile::read(std::span<std::byte> out) {
  State& s = *state_;
  ZSTD_outBuffer to = {out.data(), out.size(), 0};
  while (to.pos < to.size) {
    if (s.in.pos == s.in.size) {
      s.in = {s.compressed.data(), std::fread(s.compressed.data(), 1, s.compressed.size(), s.file.get()), 0};
      if (std::ferror(s.file.get()) != 0) refuse(std::string("cannot be read: ") + std::strerror(errno));
    }
    if (s.wanted == 0) {
      if (s.in.size == s.in.pos) break;
      refuse("goes on behind its end: it is no trace, or two were written into one file");
    }
    const std::size_t before = to.pos;
    const bool is_at_end = s.in.size == s.in.pos;
    s.wanted = ZSTD_decompressStream(s.context.get(), &to, &s.in);
    if (ZSTD_isError(s.wanted) != 0) {
      refuse(std::string("is damaged, or was not written by the tracing plugin: ") + ZSTD_getErrorName(s.wanted) +
             ": capture the trace again");
    }
    if (is_at_end && s.wanted != 0 && to.pos == before) refuse("was cut off: capture the trace again");
  }
  return to.pos;
}

void CompressedFile::read_exactly(std::span<std::byte> out, const std::string& what) {
  if (read(out) != out.size()) refuse("ends within " + what + ": capture the trace again");
}

}  // namespace dpubench::cores
