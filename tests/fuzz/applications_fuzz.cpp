// Feeds the parsers of wire data in the applications: URLs and HTTP requests, ESP packets, frames for a router, rules of an IPS.
//
// The first byte selects the parser that gets the rest.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "applications/ips/flows.hpp"
#include "applications/ips/literals.hpp"
#include "applications/ipsec/esp.hpp"
#include "applications/l3-forwarding/router.hpp"
#include "check.hpp"
#include "packet/http.hpp"
#include "packet/stream.hpp"
#include "packet/url.hpp"

using namespace dpubench::applications;
using namespace dpubench::packet;

namespace {

using Bytes = std::span<const std::byte>;

/// Check that a normal form has no detours and no uppercase letters.
void url(std::string_view text) {
  const std::string path = normal_path(text);
  FUZZ_CHECK(path.find("//") == std::string::npos);
  FUZZ_CHECK(path.find("/../") == std::string::npos && path.find("/./") == std::string::npos);
  Url parsed;
  if (parse_url(text, parsed)) {
    FUZZ_CHECK(parsed.port <= 65535);
    for (const std::string* part : {&parsed.scheme, &parsed.host}) {
      FUZZ_CHECK(std::none_of(part->begin(), part->end(), [](char c) { return c >= 'A' && c <= 'Z'; }));
    }
  }
  Url target;
  parse_target(text, target);
  FUZZ_CHECK(percent_decoded(text).size() <= text.size());
}

/// Check that the parts of a request lie in its text, and that cutting a stream in other places finds the same requests.
void requests(std::string_view text) {
  if (const auto request = parse_request(text)) {
    FUZZ_CHECK(request->target.data() >= text.data() && request->target.size() <= text.size());
    FUZZ_CHECK(request->host.size() <= text.size());
  }
  const auto found = [&](std::size_t step) {
    Requests reader;
    std::vector<std::string> all;
    for (std::size_t at = 0; at < text.size(); at += step) {
      reader.add(text.substr(at, step), [&](std::string_view request) { all.emplace_back(request); });
    }
    return all;
  };
  const std::vector<std::string> whole = found(text.size() + 1);
  for (const std::size_t step : {std::size_t{1}, std::size_t{7}}) FUZZ_CHECK(found(step) == whole);
}

/// Feed segments in any order. Each has a place (two bytes), a flag with a length, and text. No octet may be delivered twice.
void stream(Bytes input) {
  Stream direction;
  std::size_t delivered = 0;
  std::size_t given = 0;
  const auto count = [&](std::string_view text) { delivered += text.size(); };
  while (input.size() >= 3) {
    const auto at = std::to_integer<std::uint32_t>(input[0]) << 8U | std::to_integer<std::uint32_t>(input[1]);
    const std::size_t length = std::min<std::size_t>(std::to_integer<std::size_t>(input[2]) & 0x7fU, input.size() - 3);
    direction.add(at << 4U, (input[2] & std::byte{0x80}) != std::byte{0},
                  {reinterpret_cast<const char*>(input.data()) + 3, length}, count);
    given += length;
    input = input.subspan(3 + length);
  }
  direction.end(count);
  FUZZ_CHECK(delivered <= given);
}

SaKeys keys_of(Algorithm algorithm) {
  SaKeys keys;
  keys.algorithm = algorithm;
  keys.spi = 0x1234;
  keys.cipher.assign(16, std::byte{7});
  return keys;
}

/// Check that a receiver accepts a sent packet once, refuses it with a changed bit, and refuses packets that were never sent.
void esp(Bytes input) {
  if (input.empty()) return;
  const auto algorithm = (input[0] & std::byte{1}) != std::byte{0} ? Algorithm::kGcm : Algorithm::kCbcHmac;
  const std::uint8_t flip = std::to_integer<std::uint8_t>(input[0]) >> 1U;
  input = input.subspan(1);
  std::vector<std::byte> received;
  Inbound(keys_of(algorithm)).open(input, received);
  FUZZ_CHECK(received.empty());  // nobody can guess an ICV of 16 bytes
  if (input.size() < 20 || input.size() > 2000) return;
  std::vector<std::byte> packet(input.begin(), input.end());
  packet[0] = std::byte{0x45};  // an IPv4 header with the right length
  packet[2] = static_cast<std::byte>(packet.size() >> 8U);
  packet[3] = static_cast<std::byte>(packet.size());
  Outbound sender(keys_of(algorithm));
  std::vector<std::byte> sent;
  sender.protect(packet, sent);
  FUZZ_CHECK(sent.size() > kOuterHeader + kEspHeader);
  const Bytes outer = Bytes(sent).subspan(kOuterHeader);
  std::vector<std::byte> damaged(outer.begin(), outer.end());
  damaged[flip % damaged.size()] ^= std::byte{0x10};
  Inbound receiver(keys_of(algorithm));
  FUZZ_CHECK(receiver.open(damaged, received) != Verdict::kAccepted && received.empty());
  FUZZ_CHECK(receiver.open(outer, received) == Verdict::kAccepted && received == packet);
  FUZZ_CHECK(receiver.open(outer, received) == Verdict::kReplayed);
}

void router(Bytes frame) {
  static Router routes({{.address = {}, .length = 0, .next_hop = 1}, {.address = {198, 19}, .length = 16, .next_hop = 2}},
                       {{.address = {}, .length = 0, .next_hop = 3}});
  std::vector<std::byte> out;
  const Outcome outcome = routes.forward(frame, 1, out);
  FUZZ_CHECK(static_cast<std::size_t>(outcome) < kOutcomes);
  FUZZ_CHECK((outcome == Outcome::kForwarded) == !out.empty());
  FUZZ_CHECK(out.size() <= frame.size() + ethernet::kHeader);
  Decoded decoded;
  const NetworkHeader header = network_header(frame);
  if (header.at <= frame.size() && decode(frame.subspan(header.at), decoded)) {
    FUZZ_CHECK(decoded.payload.size() <= frame.size());
  }
}

/// Check that a required literal is lowercase, and that the search finds it in a text that contains it.
void literal(std::string_view text) {
  const dpubench::inputs::Rule rule{.id = 1, .pattern = std::string(text), .flags = {}, .line = 1};
  const std::string needed = required_literal(rule);
  FUZZ_CHECK(std::none_of(needed.begin(), needed.end(), [](char c) { return c >= 'A' && c <= 'Z'; }));
  const std::vector<std::string> all = {needed, "other"};
  std::vector<bool> found(2);
  Literals(all).find("before" + needed + "behind", found);
  FUZZ_CHECK(found[0]);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const Bytes rest = std::as_bytes(std::span(data, size)).subspan(1);
  const std::string_view text(reinterpret_cast<const char*>(rest.data()), rest.size());
  switch (data[0] % 6) {
    case 0:
      url(text);
      break;
    case 1:
      requests(text);
      break;
    case 2:
      stream(rest);
      break;
    case 3:
      esp(rest);
      break;
    case 4:
      router(rest);
      break;
    default:
      literal(text);
  }
  return 0;
}
