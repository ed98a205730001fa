// forward, engine xdp: an eBPF program in the interface's driver answers. No packet reaches this process.
// requires: libbpf >= 0.7
#include <linux/bpf.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "datapath/stages/engine.hpp"
#include "datapath/stages/xdp_program.hpp"
#include "datapath/workloads/forward/names.hpp"

namespace dpubench::datapath::forward {
namespace {

alignas(8) constexpr unsigned char kProgram[] = {
#include DPUBENCH_BPF_OBJECT
};

/// The attached program and its count.
class Program {
 public:
  Program() : code_("forward, engine xdp", kProgram) {
    code_.load("forward");
    map_ = code_.map("received");
  }
  void attach(const std::string& interface) { code_.attach(interface); }
  [[nodiscard]] std::uint64_t received() const {
    std::uint64_t count = 0;
    if (bpf_map_lookup_elem(map_, &kZero, &count) != 0) code_.fail("its counter cannot be read", errno);
    return count;
  }

  /// Verify the program in the kernel's test run, on frames of many sizes from the header alone. @returns in words what was
  /// compared @throws Error
  [[nodiscard]] std::string verify() const {
    std::size_t n = 0;
    const std::uint64_t before = received();
    for (std::size_t bytes = xdp::kLeastTested; bytes <= xdp::kMostTested; bytes += 1 + bytes / 8) {
      std::vector<std::byte> frame(bytes);
      for (std::size_t i = 0; i < bytes; ++i) frame[i] = static_cast<std::byte>(i * 7 + bytes);
      const auto [verdict, out] = code_.run(frame);
      std::swap_ranges(frame.begin(), frame.begin() + 6, frame.begin() + 6);
      if (verdict != XDP_TX || out != frame) {
        throw Error("forward, engine xdp: a frame of " + std::to_string(bytes) + " bytes (verdict " + std::to_string(verdict) +
                    ") does not come back with only its addresses swapped");
      }
      ++n;
    }
    if (received() - before != n) throw Error("forward, engine xdp: the program does not count every frame");
    return "verdict and bytes of " + std::to_string(n) +
           " frames in the kernel's test run; every reply is compared with what was sent";
  }

 private:
  static constexpr std::uint32_t kZero = 0;
  xdp::Program code_;
  int map_ = -1;
};

/// A stage that sees no packet. It reports what the program counted.
class CountingStage final : public Stage {
 public:
  explicit CountingStage(const Program& program) : program_(program) {}
  [[nodiscard]] bool reads_headers() const noexcept override { return false; }
  std::uint32_t run(Batch& /*batch*/) noexcept override { return 0; }
  void begin(bool /*keeps_flows*/) override { before_ = program_.received(); }
  [[nodiscard]] std::optional<std::uint64_t> elsewhere() const noexcept override {
    try {
      return program_.received() - before_;
    } catch (const Error&) {
      return 0;  // collect() reports the reason
    }
  }
  void collect(nlohmann::json& into, const std::string& /*dump_folder*/) override {
    const std::uint64_t received = program_.received() - before_;
    into["forward"] = {{"elsewhere", {{"received", received}, {"transmitted", received}, {"dropped", 0}}}};
  }

 private:
  const Program& program_;
  std::uint64_t before_ = 0;
};

class XdpPipeline final : public Pipeline {
 public:
  explicit XdpPipeline(const Setting& setting) {
    const PortInfo& info = xdp::port_of("forward, engine xdp", setting.ports);
    report_.name = kStage;
    report_.engine = xdp::kPortKind;
    report_.verified = program_.verify();
    const auto start = std::chrono::steady_clock::now();
    program_.attach(info.interface);
    report_.build_ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
    report_.path = {.isa = "eBPF", .detail = "XDP_TX in the driver's mode on " + info.interface, .driver = info.driver};
  }
  [[nodiscard]] std::vector<StageReport> report() const override { return {report_}; }
  [[nodiscard]] std::vector<std::unique_ptr<Stage>> open(std::uint32_t /*core*/) override {
    std::vector<std::unique_ptr<Stage>> stages;
    stages.push_back(std::make_unique<CountingStage>(program_));
    return stages;
  }

 private:
  Program program_;
  StageReport report_;
};

class Xdp final : public StageEngine {
 public:
  [[nodiscard]] const char* name() const override { return "xdp"; }
  [[nodiscard]] const char* summary() const override { return "an eBPF program in the interface's driver: the kernel answers"; }
  [[nodiscard]] const char* port() const override { return xdp::kPortKind; }
  [[nodiscard]] std::string unavailable() const override { return xdp::missing_right(); }
  [[nodiscard]] std::string unsupported(const Setting& setting) const override {
    return xdp::unsupported(setting.cores, setting.max_frame);
  }
  [[nodiscard]] std::unique_ptr<Pipeline> open(const Setting& setting, inputs::Store& /*store*/) const override {
    return std::make_unique<XdpPipeline>(setting);
  }
};

}  // namespace
}  // namespace dpubench::datapath::forward

DPUBENCH_STAGE_ENGINE(dpubench::datapath::forward::Xdp)
