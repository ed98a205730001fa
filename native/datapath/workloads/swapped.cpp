#include "datapath/workloads/swapped.hpp"

#include <rte_ether.h>

#include <algorithm>
#include <cstring>

namespace dpubench::datapath {
namespace {

constexpr std::size_t kAddresses = 2 * RTE_ETHER_ADDR_LEN;

class SwappedExpectation final : public Expectation {
 public:
  Answer judge(std::uint32_t /*index*/, std::span<const std::byte> sent, std::span<const std::byte> reply,
               bool /*lossy*/) override {
    const std::size_t length = sent.size();
    if (length < kAddresses || reply.size() != length) return Answer::kWrong;
    const bool right = std::memcmp(reply.data(), sent.data() + RTE_ETHER_ADDR_LEN, RTE_ETHER_ADDR_LEN) == 0 &&
                       std::memcmp(reply.data() + RTE_ETHER_ADDR_LEN, sent.data(), RTE_ETHER_ADDR_LEN) == 0 &&
                       std::memcmp(reply.data() + kAddresses, sent.data() + kAddresses, length - kAddresses) == 0;
    return right ? Answer::kRight : Answer::kWrong;
  }
  std::string explain(std::uint32_t /*index*/, std::span<const std::byte> sent, std::span<const std::byte> reply) override {
    if (sent.size() != reply.size()) {
      return "the reply has " + std::to_string(reply.size()) + " bytes, but " + std::to_string(sent.size()) + " were sent";
    }
    const std::size_t at = differs_at(sent, reply);
    return at < kAddresses ? "the addresses are not the sent addresses, swapped"
                           : "the reply differs from the sent frame from byte " + std::to_string(at) + " on";
  }

 private:
  /// Return the index of the first wrong byte of the reply, or the length of `sent` if every byte that both have is right.
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

}  // namespace

std::unique_ptr<Expectation> expect_swapped() {
  return std::make_unique<SwappedExpectation>();
}

}  // namespace dpubench::datapath
