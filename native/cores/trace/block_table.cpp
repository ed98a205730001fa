#include "cores/trace/block_table.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <string_view>

#include "cores/trace/compressed_file.hpp"

namespace dpubench::cores {

namespace {

/// A large limit: a kernel's description with its arguments, or a digest, is much shorter.
constexpr std::uint32_t kMaxTextBytes = 64 * 1024;
constexpr std::uint32_t kInstructionBytes = 4;

template <typename T>
T read_integer(CompressedFile& file, const std::string& what) {
  static_assert(std::endian::native == std::endian::little);
  T value{};
  file.read_exactly(std::as_writable_bytes(std::span(&value, 1)), what);
  return value;
}

std::string read_text(CompressedFile& file, const std::string& what) {
  const auto bytes = read_integer<std::uint32_t>(file, what);
  if (bytes > kMaxTextBytes) {
    file.refuse(what + " is " + std::to_string(bytes) + " bytes long, but at most " + std::to_string(kMaxTextBytes) +
                " are possible: the file is damaged: capture the trace again");
  }
  std::string text(bytes, '\0');
  file.read_exactly(std::as_writable_bytes(std::span(text)), what);
  return text;
}

TraceHead read_head(CompressedFile& file) {
  std::array<std::byte, sizeof DPUBENCH_TRACE_MAGIC - 1> magic{};
  file.read_exactly(magic, "its head");
  if (const std::string fault = magic_fault(magic, read_integer<std::uint32_t>(file, "its head")); !fault.empty())
    file.refuse(fault);
  TraceHead head;
  head.architecture = read_text(file, "the name of the architecture");
  if (head.architecture != "aarch64" && head.architecture != "alpha") {
    file.refuse("is a trace of '" + head.architecture + "', but this program reads only traces of aarch64 and alpha");
  }
  head.kernel = read_text(file, "the name of the kernel");
  head.cpu = read_text(file, "the name of the CPU model");
  head.program_digest = read_text(file, "the digest of the program");
  return head;
}

Block read_block(CompressedFile& file, std::uint32_t number, std::uint32_t count) {
  const std::string what = "block " + std::to_string(number);
  if (count == 0 || count > DPUBENCH_BLOCK_INSTRUCTIONS) {
    file.refuse(what + " has " + std::to_string(count) + " instructions instead of 1 to " +
                std::to_string(DPUBENCH_BLOCK_INSTRUCTIONS) + ": capture the trace again");
  }
  Block block;
  block.number = number;
  block.pc = read_integer<std::uint64_t>(file, what);
  if (block.pc % kInstructionBytes != 0) file.refuse(what + " begins in the middle of an instruction: capture the trace again");
  block.words.resize(count);
  file.read_exactly(std::as_writable_bytes(std::span(block.words)), what);
  return block;
}

}  // namespace

std::string magic_fault(std::span<const std::byte> magic, std::uint64_t version) {
  if (std::memcmp(magic.data(), DPUBENCH_TRACE_MAGIC, magic.size()) != 0) return "is not a trace: its first bytes are wrong";
  if (version != DPUBENCH_TRACE_VERSION) {
    return "is a trace of version " + std::to_string(version) + ", but this program reads version " +
           std::to_string(DPUBENCH_TRACE_VERSION) + ": capture it again with the plugin of this build";
  }
  return {};
}

BlockTable read_block_table(const std::filesystem::path& path) {
  CompressedFile file(path);
  BlockTable table;
  table.head = read_head(file);
  for (;;) {
    const auto number = read_integer<std::uint32_t>(file, "its table of blocks");
    const auto count = read_integer<std::uint32_t>(file, "its table of blocks");
    if (number == DPUBENCH_NO_BLOCK && count == table.blocks.size()) break;
    if (number != table.blocks.size()) {
      file.refuse("after " + std::to_string(table.blocks.size()) + " blocks comes block number " + std::to_string(number) +
                  ": capture the trace again");
    }
    table.blocks.push_back(read_block(file, number, count));
  }
  std::array<std::byte, 1> more{};
  if (file.read(more) != 0) file.refuse("goes on after its table of blocks: capture the trace again");
  return table;
}

}  // namespace dpubench::cores
