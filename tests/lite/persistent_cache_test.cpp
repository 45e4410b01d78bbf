// SPDX-License-Identifier: Apache-2.0
#include "libmge/lite/persistent_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "libmge/base/files/file.h"
#include "lite/global.h"
#include "tests/lite/lite_error.h"
#include "tests/model/crypt/crypt_samples.h"

namespace lite {
namespace {

using test::error_of;
using testing::HasSubstr;

mge::CacheRow row_of(const std::string& problem) {
    mge::CacheRow row;
    row.machine = "a machine";
    row.problem = problem;
    row.measured.name = "an algorithm";
    row.measured.milliseconds = 1;
    return row;
}

bool knows(mge::FastrunCache& cache, const std::string& problem) {
    auto rows = cache.rows();
    return std::ranges::any_of(rows, [&](auto& row) { return row.problem == problem; });
}

std::string number(uint32_t value) { return {reinterpret_cast<const char*>(&value), sizeof value}; }
std::string block(const std::string& bytes) { return number(uint32_t(bytes.size())) + bytes; }

// In MegEngine's format: one algorithm of one convolution.
std::string cache_of_megengine() {
    std::string name = "FAST", problem = "1,3,8,8;Float32|4,3,3,3;Float32|\1\2";
    std::string algorithm = number(2) + number(7) + number(0) + number(uint32_t(name.size())) + name;
    std::string times = number(1) + block(algorithm) + block(":1;0.001;64:" + std::string(1, '\0'));
    return number(1) + block("profile:plat=cpu:ConvBiasForwardv5x") + number(1) + block(problem) +
           block(times);
}

class PersistentCaches : public mge::test::InFolder {
protected:
    std::string file(const std::string& name, const std::string& content) {
        std::ofstream(path(name), std::ios::binary) << content;
        return path(name);
    }
    static bool file_knows(const std::string& path, const std::string& problem) {
        return knows(*mge::FastrunCache::open_read_only(path), problem);
    }
};

TEST_F(PersistentCaches, AreInMemoryUntilAFileIsNamed) {
    persistent_cache()->merge(std::vector{row_of("before")});
    set_persistent_cache(path("cache"));
    // Known and later times are added to the file.
    persistent_cache()->merge(std::vector{row_of("after")});
    dump_persistent_cache(path("cache"));
    EXPECT_TRUE(file_knows(path("cache"), "before"));
    EXPECT_TRUE(file_knows(path("cache"), "after"));
    dump_persistent_cache(path("copy"));
    EXPECT_TRUE(file_knows(path("copy"), "after"));
}

TEST_F(PersistentCaches, SecondFileContainsBoth) {
    set_persistent_cache(path("first"));
    persistent_cache()->merge(std::vector{row_of("of the first")});
    set_persistent_cache(path("second"));
    EXPECT_TRUE(knows(*persistent_cache(), "of the first"));
    dump_persistent_cache(path("second"));
    EXPECT_TRUE(file_knows(path("second"), "of the first"));
}

TEST_F(PersistentCaches, DeletedFileMayBeReplaced) {
    set_persistent_cache(path("first"));
    persistent_cache()->merge(std::vector{row_of("lost")});
    std::filesystem::remove(path("first"));
    set_persistent_cache(path("second"));
    persistent_cache()->merge(std::vector{row_of("kept")});
    dump_persistent_cache(path("second"));
    EXPECT_TRUE(file_knows(path("second"), "kept"));
}

TEST_F(PersistentCaches, DumpedFilesKeepTheirRows) {
    mge::FastrunCache::open(path("cache"), mge::Durability::process)->merge(std::vector{row_of("theirs")});
    persistent_cache()->merge(std::vector{row_of("ours")});
    dump_persistent_cache(path("cache"));
    EXPECT_TRUE(file_knows(path("cache"), "theirs"));
    EXPECT_TRUE(file_knows(path("cache"), "ours"));
}

TEST_F(PersistentCaches, AlwaysSyncSurvivesTheProcess) {
    pid_t child = ::fork();
    if (child == 0) {
        set_persistent_cache(path("cache"), true);
        persistent_cache()->merge(std::vector{row_of("just measured")});
        ::kill(::getpid(), SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_TRUE(file_knows(path("cache"), "just measured"));
}

TEST_F(PersistentCaches, MegEngineCachesAreRead) {
    std::string content = cache_of_megengine(), theirs = file("cache", content);
    auto has_row = [](const std::vector<mge::CacheRow>& rows) {
        return std::ranges::any_of(rows, [](auto& row) {
            return row.machine == "MegEngine | plat=cpu" && row.measured.name == "FAST" &&
                   row.measured.milliseconds == 1 && row.measured.workspace == 64;
        });
    };
    set_persistent_cache(theirs);
    EXPECT_TRUE(has_row(persistent_cache()->rows()));
    EXPECT_EQ(mge::MappedFile::open(theirs)->bytes().size(), content.size());
    // One of ours takes its place.
    set_persistent_cache(theirs, true);
    EXPECT_TRUE(has_row(mge::FastrunCache::open_read_only(theirs)->rows()));
    EXPECT_EQ(mge::MappedFile::open(theirs + ".megengine")->bytes().size(), content.size());
}

TEST_F(PersistentCaches, CreationFailureIsReported) {
    file("cache", "no folder");
    testing::internal::CaptureStderr();
    set_log_level(LiteLogLevel::WARN);
    set_persistent_cache(path("cache/inside of a file"));
    set_log_level(LiteLogLevel::ERROR);
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("new measurements are not saved"));
    persistent_cache()->merge(std::vector{row_of("in memory")});
    EXPECT_TRUE(knows(*persistent_cache(), "in memory"));
}

TEST_F(PersistentCaches, DamagedFilesAreNotModified) {
    set_persistent_cache(path("cache"));
    persistent_cache()->merge(std::vector{row_of("lost")});
    dump_persistent_cache(path("cache"));
    dump_persistent_cache(path("damaged"));
    constexpr int first_page = 4096, header = 100;
    std::fstream(path("damaged"), std::ios::in | std::ios::out | std::ios::binary).seekp(header)
        << std::string(first_page - header, '\xff');
    testing::internal::CaptureStderr();
    set_log_level(LiteLogLevel::WARN);
    set_persistent_cache(path("damaged"));
    set_log_level(LiteLogLevel::ERROR);
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("it is not used"));
    EXPECT_TRUE(knows(*persistent_cache(), "lost")) << "what was known before stays";
}

TEST_F(PersistentCaches, InvalidFileIsAnError) {
    EXPECT_THAT(error_of([&] { set_persistent_cache(file("text", "no cache")); }), HasSubstr("text"));
    EXPECT_THAT(error_of([&] { set_persistent_cache(""); }), HasSubstr("empty"));
    EXPECT_NE(error_of([&] { dump_persistent_cache(file("file", "") + "/inside"); }), "");
    EXPECT_THAT(error_of([&] { add_to_persistent_cache({}, "a packed model"); }),
                HasSubstr("a packed model"));
}

}  // namespace
}  // namespace lite
