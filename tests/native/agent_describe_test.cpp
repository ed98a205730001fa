// What the agent says of a machine: of this one, and of a made-up one.
#include "agent/describe.hpp"
#include "agent_process.hpp"

namespace {

namespace fs = std::filesystem;
using dpubench::test::Agent;
using dpubench::test::Agents;
using dpubench::test::Installed;
using dpubench::test::TemporaryDirectory;
using nlohmann::json;

TEST(AgentDescribe, ReadsListsOfCpus) {
  using dpubench::agent::parse_cpu_list;
  EXPECT_EQ(parse_cpu_list("0-2,5"), (std::vector<int>{0, 1, 2, 5}));
  for (const char* none : {"", "x", "-1", "3-1", "0-999999999"}) EXPECT_TRUE(parse_cpu_list(none).empty()) << none;
}

TEST(AgentDescribe, ABusyCpuIsToldFromAFreeOne) {
  const auto shares = dpubench::agent::busy_between("cpu  9 9\ncpu0 100 0 0 100 0 0 0 0\ncpu2 0 0 0 50 0 0 0 0\n",
                                                    "cpu  9 9\ncpu0 175 0 0 125 0 0 0 0\ncpu2 0 0 0 80 20 0 0 0\nintr 1\n");
  EXPECT_EQ(shares, (std::vector<double>{0.75, 0.0, 0.0}));
}

/// Made-up sysfs of the Arm side of a BlueField-2.
class BlueField : public testing::Test {
 protected:
  BlueField() {
    const std::string cpu = "sys/devices/system/cpu/";
    folder.write(cpu + "online", "0-3\n");
    folder.write(cpu + "isolated", "2-3\n");
    for (int i = 0; i < 4; ++i)
      folder.write(cpu + "cpu" + std::to_string(i) + "/topology/thread_siblings_list", i < 2 ? "0-1\n" : "2-3\n");
    folder.write("proc/stat", "cpu0 1 1 1 1\n");
    folder.write("proc/meminfo", "MemTotal:       16000 kB\nMemAvailable:    8000 kB\n");
    folder.write("sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "256\n");
    folder.write("sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "200\n");
    folder.write("sys/devices/system/node/node0/cpulist", "0-3\n");
    folder.write("sys/devices/system/node/node0/meminfo", "Node 0 MemTotal:       16000 kB\n");
    folder.write("sys/class/dmi/id/product_name", "BlueField-2 DPU 100GbE\n");
    const std::string pci = "sys/devices/pci0000:00/0000:03:00.0/";
    folder.write(pci + "vendor", "0x15b3\n");
    folder.write(pci + "device", "0xa2d6\n");
    folder.write(pci + "class", "0x020000\n");
    folder.write(pci + "numa_node", "-1\n");
    folder.write(pci + "current_link_speed", "16.0 GT/s PCIe\n");
    folder.write(pci + "current_link_width", "8\n");
    folder.write(pci + "max_link_speed", "16.0 GT/s PCIe\n");
    folder.write(pci + "max_link_width", "16\n");
    link("../../../bus/pci/drivers/mlx5_core", pci + "driver");
    link("../../../devices/pci0000:00/0000:03:00.0", "sys/bus/pci/devices/0000:03:00.0");
    folder.write("sys/class/net/p0/operstate", "up\n");
    folder.write("sys/class/net/p0/speed", "100000\n");
    folder.write("sys/class/net/p0/phys_port_name", "p0\n");
    link("../../../devices/pci0000:00/0000:03:00.0", "sys/class/net/p0/device");
    folder.write("sys/class/net/lo/operstate", "unknown\n");
    folder.write("sys/bus/pci/devices/0000:05:00.0/class", "0x100000\n");
  }
  void link(const std::string& to, const std::string& name) const {
    fs::create_directories((folder.path() / name).parent_path());
    fs::create_symlink(to, folder.path() / name);
  }
  void tool(const std::string& name, const std::string& text) const {
    fs::permissions(folder.write("usr/bin/" + name, "#!/bin/sh\n" + text), fs::perms::owner_all);
  }
  void settings(const std::string& model, const std::string& engine) const {
    tool("mstconfig",
         "echo 'Configurations:      Default    Current    Next Boot'\n"
         "echo '*     INTERNAL_CPU_MODEL   EMBEDDED_CPU(1)  " +
             model +
             "  EMBEDDED_CPU(1)'\n"
             "echo '      INTERNAL_CPU_OFFLOAD_ENGINE  ENABLED(0)  " +
             engine + "  ENABLED(0)'\n");
  }
  [[nodiscard]] json described() const { return dpubench::agent::describe(folder.path(), folder.path()); }
  [[nodiscard]] json dpu() const { return described().at("dpu"); }
  TemporaryDirectory folder;
};

TEST_F(BlueField, IsDescribed) {
  const json all = described();
  EXPECT_EQ(all["schema"], "dpubench.target/1");
  EXPECT_EQ(all["cpus"]["usable"], (json{0, 2, 1, 3}));  // one of each core first
  EXPECT_EQ(all["cpus"]["cores"], 2);
  EXPECT_EQ(all["cpus"]["isolated"], (json{2, 3}));
  EXPECT_EQ(all["memory_bytes"], 16000 * 1024);
  EXPECT_EQ(all["huge_pages"], (json{{{"bytes", 2 << 20}, {"total", 256}, {"free", 200}}}));
  EXPECT_EQ(all["numa_nodes"], (json{{{"node", 0}, {"cpus", {0, 1, 2, 3}}, {"memory_bytes", 16000 * 1024}}}));
  EXPECT_EQ(all["nics"], (json{{{"name", "p0"},
                                {"driver", "mlx5_core"},
                                {"port", "p0"},
                                {"state", "up"},
                                {"speed_mbps", 100000},
                                {"pci", "0000:03:00.0"},
                                {"vendor", "0x15b3"},
                                {"device", "0xa2d6"},
                                {"pcie", {{"generation", 4}, {"width", 8}, {"max_generation", 4}, {"max_width", 16}}}}}));
  ASSERT_EQ(all["accelerators"].size(), 1U);
  EXPECT_EQ(all["accelerators"][0]["pci"], "0000:05:00.0");
  EXPECT_GT(all["disk"]["free_bytes"], 0);
}

TEST_F(BlueField, ModeIsWhatTheFirmwareSays) {
  settings("EMBEDDED_CPU(1)", "ENABLED(0)");
  EXPECT_EQ(dpu()["mode"], "embedded");
  EXPECT_EQ(dpu()["side"], "device");
  EXPECT_EQ(dpu()["model"], "BlueField-2");
  tool("mstprivhost", "echo 'Host configurations'; echo 'level            : RESTRICTED'");
  EXPECT_EQ(dpu()["mode"], "restricted");
  settings("SEPERATED_HOST(0)", "ENABLED(0)");
  EXPECT_EQ(dpu()["mode"], "separated");
  settings("EMBEDDED_CPU(1)", "DISABLED(1)");
  EXPECT_EQ(dpu()["mode"], "NIC");
}

TEST_F(BlueField, WhatCannotBeReadIsSaidSo) {
  EXPECT_EQ(dpu()["mode"], "unknown");
  EXPECT_NE(dpu()["reason"].get<std::string>().find("mstflint"), std::string::npos);
  tool("mlxconfig", "echo '-E- Failed to open device'; exit 3");
  EXPECT_NE(dpu()["reason"].get<std::string>().find("-E- Failed to open device"), std::string::npos);
  tool("mlxconfig", "exec sleep 600");
  EXPECT_NE(dpu()["reason"].get<std::string>().find("no answer"), std::string::npos);
}

TEST_F(BlueField, ARepresentorOfTheHostTellsTheEmbeddedMode) {
  folder.write("sys/class/net/pf0hpf/phys_port_name", "pf0hpf\n");
  link("../../../devices/pci0000:00/0000:03:00.0", "sys/class/net/pf0hpf/device");
  EXPECT_EQ(dpu()["mode"], "embedded");
  EXPECT_NE(dpu()["how"].get<std::string>().find("pf0hpf"), std::string::npos);
}

TEST(AgentDescribe, AMachineOfWhichNothingCanBeReadIsStillDescribed) {
  const TemporaryDirectory empty;
  const json all = dpubench::agent::describe(empty.path(), empty.path() / "missing");
  EXPECT_EQ(all["nics"], json::array());
  EXPECT_FALSE(all.contains("dpu"));
  EXPECT_FALSE(all["disk"].contains("free_bytes"));
}

TEST_F(Agents, ThisMachineIsDescribed) {
  const Installed installed;
  Agent agent(installed);
  agent.request({{"do", "describe"}});
  const json all = agent.expect('A');
  EXPECT_FALSE(all["cpus"]["usable"].empty());
  EXPECT_GT(all["memory_bytes"], 0);
  EXPECT_EQ(all["disk"]["path"], installed.home().string());
}

}  // namespace
