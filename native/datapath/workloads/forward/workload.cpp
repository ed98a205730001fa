// forward: the null workload. Its rates and latencies are the floor of every other workload's on the same port.

#include "datapath/workloads/workload.hpp"

#include <rte_ether.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace dpubench::datapath {
namespace {

constexpr std::size_t kAddresses = 2 * RTE_ETHER_ADDR_LEN;

/// Swaps the two addresses at the beginning of a frame that holds both. In registers: to read back in other widths what was just
/// stored stalls for a dozen cycles.
void swap_addresses(std::byte* frame) noexcept {
  static_assert(std::endian::native == std::endian::little);
  std::uint64_t low;
  std::uint32_t high;
  std::memcpy(&low, frame, sizeof low);
  std::memcpy(&high, frame + sizeof low, sizeof high);
  const std::uint64_t swapped_low = low >> 48 | std::uint64_t{high} << 16 | low << 48;
  const auto swapped_high = static_cast<std::uint32_t>(low >> 16);
  std::memcpy(frame, &swapped_low, sizeof low);
  std::memcpy(frame + sizeof low, &swapped_high, sizeof high);
}

class SwapStage final : public Stage {
 public:
  [[nodiscard]] bool reads_headers() const noexcept override { return false; }

  std::uint32_t run(Batch& batch) noexcept override {
    std::uint32_t worked = 0;
    for (std::uint32_t i = 0; i < batch.n; ++i) {
      if (batch.fate[i] != Fate::kForward) continue;
      if (batch.packets[i]->data_len < RTE_ETHER_HDR_LEN) [[unlikely]] {
        batch.fate[i] = Fate::kDropShort;
        continue;
      }
      swap_addresses(batch.data(i));
      ++worked;
    }
    return worked;
  }
};

class ForwardPipeline final : public Pipeline {
 public:
  explicit ForwardPipeline(const Setting& setting) : runs_here_(!setting.stages.empty()) {}

  [[nodiscard]] std::vector<StageReport> report() const override {
    if (!runs_here_) return {};
    return {{.name = "swap",
             .engine = "portable",
             .path = {.isa = "generic", .detail = "swap_addresses"},
             .verified = "every reply is compared with what was sent"}};
  }
  [[nodiscard]] std::vector<std::unique_ptr<Stage>> open(std::uint32_t /*core*/) override {
    std::vector<std::unique_ptr<Stage>> stages;
    if (runs_here_) stages.push_back(std::make_unique<SwapStage>());
    return stages;
  }

 private:
  bool runs_here_;
};

/// The frame that was sent with its addresses swapped, and nothing else changed.
class SwappedExpectation final : public Expectation {
 public:
  Answer judge(std::uint32_t /*index*/, std::span<const std::byte> sent, std::span<const std::byte> reply,
               bool /*lossy*/) override {
    return differs_at(sent, reply) == sent.size() && reply.size() == sent.size() ? Answer::kRight : Answer::kWrong;
  }
  std::string explain(std::uint32_t /*index*/, std::span<const std::byte> sent, std::span<const std::byte> reply) override {
    if (sent.size() != reply.size()) {
      return "the reply has " + std::to_string(reply.size()) + " bytes, and " + std::to_string(sent.size()) + " were sent";
    }
    const std::size_t at = differs_at(sent, reply);
    return at < kAddresses ? "the addresses are not those that were sent, swapped"
                           : "the reply differs from what was sent from byte " + std::to_string(at) + " on";
  }
  [[nodiscard]] bool may_drop(std::uint32_t /*index*/) const override { return false; }

 private:
  /// First byte that is not what must come back; the length of what was sent where all are, as far as both go.
  static std::size_t differs_at(std::span<const std::byte> sent, std::span<const std::byte> reply) {
    const std::size_t length = std::min(sent.size(), reply.size());
    if (length < kAddresses) return 0;
    if (std::memcmp(reply.data(), sent.data() + RTE_ETHER_ADDR_LEN, RTE_ETHER_ADDR_LEN) != 0) return 0;
    if (std::memcmp(reply.data() + RTE_ETHER_ADDR_LEN, sent.data(), RTE_ETHER_ADDR_LEN) != 0) return RTE_ETHER_ADDR_LEN;
    const auto rest =
        std::mismatch(sent.begin() + kAddresses, sent.begin() + static_cast<std::ptrdiff_t>(length), reply.begin() + kAddresses);
    const auto at = static_cast<std::size_t>(rest.first - sent.begin());
    return at == length ? sent.size() : at;
  }
};

class Forward final : public Workload {
 public:
  [[nodiscard]] const WorkloadInfo& info() const override {
    static const WorkloadInfo kInfo = {
        .name = "forward",
        .summary = "null workload: swap the MAC addresses and send the packet back",
        .definition =
            "Source and destination address of the Ethernet header are swapped; every other byte comes back as it was "
            "sent. Any frame with a whole Ethernet header is sent back, whatever it holds.",
        .parameters = {},
        .stages = {{.name = "swap",
                    .summary = "swap source and destination MAC address",
                    .op = "",
                    .engines = {{.name = "portable", .summary = "in two registers", .reason = ""}},
                    .default_engine = "portable"}},
        .inputs = {},
        .sources = {"dpdk-testpmd, forward mode macswap"}};
    return kInfo;
  }
  [[nodiscard]] std::unique_ptr<Pipeline> open(const Setting& setting, inputs::Store& /*store*/,
                                               const EngineCatalog& /*engines*/) const override {
    return std::make_unique<ForwardPipeline>(setting);
  }
  [[nodiscard]] std::unique_ptr<Expectation> expect(const Params& /*params*/, inputs::Store& /*store*/,
                                                    const EngineCatalog& /*engines*/,
                                                    std::span<const FrameTemplate> /*templates*/) const override {
    return std::make_unique<SwappedExpectation>();
  }
};

DPUBENCH_WORKLOAD(Forward);

}  // namespace
}  // namespace dpubench::datapath
