#include "link/greeting.hpp"

#include <string>
#include <string_view>

#include "base/error.hpp"

namespace dpubench::link {
namespace {

constexpr std::string_view kGreeting = "dpubench-link/1 ";

std::string receive_greeting(Channel& channel) {
  std::string note = channel.receive_note();
  if (!note.starts_with(kGreeting)) throw Error("the other end is no dpubench-link of this version: look at address and port");
  return note.substr(kGreeting.size());
}

}  // namespace

void greet(Channel& channel, const LinkJob& job) {
  const std::string own = agreement(job);
  const std::string greeting = std::string(kGreeting) + own;
  std::string other;
  if (job.role == Role::kClient) {
    channel.send_note(greeting);
    other = receive_greeting(channel);
  } else {
    other = receive_greeting(channel);
    channel.send_note(greeting);
  }
  if (other != own)
    throw Error("the jobs of both ends differ: this one has '" + own + "', the other one '" + other + "': give both the same");
}

}  // namespace dpubench::link
