// SPDX-License-Identifier: Apache-2.0
// The cache when other processes lock it, or cannot.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <stdexcept>

#include "libmge/kernel/fastrun_cache.h"
#include "tests/kernel/sample_problem.h"
#include "tests/new_folder.h"

namespace mge {
namespace {

using testing::HasSubstr;
using Sample = SampleProblem;

class CacheLocks : public testing::Test {
protected:
    std::filesystem::path folder_ = new_folder("mge_locks");
    std::string path_ = (folder_ / "cache.sqlite").string();
    void TearDown() override { std::filesystem::remove_all(folder_); }
};

// Another process that holds a lock for as long as this lives.
class LockedByAnother {
public:
    explicit LockedByAnother(const std::string& path) {
        int ready[2];
        if (::pipe(ready) != 0) throw std::runtime_error("no pipe");
        process_ = ::fork();
        if (process_ == 0) {
            sqlite3* db = nullptr;
            sqlite3_open(path.c_str(), &db);
            const char* lock = "PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE";
            char code = char(sqlite3_exec(db, lock, nullptr, nullptr, nullptr));
            if (::write(ready[1], &code, 1) == 1) ::pause();
            ::_exit(1);
        }
        char code = 1;
        EXPECT_EQ(::read(ready[0], &code, 1), 1);
        EXPECT_EQ(code, SQLITE_OK);
        for (int end : ready) ::close(end);
    }
    ~LockedByAnother() {
        ::kill(process_, SIGKILL);
        ::waitpid(process_, nullptr, 0);
    }
    LockedByAnother(const LockedByAnother&) = delete;
    LockedByAnother& operator=(const LockedByAnother&) = delete;

private:
    pid_t process_;
};

double seconds_of(const std::function<void()>& body) {
    auto begin = std::chrono::steady_clock::now();
    body();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

TEST_F(CacheLocks, TolerantModeSkipsLockedFile) {
    FastrunCache::open(path_)->store(Sample(3).problem, {{"a", 1, 0, {}}});
    LockedByAnother other(path_);
    testing::internal::CaptureStderr();
    double seconds = seconds_of([&] {
        auto cache = FastrunCache::open_tolerant(path_);
        for (int n : {4, 5, 6}) {
            cache->find(Sample(n).problem);
            cache->store(Sample(n).problem, {{"a", 1, 0, {}}});
        }
    });
    std::string output = testing::internal::GetCapturedStderr();
    EXPECT_LT(seconds, 6);
    EXPECT_THAT(output, HasSubstr("waiting up to 5 s"));
    EXPECT_THAT(output, HasSubstr("still has it locked after 5 s"));
    EXPECT_EQ(std::ranges::count(output, '\n'), 2) << output;
}

// A file that is locked after it was opened: all uses together wait for as long as one.
TEST_F(CacheLocks, WaitsOnceForAllUses) {
    auto wait = std::make_shared<LockWait>("the cache", std::chrono::milliseconds(200));
    auto cache = FastrunCache::made_tolerant(FastrunCache::open(path_, Durability::process, wait));
    sqlite3* writer = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &writer), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(writer, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
    double seconds = seconds_of([&] {
        for (int n : {4, 5, 6, 7}) cache->store(Sample(n).problem, {{"a", 1, 0, {}}});
    });
    EXPECT_GT(seconds, 0.15);
    EXPECT_LT(seconds, 0.6);
    ASSERT_EQ(sqlite3_exec(writer, "ROLLBACK", nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(writer);
    cache->store(Sample(8).problem, {{"a", 1, 0, {}}});
    EXPECT_TRUE(cache->find(Sample(8).problem)) << "the lock is free again";
}

int refuse_lock(int, int, ...) {
    errno = ENOLCK;
    return -1;
}

// Some network file systems.
TEST_F(CacheLocks, DoesNotWaitWithoutLocks) {
    sqlite3_vfs* system = sqlite3_vfs_find(nullptr);
    ASSERT_EQ(system->xSetSystemCall(system, "fcntl", reinterpret_cast<sqlite3_syscall_ptr>(refuse_lock)),
              SQLITE_OK);
    testing::internal::CaptureStderr();
    double seconds = seconds_of([&] { FastrunCache::open_tolerant(path_); });
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("has no locks"));
    system->xSetSystemCall(system, "fcntl", nullptr);
    EXPECT_LT(seconds, 1);
}

}  // namespace
}  // namespace mge
