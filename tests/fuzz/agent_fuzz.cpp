// Sends any bytes to the agent. It must answer or end with a message, and create nothing outside its cache.
//
// The bundle has no program, so nothing is executed. Requests work in a separate folder.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "agent/connection.hpp"
#include "agent/serve.hpp"
#include "base/error.hpp"
#include "check.hpp"

namespace fs = std::filesystem;
using namespace dpubench::agent;

namespace {

/// A target's folder as an installation leaves it, with a bundle without programs. The destructor removes it.
class Target {
 public:
  Target() {
    // Use memory if /dev/shm exists, because received files are written and synced.
    std::string pattern = fs::exists("/dev/shm") ? "/dev/shm/dpubench-fuzz-XXXXXX" : "/tmp/dpubench-fuzz-XXXXXX";
    FUZZ_CHECK(mkdtemp(pattern.data()) != nullptr);
    home_ = pattern;
    place_.home = home_;
    place_.lib = home_ / "bundles" / std::string(64, 'a') / "lib";
    fs::create_directories(place_.lib);
    std::ofstream(home_ / kMarker).flush();
    std::ofstream(place_.lib.parent_path() / "manifest.json") << R"({"files": {"lib/missing": "0"}})";
  }
  ~Target() {
    std::error_code ignored;
    fs::remove_all(home_, ignored);
  }
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  [[nodiscard]] const Place& place() const { return place_; }
  /// Check that the folder holds nothing else, and remove the cache.
  void check() const {
    for (const auto& entry : fs::directory_iterator(home_)) {
      const std::string name = entry.path().filename().string();
      FUZZ_CHECK(name == "bundles" || name == "cache" || name == kMarker);
    }
    std::error_code ignored;
    fs::remove_all(home_ / "cache", ignored);
  }

 private:
  fs::path home_;
  Place place_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Target target;
  std::array<int, 2> ends{};
  FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
  FUZZ_CHECK(write(ends[0], data, size) == static_cast<ssize_t>(size));
  FUZZ_CHECK(shutdown(ends[0], SHUT_WR) == 0);
  try {
    Connection connection(ends[1], ends[1]);
    serve(connection, target.place());
    FUZZ_CHECK(false);  // serve() never returns: it ends with the connection
  } catch (const Ended&) {
    // the input ended
  } catch (const dpubench::Error& error) {
    FUZZ_CHECK(error.what()[0] != 0);
  }
  std::array<char, kGreeting.size()> said{};
  const ssize_t got = read(ends[0], said.data(), said.size());
  FUZZ_CHECK(got == 0 || std::string_view(said.data(), static_cast<std::size_t>(got)) == kGreeting);
  close(ends[0]);
  close(ends[1]);
  target.check();
  return 0;
}
