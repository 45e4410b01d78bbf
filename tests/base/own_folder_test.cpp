// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/files/own_folder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "tests/new_folder.h"

namespace mge {
namespace {

class OwnFolder : public testing::Test {
protected:
    NewFolder folder_{"mge_own_folder"};
    std::string path_ = folder_.file("inside");
    void SetUp() override { std::filesystem::create_directory(path_); }
    // The strictest demand that the folder meets: "nothing", "no writing", "anything", or "none".
    std::string met(mode_t mode) const {
        ::chmod(path_.c_str(), mode);
        return is_own_folder(path_, Others::nothing)      ? "nothing"
               : is_own_folder(path_, Others::no_writing) ? "no writing"
               : is_own_folder(path_, Others::anything)   ? "anything"
                                                          : "none";
    }
};

TEST_F(OwnFolder, DependsOnTheRightsOfOthers) {
    EXPECT_EQ(met(0700), "nothing");
    EXPECT_EQ(met(0711), "no writing");
    EXPECT_EQ(met(0755), "no writing");
    EXPECT_EQ(met(0770), "anything");
    EXPECT_EQ(met(0702), "anything");
    EXPECT_EQ(met(01777), "anything");
}

TEST_F(OwnFolder, IsAFolder) {
    std::string link = folder_.file("link"), file = folder_.file("file");
    std::filesystem::create_directory_symlink(path_, link);
    std::ofstream(file) << "text";
    EXPECT_TRUE(is_own_folder(link, Others::no_writing));
    EXPECT_FALSE(is_own_folder(file, Others::anything));
    EXPECT_FALSE(is_own_folder(folder_.file("missing"), Others::anything));
}

TEST_F(OwnFolder, BelongsToThisUser) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
    int failure = ::chown(path_.c_str(), 12345, 12345) == 0 ? 0 : errno;
    if (failure == EINVAL) GTEST_SKIP() << "this user namespace has a single user";
    ASSERT_EQ(failure, 0);
    EXPECT_EQ(met(0700), "none");
}

}  // namespace
}  // namespace mge
