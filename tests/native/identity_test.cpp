// What a machine is, told from files as the kernels of such machines have them.
#include "protocol/identity.hpp"

#include <gtest/gtest.h>

#include <string>

#include "temporary_directory.hpp"

namespace dpubench::protocol {
namespace {

std::string arm_core(const std::string& implementer, const std::string& part) {
  return "processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd\nCPU implementer\t: " + implementer +
         "\nCPU architecture: 8\nCPU variant\t: 0x3\nCPU part\t: " + part + "\nCPU revision\t: 1\n\n";
}

TEST(Identity, NamesCoresOfArm) {
  const test::TemporaryDirectory root;
  root.write("proc/cpuinfo", arm_core("0x41", "0xd0c") + arm_core("0x41", "0xd0c"));
  EXPECT_EQ(cpu_name(root.path()), "Neoverse N1");
  root.write("proc/cpuinfo", arm_core("0x41", "0xd42"));  // of BlueField-3
  EXPECT_EQ(cpu_name(root.path()), "Cortex-A78AE");
  root.write("proc/cpuinfo", arm_core("0x41", "0xd03") + arm_core("0x41", "0xd08") + arm_core("0x41", "0xd03"));
  EXPECT_EQ(cpu_name(root.path()), "Cortex-A53 + Cortex-A72");
  root.write("proc/cpuinfo", arm_core("0x99", "0x123"));
  EXPECT_EQ(cpu_name(root.path()), "implementer 0x99 part 0x123");
}

TEST(Identity, TakesTheNameThatTheKernelHas) {
  const test::TemporaryDirectory root;
  EXPECT_EQ(cpu_name(root.path()), "");
  root.write("proc/cpuinfo", "processor : 0\nmodel name : AMD EPYC 7713\nprocessor : 1\nmodel name : AMD EPYC 7713\n");
  EXPECT_EQ(cpu_name(root.path()), "AMD EPYC 7713");
}

TEST(Identity, KnowsVirtualMachines) {
  const auto is_virtual = [](const std::string& file, const std::string& text) {
    const test::TemporaryDirectory root;
    root.write("proc/cpuinfo", arm_core("0x41", "0xd0c"));
    root.write(file, text);
    return is_virtual_machine(root.path());
  };
  EXPECT_TRUE(is_virtual("proc/cpuinfo", "flags : fpu hypervisor lahf_lm\n"));
  EXPECT_TRUE(is_virtual("sys/hypervisor/type", "xen\n"));
  EXPECT_TRUE(is_virtual("sys/class/dmi/id/sys_vendor", "QEMU\n"));
  EXPECT_TRUE(is_virtual("sys/class/dmi/id/product_name", "KVM Virtual Machine\n"));
  EXPECT_TRUE(is_virtual("sys/class/dmi/id/sys_vendor", "Amazon EC2\n"));
  EXPECT_TRUE(is_virtual("proc/device-tree/compatible", std::string("linux,dummy-virt\0", 17)));
  EXPECT_TRUE(is_virtual("proc/device-tree/hypervisor/compatible", "linux,kvm"));
  EXPECT_FALSE(is_virtual("proc/cpuinfo", "flags : fpu lahf_lm\n"));
  EXPECT_FALSE(is_virtual("sys/class/dmi/id/sys_vendor", "https://www.mellanox.com\n"));
  EXPECT_FALSE(is_virtual("proc/device-tree/compatible", "mellanox,bluefield\n"));
}

TEST(Identity, KnowsRentedMachinesWithoutAHypervisor) {
  const test::TemporaryDirectory root;
  root.write("sys/class/dmi/id/sys_vendor", "Amazon EC2\n");
  root.write("sys/class/dmi/id/product_name", "c7g.metal\n");
  EXPECT_FALSE(is_virtual_machine(root.path()));
}

}  // namespace
}  // namespace dpubench::protocol
