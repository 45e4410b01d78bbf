// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "libmge/base/env.h"
#include "libmge/base/error.h"
#include "libmge/base/hash.h"
#include "libmge/base/threads.h"

namespace mge {
namespace {

using testing::HasSubstr;

class Files : public testing::Test {
protected:
    std::filesystem::path folder_ =
        std::filesystem::temp_directory_path() / ("mge_file_" + std::to_string(::getpid()));
    void SetUp() override { std::filesystem::create_directories(folder_); }
    void TearDown() override { std::filesystem::remove_all(folder_); }
    std::string path(const char* name) const { return (folder_ / name).string(); }
    size_t count() const {
        return size_t(std::distance(std::filesystem::directory_iterator(folder_),
                                    std::filesystem::directory_iterator()));
    }
};

TEST_F(Files, MapsWhatWasWritten) {
    write_file_atomically(path("a"), [](std::ostream& s) { s << "hello"; });
    auto file = MappedFile::open(path("a"));
    ASSERT_EQ(file->bytes().size(), 5u);
    EXPECT_EQ(std::memcmp(file->bytes().data(), "hello", 5), 0);
    EXPECT_EQ(count(), 1u) << "no temporary file is left";
}

TEST_F(Files, MayBeForTheirOwnerAlone) {
    std::ofstream(path("a")) << "old, for all";
    write_file_atomically(
        path("a"), [](std::ostream& s) { s << "secret"; }, FileReaders::owner);
    EXPECT_EQ(std::filesystem::status(path("a")).permissions(),
              std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    EXPECT_EQ(MappedFile::open(path("a"))->bytes().size(), 6u);
    EXPECT_EQ(count(), 1u);
}

TEST_F(Files, EmptyFileHasNoBytes) {
    std::ofstream(path("empty"));
    EXPECT_TRUE(MappedFile::open(path("empty"))->bytes().empty());
}

TEST_F(Files, FailureLeavesTheOldFile) {
    std::ofstream(path("a")) << "old";
    EXPECT_THROW(write_file_atomically(path("a"), [](std::ostream&) { throw UserError("no"); }), UserError);
    EXPECT_EQ(MappedFile::open(path("a"))->bytes().size(), 3u);
    EXPECT_EQ(count(), 1u);
}

TEST_F(Files, AProcessThatDiesLeavesNothing) {
    std::ofstream(path("a")) << "old";
    int fd = ::open(folder_.c_str(), O_TMPFILE | O_WRONLY, 0600);
    if (fd < 0) GTEST_SKIP() << "this file system has no files without a name";
    ::close(fd);
    pid_t child = ::fork();
    if (child == 0)
        write_file_atomically(path("a"), [](std::ostream& s) {
            s << std::string(100'000, 'x') << std::flush;
            ::_exit(7);
        });
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(WEXITSTATUS(status), 7);
    EXPECT_EQ(MappedFile::open(path("a"))->bytes().size(), 3u);
    EXPECT_EQ(count(), 1u);
}

TEST_F(Files, KeepTheUsersMask) {
    mode_t mask = ::umask(027);
    write_file_atomically(path("a"), [](std::ostream& s) { s << "x"; });
    ::umask(mask);
    EXPECT_EQ(std::filesystem::status(path("a")).permissions(), std::filesystem::perms(0640));
}

TEST_F(Files, ErrorsNameThePath) {
    try {
        MappedFile::open(path("missing"));
        FAIL();
    } catch (const UserError& e) {
        EXPECT_THAT(e.what(), HasSubstr("missing': No such file or directory"));
    }
    EXPECT_THROW(MappedFile::open(folder_.string()), UserError);
    EXPECT_THROW(write_file_atomically("/nonexistent-folder/a", [](std::ostream&) {}), UserError);
    EXPECT_THROW(write_file_atomically("/dev/full", [](std::ostream& s) { s << "x"; }), UserError);
}

TEST_F(Files, ADeviceIsWrittenToAndStaysOne) {
    write_file_atomically("/dev/null", [](std::ostream& s) { s << "x"; });
    EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(Env, NumbersAreChecked) {
    ::setenv("MGE_TEST_NUMBER", "12", 1);
    EXPECT_EQ(env_int("MGE_TEST_NUMBER"), 12);
    ::setenv("MGE_TEST_NUMBER", "", 1);
    EXPECT_EQ(env_int("MGE_TEST_NUMBER"), std::nullopt);
    ::setenv("MGE_TEST_NUMBER", "12x", 1);
    try {
        env_int("MGE_TEST_NUMBER");
        FAIL();
    } catch (const UserError& e) {
        EXPECT_STREQ(e.what(), "[MGE_TEST_NUMBER] '12x' is not an integer");
    }
    ::unsetenv("MGE_TEST_NUMBER");
}

TEST(Threads, AreAtLeastOneAndSettable) {
    EXPECT_GE(usable_cpus(), 1);
    int before = default_threads();
    set_default_threads(3);
    EXPECT_EQ(default_threads(), 3);
    set_default_threads(before);
    EXPECT_THROW(set_default_threads(0), UserError);
    EXPECT_THROW(set_default_threads(5000), UserError);
}

TEST(Pages, AreWhole) {
    auto page = size_t(::sysconf(_SC_PAGESIZE));
    std::vector<std::byte> memory(4 * page);
    auto first = (reinterpret_cast<uintptr_t>(memory.data()) + page - 1) / page * page;
    auto* begin = reinterpret_cast<std::byte*>(first);
    auto at = [&](size_t offset, size_t size) { return whole_pages({begin + offset, size}); };
    EXPECT_EQ(at(0, 2 * page).data(), begin);
    EXPECT_EQ(at(0, 2 * page).size(), 2 * page);
    EXPECT_EQ(at(1, 2 * page).data(), begin + page);
    EXPECT_EQ(at(1, 2 * page).size(), page);
    EXPECT_TRUE(at(1, page).empty());
    EXPECT_TRUE(at(0, page - 1).empty());
}

// XXH3's published value for the empty input: checksums in files must never change.
TEST(Hash, ChecksumIsXxh3) { EXPECT_EQ(checksum("", 0), 0x2d06800538d394c2ull); }

TEST(Errors, InternalOnesNameTheirPlace) {
    try {
        MGE_CHECK(1 > 2, "numbers");
        FAIL();
    } catch (const InternalError& e) {
        EXPECT_THAT(e.what(), HasSubstr("file_test.cpp"));
        EXPECT_THAT(e.what(), HasSubstr("(1 > 2) is false: numbers"));
        EXPECT_EQ(e.code(), ErrorCode::internal);
    }
}

}  // namespace
}  // namespace mge
