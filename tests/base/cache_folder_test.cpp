// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/files/cache_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "tests/new_folder.h"

namespace mge {
namespace {

class CacheFolder : public testing::Test {
protected:
    void SetUp() override {
        folder_ = new_folder("mge_cache_folder").string();
        own_ = folder_ + "/mge-" + std::to_string(::geteuid());
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }
    // Without a home.
    std::optional<std::string> found() const { return cache_folder({{}, {}, "/proc/nonexistent", folder_}); }

    std::string folder_, own_;
};

TEST_F(CacheFolder, UserSettingsComeFirst) {
    EXPECT_EQ(cache_folder({"/caches", "/home/me", folder_, folder_}), "/caches");
    EXPECT_EQ(cache_folder({"caches", "/home/me", folder_, folder_}), "/home/me/.cache");
    EXPECT_EQ(cache_folder({{}, "/home/me", folder_, folder_}), "/home/me/.cache");
    EXPECT_EQ(cache_folder({{}, "me", folder_, "/proc/nonexistent"}), folder_ + "/.cache");
    EXPECT_EQ(cache_folder({{}, {}, folder_, "/proc/nonexistent"}), folder_ + "/.cache");
}

TEST_F(CacheFolder, CreatesAFolderWithoutHome) {
    EXPECT_EQ(found(), own_);
    struct stat status {};
    ASSERT_EQ(::lstat(own_.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0700u);
    EXPECT_EQ(found(), own_) << "it is there now";
}

TEST_F(CacheFolder, RefusesFolderWritableByOthers) {
    std::filesystem::create_directory(own_);
    ::chmod(own_.c_str(), 0755);
    EXPECT_EQ(found(), std::nullopt);
    ::chmod(own_.c_str(), 0700);
    EXPECT_EQ(found(), own_);
    std::filesystem::rename(own_, folder_ + "/elsewhere");
    std::filesystem::create_directory_symlink(folder_ + "/elsewhere", own_);
    EXPECT_EQ(found(), std::nullopt);
    std::filesystem::remove(own_);
    std::ofstream(own_) << "a file";
    EXPECT_EQ(found(), std::nullopt);
}

TEST_F(CacheFolder, RefusesFolderOfAnotherUser) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
    std::filesystem::create_directory(own_);
    ::chmod(own_.c_str(), 0700);
    int failure = ::chown(own_.c_str(), 12345, 12345) == 0 ? 0 : errno;
    if (failure == EINVAL) GTEST_SKIP() << "this user namespace has a single user";
    ASSERT_EQ(failure, 0);
    EXPECT_EQ(found(), std::nullopt);
    EXPECT_EQ(cache_folder({{}, {}, own_, "/proc/nonexistent"}), std::nullopt) << "a home of another user";
}

TEST_F(CacheFolder, ReturnsNothingWithoutWritableFolder) {
    EXPECT_EQ(cache_folder({{}, {}, "", folder_ + "/missing"}), std::nullopt);
}

}  // namespace
}  // namespace mge
