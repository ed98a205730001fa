// huffman: entropy coding alone, as RFC 1951 blocks without matches.

#include "operators/support/codecs/codec.hpp"
#include "operators/support/codecs/deflate_format.hpp"

namespace dpubench {
namespace {

class HuffmanOperator final : public CodecOperator {
 public:
  [[nodiscard]] const OperatorInfo& info() const override {
    static const OperatorInfo info = [] {
      OperatorInfo i = common_info("huffman", "encode", "decode");
      i.summary = "Huffman coding of single bytes, and the inverse";
      i.definition =
          "encode: in: the message; out: a raw DEFLATE stream (RFC 1951) that holds literals only. The portable engine writes "
          "one dynamic block, header included, with the code of at most 15 bits that has the least total length; zlib may split "
          "blocks and choose stored or fixed ones. decode: in: a portable engine's stream; out: the message; a malformed stream "
          "is rejected, and nothing is written past the room for its output. One operation is one whole message, including the "
          "counting of frequencies and the building of codes or tables.";
      i.reference_engine = "portable";
      i.sources = {"Huffman, A method for the construction of minimum-redundancy codes (1952)", "RFC 1951 section 3.2.7",
                   "Larmore and Hirschberg, A fast algorithm for optimal length-limited Huffman codes (1990)",
                   "DPUBench (2023), storage operators"};
      return i;
    }();
    return info;
  }

  [[nodiscard]] std::vector<KnownAnswer> known_answers(const Params& params) const override {
    if (packs(params)) return {};
    std::vector<KnownAnswer> answers;
    answers.push_back(Vectors(params)
                          .gives("01 0500 faff 48656c6c6f", "Hello")  // a stored block, RFC 1951 section 3.2.4
                          .gives("f348cdc9c90700", "Hello")           // a fixed block, section 3.2.6
                          // A dynamic block assembled bit by bit: code lengths a 1, b 2, end of block 2, no distances.
                          .gives("05c0010900000080a0adf67f442803", "abba")
                          .answer("RFC 1951 blocks of literals, by hand"));
    answers.push_back(Vectors(params)
                          .rejects("")
                          .rejects("07")                                            // block type 3 is reserved
                          .rejects("01 0500 0000 48656c6c6f")                       // NLEN is not the complement of LEN
                          .rejects("01 0500 faff 48656c")                           // a stored block cut short
                          .rejects("f348cdc9")                                      // a fixed block cut short
                          .rejects("f348cdc9c90700", 4)                             // more bytes than the room
                          .rejects("05c0010900000080a0adfa7f84000000000000000000")  // three codes of one bit
                          .answer("malformed RFC 1951 streams"));
    return answers;
  }

 protected:
  // zlib's deflateBound for parameters other than its defaults allows an eighth, a 64th and 5 bytes more than the input.
  [[nodiscard]] std::size_t packed_room(const Params&, std::size_t size) const override {
    return deflate::huffman_bound(size) + size / 64;
  }
  [[nodiscard]] std::size_t pack(std::span<const std::byte> in, std::span<std::byte> out) const override {
    return deflate::Compressor().huffman_block(in, out);
  }
};

DPUBENCH_OPERATOR(HuffmanOperator);

}  // namespace
}  // namespace dpubench
