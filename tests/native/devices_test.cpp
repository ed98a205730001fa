// Names of devices: what is taken for one, and what is said about the others.

#include "operators/devices.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "expect_error.hpp"
#include "temporary_directory.hpp"

namespace dpubench {
namespace {

/// Puts back what was named.
class Devices : public testing::Test {
 protected:
  void TearDown() override { name_devices({}); }
};

TEST_F(Devices, VirtualOnesMayHaveArguments) {
  name_devices({"crypto_openssl0,max_nb_queue_pairs=4", "compress_isal", "dma_skeleton,lcore=1"});
  ASSERT_EQ(named_devices().size(), 3U);
  EXPECT_EQ(device_name(named_devices()[0]), "crypto_openssl0");
  EXPECT_EQ(device_name(named_devices()[1]), "compress_isal");
}

TEST_F(Devices, PciAddressesMustExist) {
  std::error_code error;
  const std::filesystem::directory_iterator there("/sys/bus/pci/devices", error);
  if (!error && there != std::filesystem::directory_iterator()) {
    const std::string address = there->path().filename();
    name_devices({address});
    EXPECT_EQ(named_devices()[0], address);
    name_devices({address + ",class=crypto:compress"});  // NVIDIA's cards are network cards unless told otherwise
    EXPECT_EQ(device_name(named_devices()[0]), address);
  }
  test::expect_error([] { name_devices({"ffff:ff:1f.7"}); }, {"ffff:ff:1f.7", "no PCI device with this address", "lspci"});
  test::expect_error([] { name_devices({"ff:1f.7"}); }, {"0000:ff:1f.7", "no PCI device"});
}

TEST_F(Devices, RefusesWhatIsNone) {
  for (const char* name :
       {"", "eth0", "net_ring0", "crypto_", "crypto_openssl0 x", "crypto_openssl0,", "../crypto_x", "0000:03:00.8"}) {
    test::expect_error([&] { name_devices({name}); }, {"give a PCI address"});
  }
  test::expect_error(
      [] {
        name_devices({"crypto_openssl0", "crypto_openssl0,max_nb_queue_pairs=2"});
      },
      {"crypto_openssl0: is named twice"});
}

TEST(Drivers, AreMissingWithTheFolderAndThePackage) {
  const test::TemporaryDirectory dir;
  const std::filesystem::path folders[] = {dir.path() / "absent", dir.path()};
  const auto missing = [&] { return driver_missing(folders, "crypto_x", "librte_crypto_x", "librte-crypto-x23"); };
  EXPECT_EQ(missing(), "the driver crypto_x is missing: no librte_crypto_x.so in " + folders[0].string() + " or " +
                           folders[1].string() + " (Debian package librte-crypto-x23)");
  dir.write("librte_crypto_xy.so.23", "");
  EXPECT_NE(missing(), "");
  dir.write("librte_crypto_x.so.23", "");
  EXPECT_EQ(missing(), "");
}

}  // namespace
}  // namespace dpubench
