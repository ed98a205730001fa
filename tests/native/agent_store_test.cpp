// What the agent keeps: inputs that come and wrong ones, bundles and their manifests.
#include "agent/store.hpp"
#include "agent_process.hpp"
#include "base/error.hpp"
#include "expect_error.hpp"

namespace {

namespace fs = std::filesystem;
using dpubench::agent::Frame;
using dpubench::test::Agent;
using dpubench::test::Agents;
using dpubench::test::ends;
using dpubench::test::Installed;
using dpubench::test::TemporaryDirectory;
using nlohmann::json;

constexpr const char* kAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";  // FIPS 180-4: of "abc"

json file(const std::string& name, std::size_t bytes, const std::string& sha256 = kAbc) {
  return {{"sha256", sha256}, {"name", name}, {"bytes", bytes}};
}

TEST_F(Agents, InputsArriveOnceAndAreKnownAfterwards) {
  const Installed installed;
  Agent agent(installed);
  const json asked = {{"do", "have"}, {"files", {file("a b;'\".txt", 3)}}};
  agent.request(asked);
  EXPECT_EQ(agent.expect('A')["paths"], json::array({nullptr}));
  json put = file("a b;'\".txt", 3);
  put["do"] = "put";
  agent.request(put);
  agent.send(Frame::kData, "a");
  agent.send(Frame::kData, "bc");
  agent.send(Frame::kEnd, "");
  const std::string path = agent.expect('A').value("path", "");
  EXPECT_EQ(path, (installed.home() / "cache/inputs" / kAbc / "a b;'\".txt").string());
  EXPECT_EQ(dpubench::agent::digest_of(path), kAbc);
  agent.request(asked);
  EXPECT_EQ(agent.expect('A')["paths"], json::array({path}));
}

TEST_F(Agents, InputsWrongOnesLeaveNothing) {
  const Installed installed;
  const std::vector<std::pair<json, std::string>> cases = {{file("f", 3, std::string(64, '0')), "does not have SHA-256"},
                                                           {file("f", 2), "received more than the 2 bytes"},
                                                           {file("f", 4), "ends after 3 of 4"},
                                                           {file("../f", 3), "must not contain"},
                                                           {file("f", 3, "../../x"), "is not a SHA-256"}};
  for (auto [put, words] : cases) {
    Agent agent(installed);
    put["do"] = "put";
    agent.request(put);
    agent.send(Frame::kData, "abc");
    agent.send(Frame::kEnd, "");
    EXPECT_NE(agent.fault().find(words), std::string::npos) << words;
    EXPECT_EQ(agent.wait(), 1);
  }
  Agent cut(installed);
  json put = file("f", 3);
  put["do"] = "put";
  cut.request(put);
  cut.send(Frame::kData, "a");
  cut.hang_up();
  EXPECT_EQ(cut.wait(), 0);
  EXPECT_TRUE(fs::is_empty(installed.home() / "cache/inputs"));
}

TEST(AgentInputs, PartsOfKilledAgentsAreRemoved) {
  const TemporaryDirectory folder;
  const fs::path left = folder.write("inputs/.part-999999999", "x");
  const dpubench::agent::Incoming next(folder.path(), {kAbc, "f", 3});
  EXPECT_FALSE(fs::exists(left));
}

TEST(AgentBundle, IsComparedWithItsManifest) {
  const TemporaryDirectory folder;
  folder.write("lib/a", "abc");
  const fs::path manifest = folder.write("manifest.json", json{{"files", {{"lib/a", kAbc}}}}.dump());
  const std::string digest = dpubench::agent::digest_of(manifest);
  EXPECT_EQ(dpubench::agent::verify_bundle(folder.path(), digest), 1U);
  const auto verify = [&] { dpubench::agent::verify_bundle(folder.path(), digest); };
  folder.write("lib/a", "abd");
  EXPECT_THROW(verify(), dpubench::Error);
  fs::remove(folder.path() / "lib/a");
  EXPECT_THROW(verify(), dpubench::Error);
  folder.write("manifest.json", "{}");
  EXPECT_THROW(verify(), dpubench::Error);
}

TEST_F(Agents, BundlesOfOthersAreRemovedUnlessTheyAreAtWork) {
  const Installed installed;
  const std::string unused(64, 'a');
  const std::string used(64, 'b');
  fs::create_directories(installed.home() / "bundles" / unused / "lib");
  fs::create_directories(installed.home() / "bundles" / used / "lib");
  fs::create_directories(installed.home() / "bundles/not a digest");
  const fs::path program = installed.home() / "bundles" / used / "lib/sleep";
  fs::copy_file("/bin/sleep", program);
  const pid_t pid = fork();
  if (pid == 0) {
    execl(program.c_str(), "sleep", "600", nullptr);
    _exit(127);
  }
  while (fs::read_symlink("/proc/" + std::to_string(pid) + "/exe") != program)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  Agent agent(installed);
  agent.request({{"do", "tidy"}});
  EXPECT_EQ(agent.expect('A')["removed"], json::array({unused}));
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  EXPECT_FALSE(fs::exists(installed.home() / "bundles" / unused));
  EXPECT_TRUE(fs::exists(program));
  EXPECT_TRUE(fs::exists(installed.home() / "bundles/not a digest"));
  EXPECT_TRUE(fs::exists(installed.lib()));
}

}  // namespace
