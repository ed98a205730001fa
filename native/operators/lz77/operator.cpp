// lz77: finds repeated strings and writes them as tokens, and the inverse, without entropy coding.

#include "operators/support/codecs/codec.hpp"
#include "operators/support/codecs/lz4_block.hpp"

namespace dpubench {
namespace {

class Lz77Operator final : public CodecOperator {
 public:
  [[nodiscard]] const OperatorInfo& info() const override {
    static const OperatorInfo info = [] {
      OperatorInfo i = common_info("lz77", "encode", "decode");
      i.summary = "LZ77: match finding and token emission, and the inverse";
      i.definition =
          "encode: in: the message; out: one block of the LZ4 block format: a sequence of tokens, each a run of literals and a "
          "match of at least four bytes at most 65,535 bytes back. The engine chooses the matches. decode: in: a block; out: the "
          "message; a malformed block is rejected, and nothing is written past the room for its output. One operation is one "
          "whole message.";
      i.reference_engine = "portable";
      i.sources = {"Ziv and Lempel, A universal algorithm for sequential data compression (1977)",
                   "LZ4 Block Format Description (lz4 1.9.4)", "DPUBench (2023), storage operators"};
      return i;
    }();
    return info;
  }

  [[nodiscard]] std::vector<KnownAnswer> known_answers(const Params& params) const override {
    if (packs(params)) return {};
    std::vector<KnownAnswer> answers;
    // These blocks were assembled by hand from the format description.
    answers.push_back(
        Vectors(params)
            .gives("00", "")                                                      // an empty input is a single token
            .gives("50 48656c6c6f", "Hello")                                      // literals only
            .gives("f0 00 616161616161616161616161616161", std::string(15, 'a'))  // 15 literals: one more length byte
            // One literal, a match of 4 + 15 + 1 bytes that overlaps itself at distance 1, five last literals.
            .gives("1f 61 0100 01 50 6162636465", std::string(21, 'a') + "abcde")
            // Eight literals, a match of 8 at distance 8, then twelve literals.
            .gives("84 6162636465666768 0800 c0 4142434445464748494a4b4c", "abcdefghabcdefghABCDEFGHIJKL")
            .answer("LZ4 block format, by hand"));
    // Distance 0, which the description calls invalid, is missing here, because lz4 1.9.4 accepts it.
    answers.push_back(Vectors(params)
                          .rejects("")                                   // no token
                          .rejects("50 48656c6c")                        // literals cut short
                          .rejects("f0")                                 // length cut short
                          .rejects("14 61 0200 50 6162636465")           // a match from before the output
                          .rejects("14 61 01")                           // distance cut short
                          .rejects("1f 61 0100 ff")                      // match length cut short
                          .rejects("50 48656c6c6f", 4)                   // more bytes than the room
                          .rejects("1f 61 0100 ff ff 00 50 6162636465")  // a match longer than the room
                          .answer("malformed LZ4 blocks"));
    return answers;
  }

 protected:
  [[nodiscard]] std::size_t packed_room(const Params&, std::size_t size) const override { return lz4::bound(size); }
  [[nodiscard]] std::size_t pack(std::span<const std::byte> in, std::span<std::byte> out) const override {
    GreedyMatches matches;
    return lz4::encode(in, out, matches);
  }
};

DPUBENCH_OPERATOR(Lz77Operator);

}  // namespace
}  // namespace dpubench
