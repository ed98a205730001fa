#include "link/transfer.hpp"

#include <algorithm>
#include <vector>

#include "base/error.hpp"

namespace dpubench::link {
namespace {

/// What is received at once: more than a socket's buffer usually holds.
constexpr std::size_t kReceiveBytes = std::size_t{256} << 10;

std::string acknowledgment(std::uint64_t files, std::uint64_t bytes) {
  return "received " + std::to_string(files) + " files, " + std::to_string(bytes) + " bytes";
}

void expect_acknowledgment(Channel& channel, std::uint64_t files, std::uint64_t bytes) {
  const std::string told = channel.receive_note();
  const std::string right = acknowledgment(files, bytes);
  if (told != right) throw Error("the server says '" + told + "' instead of '" + right + "'");
}

/// Receive a part of a file. @returns whether one came
bool receive_part(Channel& channel, ContentCheck& check, Room buffer) {
  const std::size_t got = channel.receive_some(buffer.first(std::min<std::uint64_t>(buffer.size(), check.left())));
  check.take(buffer.first(got));
  return got > 0;
}

}  // namespace

Transferred send_files(Channel& channel, const LinkJob& job, const ContentFile& file, Phase& phase) {
  Transferred result;
  phase.enter("verify");
  channel.send_file(file.fd(), job.file_bytes);
  expect_acknowledgment(channel, 1, job.file_bytes);
  result.verified_bytes = job.file_bytes;
  phase.enter("measure");
  const Span span;
  do {
    channel.send_file(file.fd(), job.file_bytes);
    ++result.files;
  } while (span.elapsed_ns() < job.duration_s * 1e9);
  result.bytes = result.files * job.file_bytes;
  channel.end_sending();
  expect_acknowledgment(channel, result.files, result.bytes);
  result.taken = span.taken();
  return result;
}

Transferred receive_files(Channel& channel, const LinkJob& job, Watch& watch, Phase& phase) {
  ContentCheck check(job.seed, job.file_bytes);
  std::vector<std::byte> buffer(kReceiveBytes);
  Transferred result;
  phase.enter("verify");
  while (check.files() == 0) {
    if (!receive_part(channel, check, buffer))
      throw Error("the client closed the connection " + std::to_string(check.left()) +
                  " bytes before the end of the first file: its own failure says why");
    watch.glance();
  }
  result.verified_bytes = job.file_bytes;
  channel.send_note(acknowledgment(1, job.file_bytes));
  phase.enter("measure");
  const Span span;
  while (receive_part(channel, check, buffer)) watch.glance();
  result.files = check.files() - 1;
  result.bytes = result.files * job.file_bytes;
  if (result.files == 0 || check.left() != job.file_bytes)
    throw Error("the client closed the connection after " + std::to_string(result.files) +
                " timed files, before it was done: its own failure says why");
  channel.send_note(acknowledgment(result.files, result.bytes));
  result.taken = span.taken();
  return result;
}

}  // namespace dpubench::link
