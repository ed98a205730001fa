// Handles the sockets by which two processes find each other's memory (memif, vhost-user).
#pragma once

#include <string>

namespace dpubench::datapath {

/// Make the path of a listening socket free: remove the socket of a process that is gone. @param kind  kind of the port, for
/// messages
/// @throws Error when a process listens there, when it is no socket, when the path is too long or out of reach, or when its
/// folder cannot be written to
void claim_socket(const std::string& kind, const std::string& path);

/// Return whether a process listens there. @throws Error when the path is too long, or out of this user's reach
bool somebody_listens(const std::string& kind, const std::string& path);

/// Wait until a process listens there: drivers connect once, when they are made. @throws Error when none came within 10 s
void wait_for_server(const std::string& kind, const std::string& path);

/// The owner of a socket's file. It removes the file when it is destroyed, because not every driver does.
class SocketFile {
 public:
  explicit SocketFile(std::string path) : path_(std::move(path)) {}
  SocketFile(const SocketFile&) = delete;
  SocketFile& operator=(const SocketFile&) = delete;
  ~SocketFile();

 private:
  std::string path_;
};

}  // namespace dpubench::datapath
