// Runs the applications of this build on handmade inputs, for tests.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "applications/catalog.hpp"
#include "applications/job.hpp"
#include "native/capture_builder.hpp"
#include "native/expect_error.hpp"
#include "native/temporary_directory.hpp"
#include "operators/support/testing/built_engines.hpp"

namespace dpubench::applications::test {

using namespace dpubench::test;
using Packet = std::vector<std::byte>;

inline const ApplicationCatalog& catalog() {
  static const ApplicationCatalog& loaded = *[] {
    auto* all = new ApplicationCatalog;
    all->load(build_folder("DPUBENCH_APPLICATION_DIR"));
    return all;
  }();
  return loaded;
}

/// Return why an application cannot run here, or an empty text if it can.
inline std::string missing(const std::string& name) {
  for (const ApplicationSlot& slot : catalog().all()) {
    if (slot.name == name) return slot.reason;
  }
  return "there is no such application";
}
#define NEED_APPLICATION(name) \
  if (!missing(name).empty()) GTEST_SKIP() << (name) << " cannot run here: " << missing(name)

inline std::string text_of(const Packet& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// One run. Its inputs are files in a folder of its own.
class OneRun {
 public:
  explicit OneRun(std::string name, Params params = {}) : name_(std::move(name)) { task_.params = std::move(params); }
  OneRun& input(const std::string& kind, std::string_view content, const std::string& file = "") {
    task_.inputs[kind].push_back(folder_.write(kind + "/" + (file.empty() ? kind : file), content));
    return *this;
  }
  OneRun& capture(const std::vector<Packet>& frames, std::uint32_t link = 1) {
    return input("capture", text_of(pcap(link, frames)));
  }
  OneRun& limit(std::uint64_t bytes) {
    task_.limit_bytes = bytes;
    return *this;
  }
  /// Run and verify. @returns the output
  const std::string& go() {
    const ApplicationModule& module = catalog().find(name_);
    task_.params = complete(name_, module.info().parameters, task_.params);
    application_ = module.make();
    application_->load(task_);
    application_->run(task_);
    application_->verify(task_);
    output_ = text_of(application_->output);
    return output_;
  }
  /// Run and verify as a job. @returns the event
  nlohmann::json job() {
    ApplicationJob job{name_, task_, 60};
    Phase phase;
    return run_application(job, catalog(), phase);
  }
  [[nodiscard]] std::uint64_t fact(const std::string& name) const {
    const auto found = application_->facts.find(name);
    return found == application_->facts.end() ? 0 : found->second;
  }
  [[nodiscard]] const Application& application() const { return *application_; }
  [[nodiscard]] Application& application() { return *application_; }
  [[nodiscard]] const Task& task() const { return task_; }
  [[nodiscard]] const TemporaryDirectory& folder() const { return folder_; }

 private:
  std::string name_;
  TemporaryDirectory folder_;
  Task task_;
  std::unique_ptr<Application> application_;
  std::string output_;
};

/// Return an Ethernet frame around an IP packet.
inline Packet ethernet(const Packet& ip, std::string_view type = "0800", std::string_view tags = "") {
  return Bytes().hex("020000000001 020000000002").hex(tags).hex(type).add(ip).get();
}

/// Fields of an IPv4 packet. ip4() adds a correct checksum.
struct Ip {
  std::uint8_t protocol = 17;
  std::string_view source = "c6120001";
  std::string_view destination = "c6130001";
  std::uint8_t ttl = 64;
};
inline Packet ip4(const Packet& payload, const Ip& ip = {}) {
  Packet packet = Bytes()
                      .u16(0x4500)
                      .u16(20 + payload.size())
                      .u32(0x00010000)
                      .u8(ip.ttl)
                      .u8(ip.protocol)
                      .u16(0)
                      .hex(ip.source)
                      .hex(ip.destination)
                      .add(payload)
                      .get();
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < 20; i += 2)
    sum += std::to_integer<std::uint32_t>(packet[i]) << 8 | std::to_integer<std::uint32_t>(packet[i + 1]);
  while (sum > 0xffff) sum = (sum & 0xffffU) + (sum >> 16);
  packet[10] = static_cast<std::byte>(~sum >> 8 & 0xffU);
  packet[11] = static_cast<std::byte>(~sum & 0xffU);
  return packet;
}
inline Packet octets(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}
inline Packet udp4(std::string_view payload) {
  return ip4(Bytes().u16(1000).u16(53).u16(8 + payload.size()).u16(0).add(octets(payload)).get());
}
inline Packet tcp4(std::string_view payload, std::uint32_t sequence, unsigned flags = 0x10, std::uint16_t port = 1000) {
  return ip4(Bytes().u16(port).u16(80).u32(sequence).u32(2).u8(0x50).u8(flags).u16(65535).u32(0).add(octets(payload)).get(),
             {.protocol = 6});
}

}  // namespace dpubench::applications::test
