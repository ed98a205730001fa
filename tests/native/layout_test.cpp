// Which code layout runs, told from where the library lies.

#include "base/layout.hpp"

#include <gtest/gtest.h>

#include "temporary_directory.hpp"

namespace dpubench {
namespace {

namespace fs = std::filesystem;

class Layouts : public testing::Test {
 protected:
  // NOLINTNEXTLINE(modernize-use-nodiscard): some tests want the file alone
  fs::path library(const std::string& folder) const { return folder_.write(folder + "/libdpubench-core.so", "x"); }

  test::TemporaryDirectory folder_;
};

TEST_F(Layouts, ABuildWithoutFurtherOnesHasOne) {
  const Layout alone = layout_of(library("native"));
  EXPECT_EQ(alone.number, 0U);
  EXPECT_EQ(alone.count, 1U);
  EXPECT_EQ(alone.folder, folder_.path() / "native");
}

TEST_F(Layouts, EachKnowsItsNumberAndHowManyThereAre) {
  const fs::path first = library("native");
  const fs::path third = library("native/layouts/2");
  library("native/layouts/1");
  library("native/layouts/4");  // 3 is missing: it counts for nothing
  EXPECT_EQ(layout_of(first).number, 0U);
  EXPECT_EQ(layout_of(first).count, 3U);
  EXPECT_EQ(layout_of(third).number, 2U);
  EXPECT_EQ(layout_of(third).count, 3U);
  EXPECT_EQ(layout_of(third).folder, third.parent_path());
}

TEST_F(Layouts, AFolderOfAnotherNameIsNone) {
  for (const char* folder : {"layouts/x", "layouts/0", "layouts/01", "layouts/99999999999999999999", "other/1"}) {
    EXPECT_EQ(layout_of(library(folder)).number, 0U) << folder;
  }
}

TEST_F(Layouts, WhatRunsIsTheLibraryThatIsLoaded) {
  EXPECT_TRUE(fs::exists(layout().folder)) << layout().folder;
  EXPECT_EQ(layout().number, 0U);
}

}  // namespace
}  // namespace dpubench
