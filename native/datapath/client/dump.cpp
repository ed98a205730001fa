#include "datapath/client/dump.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>

#include "base/error.hpp"
#include "inputs/file.hpp"

namespace dpubench::datapath {
namespace {

constexpr std::size_t kFlowBytes = 56;

template <class T>
T take(const std::byte*& at) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof value; ++i) value = static_cast<T>(value | std::to_integer<T>(*at++) << (8 * i));
  return value;
}

std::unordered_set<std::uint64_t> read_numbers(const std::filesystem::path& path) {
  const std::vector<std::byte> bytes = inputs::read_file(path, "dump");
  if (bytes.size() % 8 != 0) {
    throw Error("dump " + path.string() + ": " + std::to_string(bytes.size()) + " bytes are not a list of 8-byte numbers");
  }
  std::unordered_set<std::uint64_t> numbers;
  numbers.reserve(bytes.size() / 8);
  for (const std::byte* at = bytes.data(); at != bytes.data() + bytes.size();) numbers.insert(take<std::uint64_t>(at));
  return numbers;
}

FlowCount read_flow(const std::byte* at) {
  FlowCount flow;
  flow.version = take<std::uint8_t>(at);
  flow.protocol = take<std::uint8_t>(at);
  flow.source_port = take<std::uint16_t>(at);
  flow.destination_port = take<std::uint16_t>(at);
  at += 2;
  std::memcpy(flow.source.data(), at, 16);
  std::memcpy(flow.destination.data(), at + 16, 16);
  at += 32;
  flow.packets = take<std::uint64_t>(at);
  flow.bytes = take<std::uint64_t>(at);
  return flow;
}

}  // namespace

ServerDump::ServerDump(const std::filesystem::path& folder)
    : received_(inputs::read_file(folder / "received.bitmap", "dump")),
      dropped_(read_numbers(folder / "dropped.u64")),
      refused_(read_numbers(folder / "tx_full.u64")) {
  std::error_code none;
  const std::uintmax_t flow_bytes = std::filesystem::file_size(folder / "flows.bin", none);
  has_flows_ = !none && flow_bytes > 0;
  nothing_received_ = std::all_of(received_.begin(), received_.end(), [](std::byte byte) { return byte == std::byte{0}; });
}

void ServerDump::for_each_behind(std::uint64_t first, const std::function<void(std::uint64_t)>& visit) const {
  for (std::uint64_t number = first; number < received_.size() * 8; ++number) {
    if (received(number)) visit(number);
  }
}

bool for_each_flow(const std::filesystem::path& folder, const std::function<void(const FlowCount&)>& visit) {
  const std::filesystem::path path = folder / "flows.bin";
  std::ifstream file(path, std::ios::binary);
  if (!file) return false;
  constexpr std::size_t kAtOnce = 4096;
  std::vector<std::byte> chunk(kAtOnce * kFlowBytes);
  for (;;) {
    file.read(reinterpret_cast<char*>(chunk.data()), static_cast<std::streamsize>(chunk.size()));
    const auto got = static_cast<std::size_t>(file.gcount());
    if (got % kFlowBytes != 0) {
      throw Error("dump " + path.string() + ": ends inside a record of " + std::to_string(kFlowBytes) + " bytes");
    }
    for (std::size_t at = 0; at < got; at += kFlowBytes) visit(read_flow(chunk.data() + at));
    if (got < chunk.size()) return true;
  }
}

}  // namespace dpubench::datapath
