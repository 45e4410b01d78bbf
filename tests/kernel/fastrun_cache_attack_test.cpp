// SPDX-License-Identifier: Apache-2.0
// The cache under kill -9, many writers, failing disks and poisoned contents. MGE_NIGHTLY=1 runs the full
// counts.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <random>
#include <thread>

#include "libmge/kernel/fastrun_cache.h"
#include "tests/harness/nightly.h"
#include "tests/kernel/failing_disk.h"
#include "tests/kernel/sample_problem.h"
#include "tests/new_folder.h"

namespace mge {
namespace {

using test::is_nightly;
using Sample = SampleProblem;

class CacheUnderAttack : public testing::Test {
protected:
    std::filesystem::path folder_ = new_folder("mge_attack");
    std::string path_ = (folder_ / "cache.sqlite").string();
    void TearDown() override { std::filesystem::remove_all(folder_); }
    void start_afresh() {
        for (auto* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path_ + suffix);
    }
};

// Writes rows from `first` on for ever and reports each one that store() has accepted.
[[noreturn]] void write_until_killed(const std::string& path, int first, int report) {
    auto cache = FastrunCache::open(path);
    for (int i = first;; ++i) {
        cache->store(Sample(i).problem, {{"a", 1, 0, {}}, {"b", 2, 0, {}}});
        if (::write(report, &i, sizeof i) != sizeof i) ::_exit(1);
    }
}

// The next row that the writer reports; `otherwise` when it reports none any more.
int next_reported(int pipe, int otherwise) {
    int row = 0;
    return ::read(pipe, &row, sizeof row) == sizeof row ? row : otherwise;
}

// The last row that the writer has reported, who is dead; `last` when there is none.
int last_reported(int pipe, int last) {
    for (int row = 0; (row = next_reported(pipe, -1)) >= 0;) last = row;
    return last;
}

TEST_F(CacheUnderAttack, KilledWritersLoseNoStoredRows) {
    std::mt19937 random(1);
    int tries = is_nightly() ? 1000 : 50, stored = 0, next = 1;
    for (int i = 0; i < tries; ++i) {
        int ends[2];
        ASSERT_EQ(::pipe(ends), 0);
        pid_t writer = ::fork();
        if (writer == 0) write_until_killed(path_, next, ends[1]);
        ::close(ends[1]);
        // Half of them are killed at any time, also before they have opened the file, the others after a row.
        int last = i % 2 ? next_reported(ends[0], next - 1) : next - 1;
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 20'000));
        ::kill(writer, SIGKILL);
        ::waitpid(writer, nullptr, 0);
        last = last_reported(ends[0], last);
        ::close(ends[0]);
        auto cache = FastrunCache::open(path_);
        ASSERT_THAT(cache->verify(), testing::IsEmpty()) << "try " << i;
        for (int row = next; row <= last; ++row) {
            auto found = cache->find(Sample(row).problem);
            ASSERT_TRUE(found && found->size() == 2) << "row " << row << ", try " << i;
        }
        stored += last - next + 1;
        next = last + 2;  // the row after the last may be there or not
    }
    RecordProperty("tries", tries);
    RecordProperty("rows_stored", stored);
    EXPECT_GE(stored, tries / 2);
}

TEST_F(CacheUnderAttack, ManyProcessesLoseNothing) {
    constexpr int writers = 8, keys = 1000;
    int rounds = is_nightly() ? 50 : 3;
    for (int round = 0; round < rounds; ++round) {
        start_afresh();
        for (int w = 0; w < writers; ++w)
            if (::fork() == 0) {
                try {
                    auto cache = FastrunCache::open(path_);
                    for (int i = 0; i < keys; ++i)
                        cache->store(Sample(w * keys + i + 1).problem, {{"a", 1, 0, {}}});
                } catch (...) {
                    ::_exit(1);
                }
                ::_exit(0);
            }
        for (int w = 0, status = 0; w < writers; ++w) {
            ASSERT_GT(::wait(&status), 0);
            ASSERT_EQ(status, 0) << "a writer failed in round " << round;
        }
        ASSERT_EQ(FastrunCache::open(path_)->rows().size(), size_t(writers * keys)) << "round " << round;
    }
}

// Every write from the n-th on fails, for full disks, I/O errors and vanished servers.
TEST_F(CacheUnderAttack, FailingDisksKeepOldRowsAndDoNotStopWork) {
    FailingDisk disk;
    int failures = 0;
    for (int code : {SQLITE_FULL, SQLITE_IOERR_WRITE, SQLITE_IOERR_FSYNC, SQLITE_IOERR_SHMSIZE})
        for (int after : {0, 1, 3, 7, 15}) {
            start_afresh();
            FastrunCache::open(path_)->store(Sample(1).problem, {{"old", 1, 0, {}}});
            disk.fail(code, after);
            auto cache = FastrunCache::open_tolerant(path_);
            for (int i = 2; i < 40; ++i) {
                cache->store(Sample(i).problem, {{"new", 1, 0, {}}});
                cache->find(Sample(i).problem);
            }
            cache.reset();
            failures += disk.failures();
            disk.heal();
            auto healed = FastrunCache::open(path_);
            EXPECT_THAT(healed->verify(), testing::IsEmpty());
            auto found = healed->find(Sample(1).problem);
            ASSERT_TRUE(found) << "code " << code << " after " << after;
            EXPECT_EQ(found->front().name, "old");
        }
    EXPECT_GT(failures, 20) << "the disk never failed";
}

// A cache is trusted only as far as the operator offers its algorithms.
TEST_F(CacheUnderAttack, PoisonedRowsHaveNoEffect) {
    static const Algorithm algorithms[] = {
        {"first", always, [](const PrepareContext&) { return Prepared::make(0, 64); }, nullptr},
        {"second", always, [](const PrepareContext&) { return Prepared::make(0, 1000); }, nullptr},
    };
    Sample sample(3);
    auto choose = [&](FastrunCache* cache, size_t limit) {
        SelectOptions options{.profile = true, .workspace_limit = limit, .cache = cache};
        return select(algorithms, sample.problem, {}, options).candidate.name;
    };
    double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
    std::string machine = FastrunCache::machine(), key = sample.problem.key();
    std::vector<CacheRow> poisons;
    for (std::string name :
         {"", "gone", "../../evil.so", "first\n", "FIRST", "'; DROP TABLE measurement; --"})
        poisons.push_back({machine, key, {name, 0.1}, 1});
    poisons.push_back({machine, key, {std::string(1 << 20, 'x'), 0.1}, 1});
    poisons.push_back({machine, key, {std::string("fir\0st", 6), 0.1}, 1});
    for (double ms : {nan, inf, -inf, -1.0}) poisons.push_back({machine, key, {"second", ms}, 1});
    for (auto& other : {machine + " ", std::string("another cpu"), std::string()})
        poisons.push_back({other, key, {"second", 0.1}, 1});
    for (auto& other : {key + " ", key.substr(1), std::string()})
        poisons.push_back({machine, other, {"second", 0.1}, 1});
    for (auto& poison : poisons) {
        start_afresh();
        auto cache = FastrunCache::open(path_);
        try {
            cache->merge({&poison, 1});
        } catch (const UserError&) {
            continue;  // SQLite itself refuses, NaN for one
        }
        EXPECT_EQ(choose(cache.get(), SIZE_MAX), "first") << poison.measured.name.substr(0, 40);
    }
    // The row has a wrong size of memory: the algorithm's actual request counts.
    CacheRow liar{machine, key, {"second", 0.1, 0}, 1};
    start_afresh();
    auto cache = FastrunCache::open(path_);
    cache->merge({&liar, 1});
    EXPECT_EQ(choose(cache.get(), SIZE_MAX), "second");
    EXPECT_EQ(choose(cache.get(), 100), "first");
}

}  // namespace
}  // namespace mge
