#include "datapath/server/packet_record.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "base/error.hpp"

namespace dpubench::datapath {
namespace {

constexpr std::size_t kKeptBytes = std::size_t{4} << 20;  ///< memory that stays in use from trial to trial: 32 M packets
constexpr std::size_t kPage = 4096;                       ///< the smallest page; larger ones are touched more than once

}  // namespace

template <class T>
SparseArray<T>::SparseArray(std::size_t count) {
  const std::size_t bytes = count * sizeof(T);
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    throw Error("cannot reserve " + std::to_string(bytes >> 20) +
                " MiB of address space for the record of packets (memory is taken as packets come): raise the limit (ulimit -v), "
                "or allow overcommitment (vm.overcommit_memory=0)");
  }
  // Zeroing a huge page takes as long as the gaps that the loop looks for.
  madvise(memory, bytes, MADV_NOHUGEPAGE);
  memory_ = std::unique_ptr<T, Unmap>(static_cast<T*>(memory), Unmap{bytes});
}

template <class T>
void SparseArray<T>::Unmap::operator()(T* memory) const noexcept {
  munmap(memory, bytes);
}

template <class T>
void SparseArray<T>::clear(std::size_t count) noexcept {
  const std::size_t bytes = count * sizeof(T);
  const std::size_t kept = std::min(bytes, kKeptBytes);
  std::memset(memory_.get(), 0, kept);
  if (bytes > kept) madvise(reinterpret_cast<char*>(memory_.get()) + kept, bytes - kept, MADV_DONTNEED);
}

template <class T>
void SparseArray<T>::touch(std::size_t count) noexcept {
  const auto bytes = std::min({count * sizeof(T), memory_.get_deleter().bytes, kKeptBytes});
  volatile char* const memory = reinterpret_cast<volatile char*>(memory_.get());
  for (std::size_t at = 0; at < bytes; at += kPage) memory[at] = memory[at];
}

template class SparseArray<std::uint64_t>;
template class SparseArray<std::uint8_t>;

PacketRecord::PacketRecord() : received_(kMostPackets / 64), dropped_(kMostLosses), reasons_(kMostLosses), tx_full_(kMostLosses) {
  received_.touch(received_.size());
}

void PacketRecord::clear() noexcept {
  received_.clear(words(end_));
  dropped_.clear(noted(dropped_count_));
  reasons_.clear(noted(dropped_count_));
  tx_full_.clear(noted(tx_full_count_));
  end_ = 0;
  dropped_count_ = 0;
  tx_full_count_ = 0;
}

}  // namespace dpubench::datapath
