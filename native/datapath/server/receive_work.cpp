#include "datapath/server/receive_work.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string>

#include "base/error.hpp"

namespace dpubench::datapath {

ReceiveWork::ReceiveWork(std::span<const std::uint32_t> threads) {
  for (const std::uint32_t thread : threads) {
    const std::string path = "/proc/" + std::to_string(thread) + "/schedstat";
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) {
      const std::string reason = std::strerror(errno);
      for (const int opened : files_) ::close(opened);
      throw Error("receive_work: the CPU time of thread " + std::to_string(thread) + " cannot be read (" + path + ": " + reason +
                  "); name threads of this system, or leave receive_work out");
    }
    files_.push_back(file);
  }
}

ReceiveWork::~ReceiveWork() {
  for (const int file : files_) close(file);
}

std::optional<std::uint64_t> ReceiveWork::ran_ns() const noexcept {
  std::uint64_t all = 0;
  for (const int file : files_) {
    // The first number of schedstat is the time spent on the CPU, in ns (proc(5)).
    std::array<char, 128> text;
    const ssize_t length = pread(file, text.data(), text.size(), 0);
    if (length <= 0) return std::nullopt;
    std::uint64_t ran = 0;
    if (std::from_chars(text.data(), text.data() + length, ran).ec != std::errc{}) return std::nullopt;
    all += ran;
  }
  return all;
}

}  // namespace dpubench::datapath
