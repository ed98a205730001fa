// Transfers: both ends with every protection, wrong content, and ends that go away.
#include <gtest/gtest.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "expect_error.hpp"
#include "link/content.hpp"
#include "link/kernel_tls.hpp"
#include "link/protection.hpp"
#include "link/tls.hpp"
#include "link/transfer.hpp"
#include "link_ends.hpp"

namespace {

using namespace dpubench::link;
using namespace dpubench::test;

using TransferCase = std::pair<std::uint64_t, Protection>;
class Transfer : public testing::TestWithParam<TransferCase> {};

TEST_P(Transfer, IsMeasuredOnVerifiedContent) {
  const auto [bytes, protection] = GetParam();
  if (!lack(protection).empty()) GTEST_SKIP() << lack(protection);
  const LinkJob job = transfer_job(Role::kClient, bytes, protection);
  const ContentFile file(job.seed, bytes);
  Transferred sent;
  Phase phase;
  const auto protect = [p = protection](Role role, Socket& socket) {
    struct Protected {
      std::unique_ptr<Tls> tls;
      std::unique_ptr<Channel> channel;
    } made;
    if (p != Protection::kPlain) {
      made.tls = Tls::make(role, p);
      made.channel = made.tls->open(socket);
    }
    return made;
  };
  const Transferred received = with_both(
      [&](Socket& socket) {
        const auto made = protect(Role::kServer, socket);
        Phase server_phase;
        Channel& channel = made.channel ? *made.channel : socket;
        return receive_files(channel, transfer_job(Role::kServer, job.file_bytes), socket.watch(), server_phase);
      },
      [&](Socket& socket) {
        const auto made = protect(Role::kClient, socket);
        Channel& channel = made.channel ? *made.channel : socket;
        sent = send_files(channel, job, file, phase);
        const bool plain = job.protection == Protection::kPlain;
        EXPECT_EQ(channel.cipher(), plain ? "" : "TLS_AES_128_GCM_SHA256");
        EXPECT_EQ(channel.path().substr(0, 12), plain                                ? "sendfile"
                                                : job.protection == Protection::kTls ? "SSL_write"
                                                                                     : "SSL_sendfile");
      });
  EXPECT_GE(sent.files, 1U);
  EXPECT_EQ(sent.bytes, sent.files * bytes);
  EXPECT_EQ(sent.verified_bytes, bytes);
  EXPECT_EQ(received.files, sent.files);
  EXPECT_EQ(received.bytes, sent.bytes);
  EXPECT_EQ(received.verified_bytes, bytes);
  EXPECT_GE(sent.taken.elapsed_ns, 20'000'000U);
  EXPECT_GT(sent.taken.cpu_ns, 0U);
  EXPECT_GT(received.taken.cpu_ns, 0U);
}

INSTANTIATE_TEST_SUITE_P(Plain, Transfer,
                         testing::Values(TransferCase{1, Protection::kPlain}, TransferCase{4095, Protection::kPlain},
                                         TransferCase{4097, Protection::kPlain}, TransferCase{65537, Protection::kPlain},
                                         TransferCase{(8U << 20) + 3, Protection::kPlain}));
INSTANTIATE_TEST_SUITE_P(Encrypted, Transfer,
                         testing::Values(TransferCase{1, Protection::kTls}, TransferCase{(8U << 20) + 3, Protection::kTls},
                                         TransferCase{1, Protection::kKtls}, TransferCase{(8U << 20) + 3, Protection::kKtls}));

/// Expect that the server refuses what a client sends.
void expect_refused(const std::vector<std::byte>& sent, std::uint64_t file_bytes, std::string_view phase,
                    std::initializer_list<std::string_view> parts) {
  Phase told;
  with_both(
      [&](Socket& socket) {
        expect_error([&] { receive_files(socket, transfer_job(Role::kServer, file_bytes), socket.watch(), told); }, parts);
      },
      [&](Socket& socket) {
        try {
          socket.send_all(sent);
          socket.end_sending();
          (void)socket.receive_note();
        } catch (const dpubench::Error&) {  // the server left
        }
      });
  EXPECT_EQ(told.name(), phase);
}

TEST(TransferServer, NoticesWrongContent) {
  constexpr std::size_t kBytes = 200'000;
  const std::vector<std::byte> right = content(1, kBytes);
  for (const std::size_t at : {std::size_t{0}, std::size_t{65536}, std::size_t{100'001}, kBytes - 1}) {
    std::vector<std::byte> wrong = right;
    wrong[at] ^= std::byte{1};
    expect_refused(wrong, kBytes, "verify", {"byte " + std::to_string(at) + " of file 1 is wrong"});
  }
  for (const std::size_t at : {std::size_t{4095}, kBytes - 4096}) {
    std::vector<std::byte> twice = right;
    twice.insert(twice.end(), right.begin(), right.end());
    twice[kBytes + at] ^= std::byte{1};
    expect_refused(twice, kBytes, "measure", {"byte " + std::to_string(at) + " of file 2 is wrong"});
  }
}

TEST(TransferServer, NoticesThatTheClientWentAway) {
  std::vector<std::byte> part = content(1, 1000);
  expect_refused(part, 1001, "verify", {"1 bytes before the end of the first file"});
  expect_refused(part, 1000, "measure", {"after 0 timed files, before it was done"});
  const std::vector<std::byte> more = part;
  part.insert(part.end(), more.begin(), more.end());
  part.push_back(part.front());
  expect_refused(part, 1000, "measure", {"after 1 timed files, before it was done"});
}

TEST(TransferClient, NoticesThatTheServerDidNotGetAll) {
  const ContentFile file(1, 1000);
  Phase phase;
  with_both(
      [](Socket& socket) {
        std::vector<std::byte> room(1000);
        socket.receive_all(room);
        socket.send_note("received 1 files, 999 bytes");
      },
      [&](Socket& socket) {
        expect_error([&] { send_files(socket, transfer_job(Role::kClient, 1000), file, phase); },
                     {"'received 1 files, 999 bytes' instead of 'received 1 files, 1000 bytes'"});
      });
}

TEST(Content, IsComparedInPartsOfAnySize) {
  const std::vector<std::byte> right = content(3, 150'000);
  for (const std::size_t step : {std::size_t{1}, std::size_t{4096}, std::size_t{65537}, right.size()}) {
    ContentCheck check(3, right.size());
    for (int file = 1; file <= 3; ++file) {
      for (std::size_t at = 0; at < right.size(); at += step)
        check.take(Bytes(right).subspan(at, std::min(step, right.size() - at)));
      EXPECT_EQ(check.files(), static_cast<std::uint64_t>(file));
      EXPECT_EQ(check.left(), right.size());
    }
  }
}

TEST(Content, DoesNotFillTheMemory) {
  expect_error([] { ContentFile(1, std::uint64_t{1} << 60); }, {"too large for this machine", "smaller file_bytes"});
}

TEST(TlsHandshake, FailsWithAnotherProtocol) {
  if (!tls_lack(Protection::kTls).empty()) GTEST_SKIP() << tls_lack(Protection::kTls);
  const auto tls = Tls::make(Role::kServer, Protection::kTls);
  with_both(
      [&](Socket& socket) {
        expect_error([&] { tls->open(socket); }, {"cannot shake hands with", "TLS: "});
      },
      [](Socket& socket) { socket.send_note("GET / HTTP/1.1\r\n\r\n"); });
  with_both([&](Socket& socket) { expect_error([&] { tls->open(socket); }, {"the other end closed the connection"}); },
            [](Socket& socket) { socket.end_sending(); });
}

TEST(KernelTls, IsProvenBeforeItIsUsed) {
  if (!tls_lack(Protection::kKtls).empty()) GTEST_SKIP() << tls_lack(Protection::kKtls);
  const auto server = [tls = Tls::make(Role::kServer, Protection::kKtls).release()](Socket& socket) {
    const std::unique_ptr<Tls> owner(tls);
    const auto channel = owner->open(socket);
    std::byte end;
    try {
      (void)channel->receive_some({&end, 1});
    } catch (const dpubench::Error&) {  // a client that fails does not take leave
    }
  };
  const auto tls = Tls::make(Role::kClient, Protection::kKtls);
  with_both(server, [&](Socket& socket) {
    if (kernel_tls_lack().empty()) {
      EXPECT_EQ(tls->open(socket)->path().substr(0, 24), "SSL_sendfile, kernel TLS");
    } else {
      expect_error([&] { tls->open(socket); }, {"the kernel did not take over the encryption"});
    }
  });
}

TEST(KernelTls, IsThereIfTheKernelListsIt) {
  const bool has_tls = kernel_tls_lack().empty();  // first: it may load the module
  std::ifstream in("/proc/sys/net/ipv4/tcp_available_ulp");
  std::string word;
  bool listed = false;
  while (in >> word) listed = listed || word == "tls";
  EXPECT_EQ(has_tls, listed);
  EXPECT_EQ(lack(Protection::kKtls).empty(), listed && tls_lack(Protection::kKtls).empty());
  EXPECT_EQ(lack(Protection::kPlain), "");
}

TEST(KernelTls, CountsConnections) {
  const TlsCounts counts =
      parse_tls_counts("TlsCurrTxSw\t1\nTlsTxSw                         \t7\nTlsTxDevice  3\nTlsRxDevice 9\n");
  EXPECT_TRUE(counts.known);
  EXPECT_EQ(counts.software, 7U);
  EXPECT_EQ(counts.device, 3U);
  EXPECT_FALSE(parse_tls_counts("").known);
}

/// Return whether drivers can be asked. A kernel always can be; emulators of user space do not know the request.
bool knows_ethtool() {
  const Descriptor fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ethtool_value request{.cmd = ETHTOOL_GLINK, .data = 0};
  ifreq wrapped{};
  std::strcpy(wrapped.ifr_name, "lo");
  wrapped.ifr_data = reinterpret_cast<char*>(&request);
  return ioctl(fd.get(), SIOCETHTOOL, &wrapped) == 0 || (errno != ENOTTY && errno != ENOSYS);
}

TEST(KernelTls, KnowsFeaturesOfInterfaces) {
  if (!knows_ethtool()) GTEST_SKIP() << "the emulator does not know SIOCETHTOOL";
  EXPECT_TRUE(has_feature("lo", "tx-scatter-gather"));
  EXPECT_FALSE(has_feature("lo", "tls-hw-tx-offload"));
  EXPECT_FALSE(has_feature("lo", "no-such-feature"));
  EXPECT_FALSE(has_feature("no-such-one", "tx-scatter-gather"));
}

TEST(KernelTls, KnowsInterfacesThatDoNotEncrypt) {
  with_both([](Socket& socket) { EXPECT_EQ(offload_lack_of(socket.fd()).substr(0, 26), "interface lo does not encr"); },
            [](Socket& /*socket*/) {});
}

}  // namespace
