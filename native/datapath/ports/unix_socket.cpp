#include "datapath/ports/unix_socket.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include "base/error.hpp"
#include "datapath/ports/eth.hpp"

namespace dpubench::datapath {

namespace fs = std::filesystem;

bool somebody_listens(const std::string& kind, const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    throw Error(port_prefix(kind) + "the socket's path has " + std::to_string(path.size()) + " characters, but at most " +
                std::to_string(sizeof address.sun_path - 1) + " are allowed: " + path + "; give a shorter one");
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  // Listeners have other socket types, so they refuse this with EPROTOTYPE, and it disturbs no one. ECONNREFUSED means that no
  // process has the socket.
  const int probe = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (probe < 0) throw Error(port_prefix(kind) + "socket: " + std::strerror(errno));
  const int failed = connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 0 : errno;
  close(probe);
  if (failed == EACCES) {
    throw Error(port_prefix(kind) + "the socket " + path +
                " may not be opened by this user: run both ends as one user, or give a path in a folder that both may open");
  }
  return failed == 0 || failed == EPROTOTYPE;
}

void wait_for_server(const std::string& kind, const std::string& path) {
  constexpr std::chrono::seconds kServerComes{10};
  const auto given_up = std::chrono::steady_clock::now() + kServerComes;
  // A driver listens before its device can answer. A client that asks too early may never connect (net_memif, DPDK 22.11).
  constexpr std::chrono::milliseconds kDeviceComes{300};
  bool came = false;
  while (!somebody_listens(kind, path)) {
    came = true;
    if (std::chrono::steady_clock::now() > given_up) {
      throw Error(port_prefix(kind) + "nobody listens at the socket " + path + "; waited " +
                  std::to_string(kServerComes.count()) + " s: start the server's side first");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  if (came) std::this_thread::sleep_for(kDeviceComes);
}

void claim_socket(const std::string& kind, const std::string& path) {
  if (somebody_listens(kind, path)) {
    throw Error(port_prefix(kind) + "another program listens at the socket " + path +
                " already: end that program, or give this port another socket");
  }
  std::error_code error;
  const fs::file_status status = fs::symlink_status(path, error);
  if (fs::is_socket(status)) {
    fs::remove(path, error);
    if (error) throw Error(port_prefix(kind) + "the stale socket " + path + " cannot be removed: " + error.message());
  } else if (fs::exists(status)) {
    throw Error(port_prefix(kind) + path + " exists and is not a socket; give another path");
  }
  const fs::path folder = fs::path(path).has_parent_path() ? fs::path(path).parent_path() : fs::path(".");
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    throw Error(port_prefix(kind) + "cannot make a socket in " + folder.string() + ": " + std::strerror(errno));
  }
}

SocketFile::~SocketFile() {
  std::error_code gone;
  fs::remove(path_, gone);
}

}  // namespace dpubench::datapath
