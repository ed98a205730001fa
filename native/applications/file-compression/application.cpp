// file-compression: compresses a file to the gzip format, chunk by chunk.
// requires: zlib >= 1.2
#include <zlib.h>

#include <cstdio>
#include <memory>

#include "applications/application.hpp"
#include "base/byte_order.hpp"
#include "measure/region.hpp"
#include "operators/support/codecs/deflate_format.hpp"

namespace dpubench::applications {
namespace {

const ApplicationInfo& info() {
  static const ApplicationInfo info{
      .name = "file-compression",
      .summary = "compresses a file to a gzip member, chunk by chunk, with its CRC",
      .definition =
          "Reads the file in chunks, deflates them into one stream, and writes a gzip member: header with the file's name, "
          "stream, CRC-32 and length. A record is a chunk. Verified: another implementation inflates the stream to the file's "
          "bytes, and header, CRC and length are correct.",
      .inputs = {{"corpus", "file to compress"}},
      .operators = {"deflate", "crc"},
      .parameters = {{.name = "level",
                      .summary = "compression level, as of zlib",
                      .values = {"1", "6", "9"},
                      .default_value = "6",
                      .unit = "1",
                      .min = 1,
                      .max = 9},
                     {.name = "chunk",
                      .summary = "bytes per read",
                      .values = {"4096", "65536", "1048576"},
                      .default_value = "65536",
                      .unit = "B",
                      .min = 512,
                      .max = 1U << 24}},
      .sources = {"RFC 1952 section 2.3", "RFC 1951"},
  };
  return info;
}

constexpr std::uint8_t kHasName = 8;  // FLG.FNAME
constexpr std::uint8_t kUnix = 3;     // OS
constexpr std::size_t kFixedHeader = 10;
constexpr std::size_t kTrailer = 8;
constexpr int kRawWindowBits = -15;
constexpr int kMemoryLevel = 8;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

void append_le32(std::vector<std::byte>& to, std::uint64_t value) {
  for (unsigned shift = 0; shift < 32; shift += 8) to.push_back(static_cast<std::byte>(value >> shift & 0xffU));
}

/// Return the file's own name as RFC 1952 requires it: without a folder and without a zero byte.
std::string member_name(const std::filesystem::path& path) {
  return path.filename().string();
}

class FileCompression final : public Application {
 public:
  FileCompression() = default;
  FileCompression(const FileCompression&) = delete;
  FileCompression& operator=(const FileCompression&) = delete;
  ~FileCompression() override { deflateEnd(&stream_); }

  void run(const Task& task) override {
    const std::filesystem::path& path = task.file("corpus");
    const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "rb"));
    if (file == nullptr) throw Error("corpus " + path.string() + ": cannot be read");
    const int level = static_cast<int>(task.params.number("level"));
    if (deflateInit2(&stream_, level, Z_DEFLATED, kRawWindowBits, kMemoryLevel, Z_DEFAULT_STRATEGY) != Z_OK)
      throw Error("zlib: deflateInit2 failed");
    write_header(member_name(path), level);
    std::vector<unsigned char> chunk(task.params.number("chunk"));
    std::uint64_t left = task.limit_bytes == 0 ? ~std::uint64_t{0} : task.limit_bytes;
    uLong crc = crc32(0, nullptr, 0);
    for (bool over = false; !over;) {
      measure::next_message();
      const std::size_t wanted = std::min<std::uint64_t>(left, chunk.size());
      const std::size_t taken = std::fread(chunk.data(), 1, wanted, file.get());
      if (std::ferror(file.get()) != 0) throw Error("corpus " + path.string() + ": cannot be read to its end");
      left -= taken;
      over = taken < chunk.size() || left == 0;
      crc = crc32(crc, chunk.data(), static_cast<uInt>(taken));
      deflate_chunk({chunk.data(), taken}, over);
      input_bytes += taken;
      if (taken > 0) ++records;
    }
    append_le32(output, crc);
    append_le32(output, input_bytes);
    facts = {{"stream_bytes", stream_.total_out}};
  }

  void verify(const Task& task) const override {
    const std::vector<std::byte> original = read_input(task.file("corpus"), "corpus", task.limit_bytes);
    const std::string name = member_name(task.file("corpus"));
    const std::size_t begin = kFixedHeader + name.size() + 1;
    const std::span<const std::byte> all(output);
    if (all.size() < begin + kTrailer) throw Error("file-compression: the output is shorter than header and trailer");
    if (wire::be32(all, 0) != 0x1f8b0808 || wire::u8(all, 9) != kUnix ||
        std::string(reinterpret_cast<const char*>(all.data()) + kFixedHeader) != name)
      throw Error("file-compression: the gzip header is wrong");
    std::vector<std::byte> inflated(original.size());
    deflate::Decompressor decompressor;
    const auto size = decompressor.decompress(all.subspan(begin, all.size() - begin - kTrailer), inflated);
    if (!size || *size != original.size() || inflated != original)
      throw Error("file-compression: the stream does not inflate to the file's bytes");
    if (wire::le32(all, all.size() - 4) != static_cast<std::uint32_t>(original.size()) ||
        wire::le32(all, all.size() - 8) != slow_crc32(original))
      throw Error("file-compression: the CRC or the length behind the stream is wrong");
  }

 private:
  void write_header(const std::string& name, int level) {
    constexpr std::uint8_t kMagic[] = {0x1f, 0x8b, Z_DEFLATED, kHasName, 0, 0, 0, 0};  // no modification time
    append(output, std::as_bytes(std::span(kMagic)));
    output.push_back(static_cast<std::byte>(level == 9 ? 2 : level == 1 ? 4 : 0));  // XFL
    output.push_back(std::byte{kUnix});
    append(output, name);
    output.push_back(std::byte{0});
  }

  void deflate_chunk(std::span<unsigned char> chunk, bool last) {
    stream_.next_in = chunk.data();
    stream_.avail_in = static_cast<uInt>(chunk.size());
    int status = Z_OK;
    do {
      constexpr std::size_t kRoom = 32768;
      const std::size_t at = output.size();
      output.resize(at + kRoom);
      stream_.next_out = reinterpret_cast<unsigned char*>(output.data()) + at;
      stream_.avail_out = kRoom;
      status = ::deflate(&stream_, last ? Z_FINISH : Z_NO_FLUSH);
      output.resize(at + kRoom - stream_.avail_out);
    } while (stream_.avail_out == 0);
    if (status != (last ? Z_STREAM_END : Z_OK) && status != Z_BUF_ERROR) throw Error("zlib: deflate failed");
  }

  /// Return the CRC-32, computed bit by bit as RFC 1952 section 8 defines it.
  static std::uint32_t slow_crc32(std::span<const std::byte> bytes) {
    std::uint32_t crc = 0xffffffff;
    for (const std::byte byte : bytes) {
      crc ^= std::to_integer<std::uint32_t>(byte);
      for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1U) != 0 ? 0xedb88320U : 0U);
    }
    return ~crc;
  }

  z_stream stream_{};
};

}  // namespace

DPUBENCH_APPLICATION(info, FileCompression)

}  // namespace dpubench::applications
