// The job of dpubench-link. It is untrusted. docs/link-program.md has the format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "link/protection.hpp"

namespace dpubench::link {

inline constexpr std::string_view kJobSchema = "dpubench.link-job/1";

enum class Role : std::uint8_t { kServer, kClient };
enum class Test : std::uint8_t { kLatency, kTransfer };

struct LinkJob {
  Role role = Role::kServer;
  std::string address;     ///< server: one of this machine's; client: the server's
  std::uint16_t port = 0;  ///< server: 0: the system chooses one
  Test test = Test::kLatency;
  std::size_t message_bytes = 0;               ///< latency: of the message and of its answer
  std::uint64_t file_bytes = 0;                ///< transfer
  Protection protection = Protection::kPlain;  ///< transfer
  double duration_s = 1;                       ///< how long the client measures, at least
  std::uint64_t seed = 1;                      ///< of all contents
  std::optional<int> cpu;                      ///< CPU to run on
  double time_limit_s = 60;
};

/// Parse a job. @throws Error that names each field, its fault and the right form
LinkJob parse_link_job(std::string_view text);

/// Return what both ends' jobs must agree on, as one line of text.
std::string agreement(const LinkJob& job);

}  // namespace dpubench::link
