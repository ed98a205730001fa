#include "link/channel.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/error.hpp"

namespace dpubench::link {

void Channel::receive_all(Room room) {
  const std::size_t wanted = room.size();
  while (!room.empty()) {
    const std::size_t got = receive_some(room);
    if (got == 0)
      throw Error("the other end closed the connection after " + std::to_string(wanted - room.size()) + " of " +
                  std::to_string(wanted) + " bytes: its own failure says why");
    room = room.subspan(got);
  }
}

void Channel::send_note(std::string_view text) {
  std::array<char, kNoteBytes> record{};
  text.copy(record.data(), record.size());
  send_all(std::as_bytes(std::span(record)));
}

std::string Channel::receive_note() {
  std::array<char, kNoteBytes> record{};
  receive_all(std::as_writable_bytes(std::span(record)));
  std::string text(record.data(), strnlen(record.data(), record.size()));
  // It comes from outside, and goes into messages.
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

}  // namespace dpubench::link
