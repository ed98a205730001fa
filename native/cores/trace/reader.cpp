#include "cores/trace/reader.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "cores/trace/block_table.hpp"
#include "cores/trace/compressed_file.hpp"

namespace dpubench::cores {

namespace {

constexpr std::size_t kBufferWords = std::size_t{1} << 13;
constexpr std::uint64_t kAddressMask = (std::uint64_t{1} << DPUBENCH_ADDRESS_BITS) - 1;
/// The longest access (the field has three bits). Longer ones are several accesses.
constexpr std::uint64_t kMaxAccessBytes = 128;

bool is_access(std::uint64_t word) {
  return (word & DPUBENCH_WORD_MARK) == DPUBENCH_WORD_ACCESS;
}

/// A joiner of the accesses of one instruction that lie in a row. It makes the fewest accesses whose sizes are powers of two. The
/// emulator reports a pair as two accesses and an LD4 byte by byte, in the order of their addresses.
class Joiner {
 public:
  explicit Joiner(std::vector<Access>& accesses) : accesses_(accesses) {}

  void add(const Access& access) {
    const std::uint64_t bytes = std::uint64_t{1} << access.size_log2;
    if (bytes_ != 0 && access.index == first_.index && access.is_store == first_.is_store &&
        access.address == first_.address + bytes_) {
      bytes_ += bytes;
      return;
    }
    finish();
    first_ = access;
    bytes_ = bytes;
  }

  void finish() {
    while (bytes_ != 0) {
      const std::uint64_t part = std::min(std::bit_floor(bytes_), kMaxAccessBytes);
      first_.size_log2 = static_cast<std::uint8_t>(std::countr_zero(part));
      accesses_.push_back(first_);
      first_.address += part;
      bytes_ -= part;
    }
  }

 private:
  std::vector<Access>& accesses_;
  Access first_;
  std::uint64_t bytes_ = 0;
};

/// The words of a stream, in a buffer that refills itself.
class Words {
 public:
  explicit Words(const std::filesystem::path& path) : file_(path), buffer_(kBufferWords) {
    std::array<std::byte, sizeof DPUBENCH_TRACE_MAGIC - 1> magic{};
    file_.read_exactly(magic, "its head");
    std::uint64_t version = 0;
    file_.read_exactly(std::as_writable_bytes(std::span(&version, 1)), "its head");
    if (const std::string fault = magic_fault(magic, version); !fault.empty()) file_.refuse(fault);
  }

  /// Return whether there is another word. It is then at peek().
  bool more() {
    if (next_ < filled_) return true;
    const std::size_t bytes = file_.read(std::as_writable_bytes(std::span(buffer_)));
    if (bytes % sizeof(std::uint64_t) != 0) file_.refuse("ends in the middle of a word: capture the trace again");
    passed_ += filled_;
    filled_ = bytes / sizeof(std::uint64_t);
    next_ = 0;
    return filled_ != 0;
  }
  [[nodiscard]] std::uint64_t peek() const { return buffer_[next_]; }
  std::uint64_t take() { return buffer_[next_++]; }

  /// Throw an Error about the word that was taken last.
  [[noreturn]] void refuse(const std::string& why) const {
    file_.refuse("word " + std::to_string(passed_ + next_) + ": " + why + ": capture the trace again");
  }
  [[noreturn]] void refuse_whole(const std::string& why) const { file_.refuse(why); }

 private:
  CompressedFile file_;
  std::vector<std::uint64_t> buffer_;
  std::size_t next_ = 0;
  std::size_t filled_ = 0;
  std::uint64_t passed_ = 0;
};

}  // namespace

class TraceReader::Impl {
 public:
  explicit Impl(const std::filesystem::path& folder)
      : path_(folder / DPUBENCH_TRACE_STREAM), table_(read_block_table(folder / DPUBENCH_TRACE_BLOCKS)), words_(path_) {}

  [[nodiscard]] const BlockTable& table() const { return table_; }

  const Step& next() {
    if (is_finished_) return step_;
    step_ = {};
    if (!words_.more()) words_.refuse_whole("has no end mark: the capture did not finish: capture the trace again");
    const std::uint64_t word = words_.take();
    if ((word & DPUBENCH_WORD_MARK) == DPUBENCH_WORD_MARK) {
      mark(word);
    } else if (is_access(word)) {
      words_.refuse("an access belongs to no block");
    } else {
      block(word);
    }
    return step_;
  }

  void rewind() {
    words_ = Words(path_);
    step_ = {};
    executed_ = 0;
    is_open_ = was_open_ = is_finished_ = false;
  }

 private:
  void block(std::uint64_t number) {
    if (number >= table_.blocks.size()) {
      words_.refuse("there is no block " + std::to_string(number) + ": the number of blocks is " +
                    std::to_string(table_.blocks.size()));
    }
    if (!is_open_) words_.refuse("a block is outside any region");
    const Block& block = table_.blocks[number];
    accesses_.clear();
    Joiner joiner(accesses_);
    std::uint16_t latest = 0;
    while (words_.more() && is_access(words_.peek())) {
      const std::uint64_t word = words_.take();
      Access access;
      access.address = word & kAddressMask;
      access.index = static_cast<std::uint16_t>(word >> DPUBENCH_INDEX_SHIFT & DPUBENCH_INDEX_MASK);
      access.size_log2 = static_cast<std::uint8_t>(word >> DPUBENCH_SIZE_SHIFT & DPUBENCH_SIZE_MASK);
      access.is_store = (word >> DPUBENCH_STORE_SHIFT & 1) != 0;
      if (access.index >= block.words.size()) {
        words_.refuse("an access belongs to instruction " + std::to_string(access.index) + ", but its block has only " +
                      std::to_string(block.words.size()));
      }
      if (access.index < latest) words_.refuse("an access comes too late in its block");
      latest = access.index;
      joiner.add(access);
    }
    joiner.finish();
    executed_ += block.words.size();
    step_ = {Step::What::kBlock, &block, accesses_};
  }

  void mark(std::uint64_t word) {
    switch (word & 0xff) {
      case DPUBENCH_MARK_OPEN:
        if (is_open_) words_.refuse("a region is opened while one is open");
        is_open_ = was_open_ = true;
        step_.what = Step::What::kOpen;
        return;
      case DPUBENCH_MARK_CLOSE:
        if (!is_open_) words_.refuse("a region is closed while none is open");
        is_open_ = false;
        step_.what = Step::What::kClose;
        return;
      case DPUBENCH_MARK_MESSAGE:
        if (!is_open_) words_.refuse("a message begins outside any region");
        step_.what = Step::What::kMessage;
        return;
      case DPUBENCH_MARK_END:
        end((word & ~DPUBENCH_WORD_MARK) >> DPUBENCH_MARK_SHIFT);
        return;
      default:
        words_.refuse("it is an unknown mark");
    }
  }

  void end(std::uint64_t instructions) {
    if (is_open_) words_.refuse("a region was opened and never closed");
    if (!was_open_) words_.refuse("no region was ever opened");
    if (instructions != executed_) {
      words_.refuse("the end mark counts " + std::to_string(instructions) + " instructions, but the blocks have " +
                    std::to_string(executed_));
    }
    if (words_.more()) words_.refuse("data follows the end mark");
    is_finished_ = true;
    step_.what = Step::What::kEnd;
  }

  std::filesystem::path path_;
  BlockTable table_;
  Words words_;
  std::vector<Access> accesses_;
  Step step_;
  std::uint64_t executed_ = 0;
  bool is_open_ = false;
  bool was_open_ = false;
  bool is_finished_ = false;
};

TraceReader::TraceReader(const std::filesystem::path& folder) : impl_(std::make_unique<Impl>(folder)) {}
TraceReader::TraceReader(TraceReader&&) noexcept = default;
TraceReader& TraceReader::operator=(TraceReader&&) noexcept = default;
TraceReader::~TraceReader() = default;

const TraceHead& TraceReader::head() const {
  return impl_->table().head;
}
std::span<const Block> TraceReader::blocks() const {
  return impl_->table().blocks;
}
const Step& TraceReader::next() {
  return impl_->next();
}
void TraceReader::rewind() {
  impl_->rewind();
}

}  // namespace dpubench::cores
