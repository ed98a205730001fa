// The workload's stages without ports, for tests, on packets that lie in plain memory.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "datapath/frame/trailer.hpp"
#include "datapath/workloads/application-recognition/reply.hpp"
#include "datapath/workloads/workload.hpp"
#include "inputs/byte_order.hpp"
#include "native/capture_builder.hpp"
#include "native/temporary_directory.hpp"
#include "operators/support/built_engines.hpp"

namespace dpubench::datapath::recognition::test {

using Frame = std::vector<std::byte>;

inline Frame bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// Rules by place: 0, 3 echo; 1, 4 hash; 2, 5 compress.
inline constexpr std::string_view kRules =
    "1:/leave-it-alone/\n2:/HASH-ME[0-9]/\n3:/press(?:me|him)flat/i\n4:/alpha.omega/s\n5:/fingerprint/\n6:/squeeze!/\n";

/// Return a frame around an IP packet, with a trailer behind it.
inline Frame framed(const Frame& ip, std::uint64_t number = 0, std::uint32_t index = 0, std::string_view type = {}) {
  const std::string_view ether = !type.empty() ? type : std::to_integer<unsigned>(ip.at(0)) >> 4 == 4 ? "0800" : "86dd";
  Frame frame = dpubench::test::Bytes().hex("020000000001 020000000002").hex(ether).add(ip).get();
  frame.resize(frame_bytes(static_cast<std::uint32_t>(frame.size()), true));
  set_checksums(frame, parse(frame));
  write_trailer(frame, {.trial = 3, .number = number, .due_ns = 1000 + number, .frame = index});
  return frame;
}

inline Frame udp(std::string_view payload, std::uint16_t port = 1000) {
  return dpubench::test::Bytes().u16(port).u16(53).u16(8 + payload.size()).u16(0).add(bytes_of(payload)).get();
}
inline Frame tcp(std::string_view payload, std::uint32_t sequence = 1, std::uint16_t port = 1000, unsigned flags = 0x10) {
  return dpubench::test::Bytes()
      .u16(port)
      .u16(80)
      .u32(sequence)
      .u32(2)
      .u8(0x50)
      .u8(flags)
      .u16(65535)
      .u32(0)
      .add(bytes_of(payload))
      .get();
}
inline Frame udp_frame(std::string_view payload) {
  return framed(dpubench::test::ipv4(17, udp(payload)));
}
inline Frame tcp_frame(std::string_view payload, std::uint32_t sequence = 1, std::uint16_t port = 1000) {
  return framed(dpubench::test::ipv4(6, tcp(payload, sequence, port)));
}

/// A packet buffer.
class Packet {
 public:
  explicit Packet(const Frame& frame, std::size_t room = 2048) : buffer_(room) {
    mbuf_->buf_addr = buffer_.data();
    mbuf_->data_off = 128;
    mbuf_->buf_len = static_cast<std::uint16_t>(room);
    mbuf_->nb_segs = 1;
    rte_mbuf_refcnt_set(mbuf_.get(), 1);
    mbuf_->data_len = static_cast<std::uint16_t>(frame.size());
    mbuf_->pkt_len = mbuf_->data_len;
    std::copy(frame.begin(), frame.end(), buffer_.begin() + 128);
  }
  Packet(const Packet&) = delete;
  Packet& operator=(const Packet&) = delete;
  [[nodiscard]] rte_mbuf* mbuf() { return mbuf_.get(); }

 private:
  std::unique_ptr<rte_mbuf> mbuf_ = std::make_unique<rte_mbuf>();  ///< apart: it ends in an array without a size
  std::vector<std::byte> buffer_;
};

struct Served {
  Fate fate = Fate::kForward;
  Frame frame;
};

/// The files of a job, and the workload opened on them.
class Bench {
 public:
  explicit Bench(std::string_view rules = kRules)
      : store_({{"rules", {folder_.write("test.rules", rules)}}, {"corpus", {folder_.write("corpus.txt", corpus())}}}, 7) {}

  [[nodiscard]] static const Workload& workload() { return *find_workload("application-recognition"); }
  [[nodiscard]] inputs::Store& store() { return store_; }

  struct Wish {
    Params params{};
    std::map<std::string, std::string, std::less<>> engines{{"scan", "pcre2"}, {"hash", "portable"}, {"compress", "portable"}};
    std::vector<std::string> stages{"scan", "hash", "compress"};
    bool has_next = false;
    std::uint32_t max_frame = 1518;
  };
  std::unique_ptr<Pipeline> open(const Wish& wish) {
    static const std::vector<std::unique_ptr<Port>> two(2);  // only their number is read
    Setting setting;
    setting.params = workload().complete(wish.params);
    setting.engines = wish.engines;
    setting.stages = wish.stages;
    setting.max_frame = wish.max_frame;
    setting.ports = std::span(two).first(wish.has_next ? 2 : 1);
    return workload().open(setting, store_, dpubench::test::engines());
  }
  std::unique_ptr<Expectation> expect(const Params& params, std::span<const FrameTemplate> templates) {
    return workload().expect(params, store_, dpubench::test::engines(), templates);
  }

 private:
  static std::string corpus() {
    std::string text;
    while (text.size() < 100'000) text += "the quick brown fox jumps over the lazy dog " + std::to_string(text.size()) + '\n';
    return text;
  }
  dpubench::test::TemporaryDirectory folder_;
  inputs::Store store_;
};

/// One core of a server.
class Core {
 public:
  explicit Core(Pipeline& pipeline) : stages_(pipeline.open(0)) {
    for (const auto& stage : stages_) stage->begin(false);
  }
  /// Run frames through the stages in batches. @param room  bytes of a packet buffer, with 128 before the frame
  std::vector<Served> serve(std::span<const Frame> frames, std::uint32_t burst = 32, std::size_t room = 16384) {
    std::vector<Served> served;
    for (std::size_t at = 0; at < frames.size(); at += burst) {
      const std::span<const Frame> some = frames.subspan(at, std::min<std::size_t>(burst, frames.size() - at));
      std::vector<std::unique_ptr<Packet>> packets;
      auto batch = std::make_unique<Batch>();
      for (const Frame& frame : some) {
        packets.push_back(std::make_unique<Packet>(frame, room));
        batch->packets[batch->n] = packets.back()->mbuf();
        batch->parsed[batch->n] = parse(batch->frame(batch->n));
        batch->fate[batch->n] = Fate::kForward;
        ++batch->n;
      }
      for (const auto& stage : stages_) stage->run(*batch);
      EXPECT_EQ(batch->n, some.size());
      for (std::uint32_t i = 0; i < batch->n; ++i) {
        const auto frame = batch->frame(i);
        EXPECT_EQ(batch->packets[i]->pkt_len, frame.size());
        served.push_back({batch->fate[i], Frame(frame.begin(), frame.end())});
      }
    }
    return served;
  }
  Served serve_one(const Frame& frame, std::size_t room = 16384) { return serve(std::span(&frame, 1), 1, room).at(0); }
  nlohmann::json collect() {
    nlohmann::json into = nlohmann::json::object();
    for (const auto& stage : stages_) stage->collect(into, "");
    return into;
  }

 private:
  std::vector<std::unique_ptr<Stage>> stages_;
};

/// Return the class that a reply shows: echo if it is as long as the sent frame, else hash if its payload has 32 bytes, else
/// compress.
inline Class class_of_reply(const Frame& sent, const Served& served) {
  if (served.frame.size() == sent.size()) return Class::kEcho;
  const Parsed parsed = parse(served.frame);
  return parsed.end - parsed.payload == 32 ? Class::kHash : Class::kCompress;
}

}  // namespace dpubench::datapath::recognition::test
