// dpubench-agent: the part of dpubench on another machine. It exchanges frames on standard input and output
// (docs/architecture.md, "The agent").

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>
#include <optional>

#include "agent/connection.hpp"
#include "agent/serve.hpp"

namespace {

using dpubench::agent::Connection;
using dpubench::agent::Frame;

constexpr int kFailed = 1;

void tell(std::optional<Connection>& connection, const char* message) {
  if (!connection) return;
  try {
    const nlohmann::json fault = {{"message", message}};
    connection->send(Frame::kFault, fault.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  } catch (const std::exception&) {  // nobody is left to hear of it
  }
}

int program() {
  std::signal(SIGPIPE, SIG_IGN);
  std::optional<Connection> connection;
  try {
    connection.emplace(STDIN_FILENO, STDOUT_FILENO);
    dpubench::agent::serve(*connection, dpubench::agent::find_place());
    return 0;
  } catch (const dpubench::agent::Ended&) {
    return 0;  // the usual end of a connection; a running program was killed
  } catch (const std::exception& error) {
    tell(connection, error.what());
    return kFailed;
  }
}

}  // namespace

int main(int argc, char**) {
  if (argc > 1) {
    std::fputs("dpubench-agent: takes no arguments: dpubench starts it on a target and speaks to it\n", stderr);
    return 2;
  }
  try {
    return program();
  } catch (...) {
    std::fputs("dpubench-agent: ended by an unknown error\n", stderr);
    return kFailed;
  }
}
