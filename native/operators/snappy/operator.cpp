// snappy: compression in the Snappy format, and the inverse.

#include "operators/support/codecs/codec.hpp"
#include "operators/support/codecs/snappy_format.hpp"

namespace dpubench {
namespace {

class SnappyOperator final : public CodecOperator {
 public:
  [[nodiscard]] const OperatorInfo& info() const override {
    static const OperatorInfo info = [] {
      OperatorInfo i = common_info("snappy", "compress", "decompress");
      i.summary = "Snappy compression and decompression of a message";
      i.definition =
          "compress: in: the message; out: a raw Snappy stream (not the framing format) with its length in front; the engine "
          "chooses the copies. decompress: in: a stream; out: the message; a malformed stream is rejected, and nothing is "
          "written past the room for its output. One operation is one whole message.";
      i.reference_engine = "snappy";
      i.sources = {"Snappy compressed format description (snappy 1.1.9)", "DPUBench (2023), storage operators"};
      return i;
    }();
    return info;
  }

  [[nodiscard]] std::vector<KnownAnswer> known_answers(const Params& params) const override {
    if (packs(params)) return {};
    std::vector<KnownAnswer> answers;
    // These streams were assembled by hand from sections 1 and 2 of the format description. The third is the description's own
    // example of a copy that overlaps itself ("xababab").
    answers.push_back(
        Vectors(params)
            .gives("00", "")
            .gives("05 10 48656c6c6f", "Hello")                               // a literal
            .gives("07 08 786162 01 02", "xababab")                           // 1-byte offset: length 4, distance 2
            .gives("0a 04 6162 1e 0200", "ababababab")                        // 2-byte offset: length 8
            .gives("06 04 6162 0f 02000000", "ababab")                        // 4-byte offset: length 4
            .gives("40 00 61 fa 0100", std::string(64, 'a'))                  // 2-byte offset: length 63
            .gives("3d f0 3c" + std::string(122, '6'), std::string(61, 'f'))  // a literal with its length in one byte
            .answer("Snappy format, by hand"));
    answers.push_back(Vectors(params)
                          .rejects("")                          // no length
                          .rejects("80")                        // length cut short
                          .rejects("ffffffff7f 10 48656c6c6f")  // a length above 32 bits
                          .rejects("05 10 48656c6c")            // literal cut short
                          .rejects("06 10 48656c6c6f")          // ends before its length is reached
                          .rejects("04 10 48656c6c6f")          // goes on beyond its length
                          .rejects("05 00 61 01 00")            // distance 0
                          .rejects("05 00 61 01 02")            // a copy from before the output
                          .rejects("05 00 61 01")               // distance cut short
                          .rejects("05 10 48656c6c6f", 4)       // more bytes than the room
                          .answer("malformed Snappy streams"));
    return answers;
  }

 protected:
  [[nodiscard]] std::size_t packed_room(const Params&, std::size_t size) const override { return snappy_format::bound(size); }
  [[nodiscard]] std::size_t pack(std::span<const std::byte> in, std::span<std::byte> out) const override {
    GreedyMatches matches;
    return snappy_format::encode(in, out, matches);
  }
};

DPUBENCH_OPERATOR(SnappyOperator);

}  // namespace
}  // namespace dpubench
