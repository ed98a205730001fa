#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/error.hpp"
#include "datapath/workloads/flow-table/flow_table.hpp"

namespace dpubench::datapath::flow_table {
namespace {

template <class T>
std::byte* put(std::byte* at, T value) {
  for (std::size_t i = 0; i < sizeof value; ++i) *at++ = static_cast<std::byte>(value >> (8 * i) & 0xffU);
  return at;
}

}  // namespace

void dump(const FlowTable& table, KeyKind kind, const std::string& folder, bool append) {
  const std::string path = folder + "/flows.bin";
  std::ofstream file(path, std::ios::binary | (append ? std::ios::app : std::ios::trunc));
  table.for_each([&](const FlowRecord& record) {
    std::array<std::byte, kDumpRecordBytes> bytes{};
    std::byte* at = put(bytes.data(), record.key.version);
    at = put(at, record.key.protocol);
    at = put(at, record.key.source_port(kind));
    at = put(at, record.key.destination_port);
    at += 2;
    std::memcpy(at, record.key.source.data(), 16);
    std::memcpy(at + 16, record.key.destination.data(), 16);
    at = put(at + 32, record.packets);
    put(at, record.bytes);
    file.write(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  });
  if (!file.flush())
    throw Error("flow-table: cannot write " + path + ": " + std::strerror(errno) + "; name a writable folder with free space");
}

}  // namespace dpubench::datapath::flow_table
