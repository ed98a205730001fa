// The sockets by which two processes find each other's memory (memif, vhost-user).
#pragma once

#include <string>

namespace dpubench::datapath {

/// Makes the path of a listening socket free: removes the socket of a process that is gone. @param kind  of the port, for
/// messages
/// @throws Error when somebody listens there, when it is no socket, when the path is too long or out of reach, or its folder
/// cannot be written to
void claim_socket(const std::string& kind, const std::string& path);

/// Whether somebody listens there. @throws Error when the path is too long, or out of this user's reach
bool somebody_listens(const std::string& kind, const std::string& path);

/// Waits until somebody listens there: drivers connect once, when they are made. @throws Error when nobody came within 10 s
void wait_for_server(const std::string& kind, const std::string& path);

/// Removes a socket when it goes: not every driver does.
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
