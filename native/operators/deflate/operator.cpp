// deflate: compression to raw RFC 1951 streams, and the inverse.

#include "operators/deflate/levels.hpp"
#include "operators/support/codecs/codec.hpp"
#include "operators/support/codecs/deflate_format.hpp"

namespace dpubench {
namespace {

class DeflateOperator final : public CodecOperator {
 public:
  [[nodiscard]] const OperatorInfo& info() const override {
    static const OperatorInfo info = [] {
      OperatorInfo i = common_info("deflate", "compress", "decompress");
      i.summary = "DEFLATE compression and decompression of a message";
      i.definition =
          "compress: in: the message; out: one complete raw stream (RFC 1951, no zlib or gzip wrapper, no checksum). decompress: "
          "in: a raw stream; out: the message; a malformed or truncated stream is rejected, and nothing is written past the room "
          "for its output. One operation is one whole message, independent of earlier messages. Every rate is reported with its "
          "compression ratio.";
      i.parameters.push_back(
          {"stream",
           "stateless: one call per message, without state or with a state that is set up for the message; reused: each thread "
           "has one state, and resets it for every message",
           {"stateless", "reused"},
           "stateless",
           true,
           "",
           0,
           0});
      i.parameters.push_back(
          {"level",
           "compress only: fast, default and best are each library's own levels of that name (recorded per point); LIBRARY-N is "
           "level N of that library alone, because equal numbers mean different work in different libraries",
           level_names(), "default", false, "", 0, 0});
      i.reference_engine = "zlib";
      i.sources = {"RFC 1951", "DPUBench (2023), storage operators"};
      return i;
    }();
    return info;
  }

  [[nodiscard]] std::string invalid(const Params& params) const override {
    if (!packs(params) && !params.is("level", "default")) return "decompression is the same for all levels: remove level";
    return {};
  }

  [[nodiscard]] std::vector<KnownAnswer> known_answers(const Params& params) const override {
    if (packs(params)) return {};
    std::vector<KnownAnswer> answers;
    answers.push_back(Vectors(params)
                          .gives("01 0500 faff 48656c6c6f", "Hello")                // stored block, RFC 1951 section 3.2.4
                          .gives("00 0200 fdff 4865 01 0300 fcff 6c6c6f", "Hello")  // two stored blocks
                          .gives("f348cdc9c90700", "Hello")                         // fixed codes, section 3.2.6
                          // Fixed codes: a, b, c, length 10 at distance 3, length 258 (symbol 285) at distance 1.
                          .gives("4b4c4a46a0510000", "abcabcabcabca" + std::string(258, 'a'))
                          // Dynamic codes, section 3.2.7: code lengths a 1, b 2, end of block 2, no distances.
                          .gives("05c0010900000080a0adf67f442803", "abba")
                          // Dynamic codes: a 1, end of block 2, length 3 2, and a single distance of one bit.
                          .gives("0dc0010900000080a0adfe3f519a00", "aaaaa")
                          .answer("RFC 1951 blocks, by hand"));
    answers.push_back(Vectors(params)
                          .rejects("")
                          .rejects("07")                                            // block type 3 is reserved
                          .rejects("01 0500 0000 48656c6c6f")                       // NLEN is not the complement of LEN
                          .rejects("01 0500 faff 48656c")                           // a stored block cut short
                          .rejects("00 0200 fdff 4865")                             // no last block
                          .rejects("f348cdc9")                                      // a fixed block cut short
                          .rejects("05c0010900000080a0ad")                          // a dynamic header cut short
                          .rejects("f348cdc9c90700", 4)                             // more bytes than the room
                          .rejects("4b4c4a46a0510000", 270)                         // a match longer than the room
                          .rejects("4b044100")                                      // a distance to before the output
                          .rejects("4b1c0300")                                      // length symbol 286 never occurs
                          .rejects("4b043e00")                                      // distance symbol 30 never occurs
                          .rejects("05c0010900000080a0adfa7f84000000000000000000")  // three codes of one bit
                          .answer("malformed RFC 1951 streams"));
    return answers;
  }

 protected:
  [[nodiscard]] std::size_t packed_room(const Params& params, std::size_t size) const override {
    return compressed_room(params, size);
  }
  [[nodiscard]] std::size_t pack(std::span<const std::byte> in, std::span<std::byte> out) const override {
    return deflate::Compressor().compress(in, out, {});
  }
  [[nodiscard]] Params unpacking(const Params& params) const override {
    return complete({{"direction", "decompress"}, {"size", params.text("size")}});  // stateless, because every engine can do it
  }
};

DPUBENCH_OPERATOR(DeflateOperator);

}  // namespace
}  // namespace dpubench
