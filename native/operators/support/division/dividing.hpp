// The common part of the operators that divide an input longer than the link allows into packets that fit (ip_fragment,
// tcp_segment).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "operators/operator.hpp"
#include "operators/support/division/segments.hpp"

namespace dpubench {

/// An operator with the parameters `ip_version`, `variant`, `mtu` and `size`. Its work comes from a traffic model of one protocol
/// over IP. Its outputs (support/division/segments.hpp) are judged packet by packet: in every variant, by the packets that they
/// stand for.
class DividingOperator : public Operator {
 public:
  [[nodiscard]] std::string invalid(const Params& params) const override;
  [[nodiscard]] std::unique_ptr<Work> prepare(const Params& params, inputs::Store& store, WorkSize size) const override;
  [[nodiscard]] std::string check(const Work& work, std::size_t item, const Output& got, const Output* want) const override;
  /// Return the packets that an input becomes, on average.
  [[nodiscard]] std::vector<double> metrics(const Work& work, const WindowTotals& totals) const override;
  /// Return the bytes touched: without a payload that stays in place, and with variant=mbuf the parts of a chain of two mbufs.
  [[nodiscard]] Touched touched(const Params& params, const Item& item) const override;
  /// Return `passthrough` if every input fits already.
  [[nodiscard]] std::optional<Remark> remark(const Work& work, const WindowTotals& totals) const override;

 protected:
  /// The protocol of the inputs, and its words for messages.
  struct Protocol {
    std::string name;         ///< protocol on IP: "TCP"
    std::size_t header = 0;   ///< bytes of its header
    double udp_share = 0;     ///< share of UDP in the traffic model: 1 for UDP, 0 for TCP
    std::string input;        ///< name of an input: "datagram"
    std::string output;       ///< name of an output packet: "fragment"
    std::string passthrough;  ///< the remark on inputs that fit
  };
  explicit DividingOperator(Protocol protocol) : protocol_(std::move(protocol)) {}

  /// Return the most bytes of `size`: the whole input stays within the 65,535 bytes that an IPv4 total length and a DPDK buffer
  /// can name, with either IP version.
  static constexpr std::uint64_t longest_payload(std::size_t header) { return 65535 - segments::ip6::kHeader - header; }
  /// Return the fields of a descriptor that these operators share. @param sizes  published grid of `size`, with its default
  [[nodiscard]] OperatorInfo common_info(std::string name, std::vector<std::string> sizes, std::string default_size) const;

  /// Return whether an operation reads the payload: copies or sums it.
  [[nodiscard]] virtual bool reads_payload(const Params& params) const { return params.is("variant", "copy"); }
  [[nodiscard]] virtual segments::Layout layout(bool v4, std::size_t mtu, std::span<const std::byte> in) const = 0;
  /// Make an input from a packet of the traffic model.
  virtual void finish(Item& item, bool v4, inputs::Random& random) const = 0;

  /// A packet of an output under judgement.
  struct Piece {
    const Item& item;
    bool v4;
    std::size_t mtu;
    std::size_t ip;                     ///< bytes of the IP header
    std::size_t headers;                ///< bytes of all headers
    std::span<const std::byte> packet;  ///< at least `headers` bytes
    std::size_t index;                  ///< number among the packets of its input
    bool last;
    std::uint32_t offset;  ///< offset of its payload in the input's payload
    [[nodiscard]] std::size_t payload_bytes() const { return packet.size() - headers; }
  };
  /// Return the fault in the size of a packet's payload, or an empty string.
  [[nodiscard]] virtual std::string misfit(const Piece& piece) const = 0;
  /// Change the input's headers to the headers that the packet must have. Lengths and the IPv4 header checksum are right already.
  virtual void expect(const Piece& piece, std::vector<std::byte>& headers) const = 0;
  /// Return the fault of a packet that has the expected headers and the input's payload, or an empty string.
  [[nodiscard]] virtual std::string flaw(const Piece&) const { return {}; }

  /// A packet of a known answer: its headers, and the bytes of the input's payload that follow.
  struct Line {
    std::string_view header;
    std::size_t offset;
    std::size_t length;
  };
  /// Return a known answer over a single input. Its payload byte i is 7 i + 3.
  /// @param headers, aux  of the input, hexadecimal @param lines  packets; none: the input must be rejected
  [[nodiscard]] static KnownAnswer known_answer(const Params& params, std::string name, std::uint64_t mtu,
                                                std::string_view headers, std::size_t payload, std::string_view aux,
                                                std::span<const Line> lines);

 private:
  Protocol protocol_;
};

}  // namespace dpubench
