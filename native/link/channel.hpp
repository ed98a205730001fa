// What a transfer needs of a connection, whether it is encrypted or not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace dpubench::link {

using Bytes = std::span<const std::byte>;
using Room = std::span<std::byte>;

/// A connection. Every function returns when all is done, and throws Error when the other end ends or is silent before.
class Channel {
 public:
  Channel() = default;
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  virtual ~Channel() = default;

  virtual void send_all(Bytes bytes) = 0;
  /// Send the first `bytes` of a file.
  virtual void send_file(int file, std::uint64_t bytes) = 0;
  /// Tell the other end that nothing more comes. It can still send.
  virtual void end_sending() = 0;
  /// Receive at least one byte. @returns how many; 0: the other end sends nothing more
  virtual std::size_t receive_some(Room room) = 0;
  /// Return how files go out: the system call, and who encrypts.
  [[nodiscard]] virtual std::string path() const = 0;
  /// Return the name of the cipher; empty: nothing is encrypted.
  [[nodiscard]] virtual std::string cipher() const = 0;

  /// Fill `room`. @throws Error also when the other end sends nothing more before
  void receive_all(Room room);
  /// Send and receive a short text in a record of constant length. @param text  at most kNoteBytes
  void send_note(std::string_view text);
  std::string receive_note();
  static constexpr std::size_t kNoteBytes = 128;
};

}  // namespace dpubench::link
