// Tests of the rules that all applications share, and of each application.

#include "applications/testing.hpp"

#include <zlib.h>

#include "applications/frames.hpp"
#include "inputs/random.hpp"

namespace dpubench::applications::test {
namespace {

constexpr std::string_view kRoutes = "prefix,next_hop_id\n198.19.0.0/16,5\n198.19.0.0/24,9\n198.18.0.0/15,7\n";
constexpr std::string_view kRules = "1:/attack[0-9]+/\n2:/etc.passwd/i\n4:/dropme now/\n3:/x?y*z/\n";

TEST(Applications, AreAllThereOrSayWhyNot) {
  std::vector<std::string> names;
  for (const ApplicationSlot& slot : catalog().all()) {
    names.push_back(slot.name);
    if (slot.module == nullptr) {
      EXPECT_FALSE(slot.reason.empty());
    } else {
      EXPECT_EQ(slot.module->info().name, slot.name);
      EXPECT_FALSE(slot.module->info().operators.empty());
    }
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"file-compression", "file-integrity", "ips", "ipsec", "l3-forwarding", "url-filter"}));
  EXPECT_EQ(catalog().describe().size(), names.size());
  expect_error([] { (void)catalog().find("l4-forwarding"); }, {"no application 'l4-forwarding'", "l3-forwarding"});
}

TEST(Applications, RefuseJobsThatAreNone) {
  const auto refusal = [](const nlohmann::json& job) { return [job] { (void)parse_application_job(job.dump()); }; };
  const nlohmann::json right = {{"schema", kJobSchema}, {"application", "ips"}, {"inputs", {{"capture", {"/x"}}}}};
  EXPECT_EQ(parse_application_job(right.dump()).application, "ips");
  for (const auto& [key, value] : std::vector<std::pair<const char*, nlohmann::json>>{{"schema", "dpubench.job/1"},
                                                                                      {"inputs", {{"capture", "x"}}},
                                                                                      {"limit_bytes", -1},
                                                                                      {"unknown", 1},
                                                                                      {"application", ""}}) {
    nlohmann::json wrong = right;
    wrong[key] = value;
    expect_error(refusal(wrong), {key});
  }
  expect_error([] { (void)parse_application_job("{"); }, {"the job"});
}

TEST(Applications, RefuseInputsThatTheyDoNotReadOrLack) {
  expect_error([] { OneRun("l3-forwarding").input("routes4", kRoutes).job(); }, {"inputs/capture"});
  expect_error([] { OneRun("l3-forwarding").input("routes4", kRoutes).capture({}).input("rules", "1:/x/\n").job(); },
               {"inputs/rules", "there is no such input of l3-forwarding"});
  expect_error([] { OneRun("l3-forwarding").input("routes4", kRoutes).input("capture", "no capture at all, whatever").job(); },
               {"is not a capture"});
  expect_error([] { OneRun("l3-forwarding").input("routes4", kRoutes).capture({}).job(); }, {"its input holds no record"});
}

TEST(Applications, SayWhatTheyDid) {
  const nlohmann::json event = OneRun("l3-forwarding").input("routes4", kRoutes).capture({ethernet(udp4("hello"))}).job();
  EXPECT_EQ(event["event"], "traced");
  EXPECT_EQ(event["records"], 1);
  EXPECT_EQ(event["verified"], true);
  EXPECT_EQ(event["facts"]["forwarded"], 1);
  EXPECT_EQ(event["output_digest"].get<std::string>().size(), 64U);
  EXPECT_EQ(event, OneRun("l3-forwarding").input("routes4", kRoutes).capture({ethernet(udp4("hello"))}).job());
}

TEST(Applications, SayWhichParametersExistWithoutRunning) {
  const auto reasons = [](std::string_view question) {
    std::vector<std::string> all;
    const nlohmann::json event = check_applications(catalog(), question);
    for (const nlohmann::json& answer : event.at("combinations")) all.push_back(answer.at("invalid"));
    return all;
  };
  EXPECT_EQ(
      reasons(
          R"([{"application": "l3-forwarding", "params": {}}, {"application": "l3-forwarding", "params": {"routes": "16"}}])"),
      (std::vector<std::string>{"", ""}));
  const auto wrong =
      reasons(R"([{"application": "l3-forwarding", "params": {"routes": "many"}}, {"application": "l3", "params": {}},
                                 {"application": "l3-forwarding", "params": {"routes": "16777217"}}])");
  ASSERT_EQ(wrong.size(), 3U);
  EXPECT_NE(wrong[0].find("'routes' must be a whole number, not 'many'"), std::string::npos) << wrong[0];
  EXPECT_NE(wrong[1].find("there is no application 'l3'"), std::string::npos) << wrong[1];
  EXPECT_NE(wrong[2].find("routes must be from 0 to 16777216"), std::string::npos) << wrong[2];
  for (const char* question : {"", "{", "[1]", R"([{"application": "ips"}])", R"([{"application": "ips", "params": {"a": 1}}])"})
    expect_error([&] { check_applications(catalog(), question); }, {"the question"});
}

TEST(L3Forwarding, ForwardsWhatIsRightAndNothingElse) {
  Packet bad_checksum = udp4("x");
  bad_checksum[10] ^= std::byte{1};
  Packet too_long = udp4("x");
  too_long.pop_back();
  Packet options = udp4("x");
  options[0] = std::byte{0x44};
  const Packet six = Bytes()
                         .u32(0x60000000)
                         .u16(4)
                         .u8(59)
                         .u8(9)
                         .hex("20010db8 00000000 00000000 00000001 20010db8 00000000 00000000 00000002")
                         .u32(1)
                         .get();
  Packet six_expired = six;
  six_expired[7] = std::byte{1};
  OneRun run("l3-forwarding");
  run.input("routes4", kRoutes)
      .capture({ethernet(udp4("one")), ethernet(udp4("two"), "0800", "8100 0005"),
                ethernet(udp4("three"), "0800", "88a8 0005 8100 0006"), ethernet(six, "86dd"), ethernet(six_expired, "86dd"),
                ethernet(udp4("x"), "0806"), ethernet(bad_checksum), ethernet(too_long), ethernet(options),
                ethernet(udp4("a packet longer than a header"), "86dd"), ethernet(ip4({}, {.ttl = 1})),
                ethernet(ip4({}, {.source = "7f000001"})), ethernet(ip4({}, {.destination = "e0000001"})), hex("0200"),
                ethernet({})});
  const std::string& output = run.go();
  EXPECT_EQ(run.fact("forwarded"), 4U);
  EXPECT_EQ(run.fact("expired"), 2U);
  EXPECT_EQ(run.fact("not_ip"), 1U);
  EXPECT_EQ(run.fact("checksum"), 1U);
  EXPECT_EQ(run.fact("length"), 1U);
  EXPECT_EQ(run.fact("header"), 1U);
  EXPECT_EQ(run.fact("version"), 1U);
  EXPECT_EQ(run.fact("address"), 2U);
  EXPECT_EQ(run.fact("short"), 2U);
  // 198.19.0.1 lies in the /24. The list names that route's next hop second. The default route has the first number.
  EXPECT_NE(output.find("\n1,3,95\n"), std::string::npos) << output.substr(output.size() - 400);
  EXPECT_NE(output.find("0,1,44\n"), std::string::npos);
}

TEST(L3Forwarding, ReadsPcapngInEitherByteOrder) {
  for (const bool big : {false, true}) {
    Packet file = join(section_header(big), interface_block(big, 1, 0));
    for (std::uint64_t i = 0; i < 3; ++i) file = join(file, enhanced_packet(big, 0, i, ethernet(udp4("hello"))));
    OneRun run("l3-forwarding");
    run.input("routes4", kRoutes).input("capture", text_of(file)).go();
    EXPECT_EQ(run.fact("forwarded"), 3U);
    file[file.size() - 80] = std::byte{1};
    for (std::size_t bytes = 24; bytes < file.size(); bytes += 3) {
      const std::span<const std::byte> part = std::span<const std::byte>(file).first(bytes);
      FrameReader reader(part, "part");
      FrameReader::Frame frame;
      try {
        while (reader.next(frame)) EXPECT_LE(frame.bytes.size(), file.size());
      } catch (const Error&) {
        continue;  // the reader refuses impossible records
      }
    }
  }
}

TEST(L3Forwarding, TakesSomeRoutesOrAll) {
  std::string many = "prefix,next_hop_id\n";
  for (int i = 0; i < 200; ++i) many += "10." + std::to_string(i) + ".0.0/16," + std::to_string(i) + "\n";
  for (const char* wanted : {"0", "20"}) {
    OneRun run("l3-forwarding", {{"routes", wanted}});
    run.input("routes4", many).capture({ethernet(ip4({}, {.destination = "0a050001"}))});
    run.go();
    EXPECT_EQ(run.fact("forwarded"), 1U);
  }
}

TEST(L3Forwarding, FindsThatItsOutputWasChanged) {
  OneRun run("l3-forwarding");
  run.input("routes4", kRoutes).capture({ethernet(udp4("one"))});
  run.go();
  run.application().output[60] ^= std::byte{1};
  expect_error([&] { run.application().verify(run.task()); }, {"the output is wrong"});
}

TEST(Ipsec, WhatComesOutIsWhatWentIn) {
  NEED_APPLICATION("ipsec");
  std::vector<Packet> frames;
  for (unsigned i = 0; i < 200; ++i) {
    const std::string destination = "c613000" + std::to_string(i % 10);
    frames.push_back(ethernet(ip4(Packet(i * 7 % 1400), {.destination = destination})));
  }
  for (const char* algorithm : {"aes-gcm", "aes-cbc-hmac-sha-256-128"}) {
    for (const char* bits : {"128", "256"}) {
      OneRun run("ipsec", {{"algorithm", algorithm}, {"key_bits", bits}, {"tunnels", "4"}});
      run.capture(frames).go();
      EXPECT_EQ(run.fact("accepted"), 200U);
      EXPECT_EQ(run.fact("replayed"), 3U);
      EXPECT_EQ(run.fact("tunnels"), 4U);
      run.application().output[60 + 24] ^= std::byte{1};
      expect_error([&] { run.application().verify(run.task()); }, {"ESP packet 1"});
    }
  }
}

TEST(FileCompression, GivesWhatGzipReads) {
  NEED_APPLICATION("file-compression");
  std::string text;
  for (int i = 0; i < 9000; ++i) text += "line " + std::to_string(i * i) + "\n";
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{4096}, text.size()}) {
    OneRun run("file-compression", {{"chunk", "4096"}});
    run.input("corpus", std::string_view(text).substr(0, bytes), "a.txt");
    const std::string output = run.go();
    std::string inflated(bytes + 1, 0);
    z_stream stream{};
    ASSERT_EQ(inflateInit2(&stream, 31), Z_OK);
    std::string in = output;
    stream.next_in = reinterpret_cast<unsigned char*>(in.data());
    stream.avail_in = static_cast<uInt>(in.size());
    stream.next_out = reinterpret_cast<unsigned char*>(inflated.data());
    stream.avail_out = static_cast<uInt>(inflated.size());
    EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
    EXPECT_EQ(stream.total_out, bytes);
    inflateEnd(&stream);
    EXPECT_EQ(run.application().records, (bytes + 4095) / 4096);
    run.application().output.back() ^= std::byte{1};
    expect_error([&] { run.application().verify(run.task()); }, {"the CRC or the length"});
  }
}

TEST(FileCompression, KeepsToItsLimit) {
  NEED_APPLICATION("file-compression");
  OneRun run("file-compression");
  run.input("corpus", std::string(10'000, 'x')).limit(1000).go();
  EXPECT_EQ(run.application().input_bytes, 1000U);
}

TEST(FileIntegrity, WritesAManifestAndChecksIt) {
  NEED_APPLICATION("file-integrity");
  OneRun run("file-integrity", {{"block", "512"}});
  run.input("corpus", "abc", "one").input("corpus", std::string(5000, 'x'), "two");
  const std::string& output = run.go();
  // The example in FIPS 180-4.
  EXPECT_TRUE(output.starts_with("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  "));
  EXPECT_NE(output.find("/two: OK\n"), std::string::npos);
  EXPECT_EQ(run.application().records, 4U);
  EXPECT_EQ(run.application().input_bytes, 2 * 5003U);
  run.folder().write("corpus/two", std::string(5000, 'y'));
  expect_error([&] { run.application().verify(run.task()); }, {"is wrong"});
}

TEST(Ips, GivesAVerdictForEachConnection) {
  NEED_APPLICATION("ips");
  OneRun run("ips");
  run.input("rules", kRules)
      .capture({ethernet(udp4("an attack42 in the open")), ethernet(tcp4("", 99, 2)), ethernet(tcp4("GET /a/../%65tc/pass", 100)),
                ethernet(tcp4("wd?q=1 HTTP/1.1\r\nHost: EXAMPLE.org\r\n\r\n", 120)), ethernet(tcp4("", 5, 2, 2000)),
                ethernet(tcp4("me now", 10, 16, 2000)), ethernet(tcp4("drop", 6, 16, 2000)),
                ethernet(tcp4("nothing", 1, 16, 3000)), ethernet(hex("4500"))});
  const std::string& output = run.go();
  EXPECT_NE(output.find("udp 198.18.0.1:1000 198.19.0.1:53 1 23 alert 1\n"), std::string::npos) << output;
  EXPECT_NE(output.find("tcp 198.18.0.1:1000 198.19.0.1:80 3 58 alert 2\n"), std::string::npos) << output;
  EXPECT_NE(output.find("tcp 198.18.0.1:2000 198.19.0.1:80 3 10 drop 4\n"), std::string::npos) << output;
  EXPECT_NE(output.find("tcp 198.18.0.1:3000 198.19.0.1:80 1 7 pass\n"), std::string::npos) << output;
  EXPECT_EQ(run.fact("requests"), 1U);
  run.application().output[10] ^= std::byte{1};
  expect_error([&] { run.application().verify(run.task()); }, {"but the reference says"});
}

TEST(Ips, FindsWhatLiesAcrossSegmentsInAnyOrder) {
  NEED_APPLICATION("ips");
  // The segments of a stream of 9000 octets are shuffled, doubled and overlapping. The searched text lies across pieces.
  std::string stream;
  while (stream.size() < 9000) stream += "filler " + std::to_string(stream.size()) + " ";
  for (const std::size_t at : {2040U, 4090U, 8000U}) stream.replace(at, 8, "attack77");
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    std::vector<Packet> frames{ethernet(tcp4("", 0xfffff000, 2))};
    inputs::Random random(seed);
    std::vector<std::size_t> starts;
    for (std::size_t at = 0; at < stream.size(); at += 100) starts.push_back(at);
    for (std::size_t i = starts.size() - 1; i > 0; --i) std::swap(starts[i], starts[random.below(i + 1)]);
    for (const std::size_t at : starts) {
      std::string piece = stream.substr(at, 100 + random.below(150));
      frames.push_back(ethernet(tcp4(piece, static_cast<std::uint32_t>(0xfffff001 + at))));
      if (random.below(4) == 0) frames.push_back(frames.back());
    }
    OneRun run("ips");
    EXPECT_NE(run.input("rules", kRules).capture(frames).go().find(" alert 1\n"), std::string::npos);
  }
}

TEST(UrlFilter, BlocksByDomainAndByRule) {
  NEED_APPLICATION("url-filter");
  OneRun run("url-filter");
  run.input("corpus",
            "http://www.Bad.example./x\nhttps://user@good.example:8080/%65tc/./passwd?a=1\nnonsense\nhttp://good.example\n"
            "http://notbad.example/?q=attack1%2B2\nhttp://bad.example:99999/\nHTTP://[2001:db8::1]:80/..//a/?b+c#d\n")
      .input("domains", "# a comment\nbad.example\nother.example\n")
      .input("rules", kRules);
  EXPECT_EQ(run.go(),
            "blocked bad.example\nblocked rule 2\nrefused no URL\npassed good.example/\nblocked rule 1\nrefused no URL\n"
            "passed [2001:db8::1]/a/?b c\n");
}

TEST(UrlFilter, TakesRequestsOfACapture) {
  NEED_APPLICATION("url-filter");
  OneRun run("url-filter", {{"source", "requests"}});
  run.input("rules", "1:/secret/\n")
      .capture({ethernet(tcp4("GET /secret HTTP/1.1\r\nHost: a.example\r\n\r\n", 1)),
                ethernet(tcp4("POST http://b.example/x HTTP/1.1\r\n\r\n", 1)), ethernet(udp4("GET / HTTP/1.1\r\n"))});
  run.go();
  EXPECT_EQ(run.application().records, 2U);
}

}  // namespace
}  // namespace dpubench::applications::test
