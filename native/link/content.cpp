#include "link/content.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "base/error.hpp"
#include "protocol/identity.hpp"

namespace dpubench::link {
namespace {

/// The content is made in pieces of this size, whole words, so that both ends make the same.
constexpr std::uint64_t kPiece = std::uint64_t{64} << 10;

/// @throws Error where a file in memory would leave less than its own size
void require_memory(std::uint64_t bytes) {
  const auto told = protocol::fields("/proc/meminfo", "MemAvailable");
  if (told.empty()) return;  // kernels before 3.14
  const std::uint64_t available = std::strtoull(told[0].c_str(), nullptr, 10) << 10;
  if (available / 2 < bytes)
    throw Error("a file of " + std::to_string(bytes) + " bytes in memory is too large for this machine, which has " +
                std::to_string(available) + " bytes available: ask for a smaller file_bytes");
}

}  // namespace

ContentFile::ContentFile(std::uint64_t seed, std::uint64_t bytes) {
  require_memory(bytes);
  fd_ = Descriptor(memfd_create("dpubench-link", MFD_CLOEXEC));
  if (fd_.get() < 0) throw Error(std::string("cannot make a file in memory: ") + std::strerror(errno));
  inputs::Random random(seed);
  std::vector<std::byte> piece;
  for (std::uint64_t made = 0; made < bytes; made += piece.size()) {
    piece.resize(std::min(kPiece, bytes - made));
    random.fill(piece);
    for (Bytes rest(piece); !rest.empty();) {
      const ssize_t written = write(fd_.get(), rest.data(), rest.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) throw Error(std::string("cannot fill a file in memory: ") + std::strerror(errno));
      rest = rest.subspan(static_cast<std::size_t>(written));
    }
  }
}

void ContentCheck::make_next_piece() {
  piece_.resize(std::min(kPiece, bytes_ - made_));
  random_.fill(piece_);
  made_ += piece_.size();
  if (first_.empty())
    first_.assign(piece_.begin(), piece_.begin() + static_cast<std::ptrdiff_t>(std::min(kBlock, piece_.size())));
  last_.insert(last_.end(), piece_.begin(), piece_.end());
  if (last_.size() > kBlock) last_.erase(last_.begin(), last_.end() - kBlock);
}

/// Compare where `part`, which lies at at_, and the bytes `right`, which belong at `begin`, overlap.
void ContentCheck::compare(Bytes part, std::uint64_t begin, Bytes right) const {
  const std::uint64_t from = std::max(at_, begin);
  const std::uint64_t to = std::min(at_ + part.size(), begin + right.size());
  if (from >= to) return;
  const Bytes got = part.subspan(from - at_, to - from);
  const auto [wrong, unused] = std::mismatch(got.begin(), got.end(), right.begin() + static_cast<std::ptrdiff_t>(from - begin));
  if (wrong != got.end())
    throw Error("byte " + std::to_string(from + static_cast<std::uint64_t>(wrong - got.begin())) + " of file " +
                std::to_string(files_ + 1) + " is wrong: something between both ends changes data");
}

void ContentCheck::compare_all(Bytes part) {
  for (;;) {
    compare(part, made_ - piece_.size(), piece_);
    if (made_ >= at_ + part.size()) return;
    make_next_piece();
  }
}

void ContentCheck::take(Bytes part) {
  if (files_ == 0) {
    compare_all(part);
  } else {
    compare(part, 0, first_);
    compare(part, bytes_ - last_.size(), last_);
  }
  at_ += part.size();
  if (at_ < bytes_) return;
  at_ = 0;
  ++files_;
}

}  // namespace dpubench::link
