#include <gtest/gtest.h>

#include "native/temporary_directory.hpp"
#include "datapath/ports/peer.hpp"

namespace dpubench::datapath::test {
namespace {

using dpubench::test::TemporaryDirectory;

/// Frames of these sizes (with FCS) go from one process to another and back; none is lost and none is changed.
void expect_echo(PeerSpec server, PeerSpec client) {
  server.port.role = Role::kServer;
  server.task = "echo";
  client.port.role = Role::kClient;
  client.task = "send";
  Peer first(server);
  ASSERT_TRUE(first.wait_ready()) << first.output();
  Peer second(client);
  EXPECT_EQ(second.wait(), 0) << "client:\n" << second.output();
  EXPECT_EQ(first.wait(), 0) << "server:\n" << first.output();
}

TEST(PortMemif, CarriesFramesBetweenProcesses) {
  const TemporaryDirectory folder;
  PeerSpec spec;
  spec.port.kind = "memif";
  spec.port.arguments = {{"socket", folder.path() / "s"}};
  expect_echo(spec, spec);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace dpubench::datapath::test
