// Both ends of a link in one process, over the loopback interface.
#pragma once

#include <csignal>
#include <cstdint>
#include <future>
#include <vector>

#include "inputs/random.hpp"
#include "link/job.hpp"
#include "link/socket.hpp"

namespace dpubench::test {

using namespace dpubench::link;

inline constexpr const char* kHere = "127.0.0.1";
inline constexpr auto kTestSilence = std::chrono::milliseconds(5000);

inline LinkJob latency_job(Role role, std::size_t message_bytes) {
  LinkJob job;
  job.role = role;
  job.message_bytes = message_bytes;
  job.duration_s = 0.02;
  return job;
}

inline LinkJob transfer_job(Role role, std::uint64_t file_bytes, Protection protection = Protection::kPlain) {
  LinkJob job;
  job.role = role;
  job.test = Test::kTransfer;
  job.file_bytes = file_bytes;
  job.protection = protection;
  job.duration_s = 0.02;
  return job;
}

/// Run a server's end in a thread and a client's end here. @returns the server's result, once the client is done
template <class Server, class Client>
auto with_both(Server server, Client client) {
  std::signal(SIGPIPE, SIG_IGN);  // as the program does
  Listener listener(kHere, 0);
  const std::uint16_t port = listener.port();
  auto served = std::async(std::launch::async, [&] {
    Watch watch(nullptr, kTestSilence);
    Socket socket = listener.accept(watch);
    return server(socket);
  });
  {
    Watch watch(nullptr, kTestSilence);
    Socket socket = Socket::connect(kHere, port, watch);
    client(socket);
  }
  return served.get();
}

inline std::vector<std::byte> content(std::uint64_t seed, std::size_t bytes) {
  std::vector<std::byte> all(bytes);
  dpubench::inputs::Random(seed).fill(all);
  return all;
}

}  // namespace dpubench::test
