// Tests the refusals of the plugin that no real QEMU can show, because QEMU's own version check comes first.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

extern "C" {
#include "cores/trace/plugin/qemu_plugin.h"
}

namespace dpubench::cores {
namespace {

TEST(TracePlugin, RefusesAnInterfaceThatChanged) {
  const char* path = std::getenv("DPUBENCH_TRACE_PLUGIN");
  if (path == nullptr) GTEST_SKIP() << "no plugin was built: it needs a C compiler";
  // Bind lazily: the plugin calls functions that only QEMU has.
  void* plugin = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  ASSERT_NE(plugin, nullptr) << dlerror();
  using Install = int(qemu_plugin_id_t, const qemu_info_t*, int, char**);
  auto* install = reinterpret_cast<Install*>(dlsym(plugin, "qemu_plugin_install"));
  ASSERT_NE(install, nullptr);
  EXPECT_EQ(*static_cast<int*>(dlsym(plugin, "qemu_plugin_version")), QEMU_PLUGIN_INTERFACE);
  for (const auto& [min, cur] : {std::pair(2, 3), std::pair(0, 0)}) {
    const qemu_info_t info = {.target_name = "aarch64", .version = {.min = min, .cur = cur}, .system_emulation = false};
    ::testing::internal::CaptureStderr();
    EXPECT_NE(install(0, &info, 0, nullptr), 0);
    EXPECT_NE(::testing::internal::GetCapturedStderr().find("serves plugin interfaces " + std::to_string(min)),
              std::string::npos);
  }
  const qemu_info_t machine = {.target_name = "aarch64", .version = {.min = 1, .cur = 1}, .system_emulation = true};
  ::testing::internal::CaptureStderr();
  EXPECT_NE(install(0, &machine, 0, nullptr), 0);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("only programs under qemu-aarch64"), std::string::npos);
  dlclose(plugin);
}

}  // namespace
}  // namespace dpubench::cores
