// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/fastrun_cache.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <limits>

#include "libmge/base/hash.h"
#include "libmge/kernel/lookups.h"
#include "tests/kernel/sample_problem.h"
#include "tests/new_folder.h"

namespace mge {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

using Sample = SampleProblem;

class CacheFile : public testing::Test {
protected:
    std::filesystem::path folder_ = new_folder("mge_cache");
    std::string path_ = (folder_ / "cache.sqlite").string();
    void TearDown() override { std::filesystem::remove_all(folder_); }

    // As another program, or a faulty disk, might change it.
    void sql(const std::string& statements) {
        sqlite3* db = nullptr;
        ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
        char* message = nullptr;
        EXPECT_EQ(sqlite3_exec(db, statements.c_str(), nullptr, nullptr, &message), SQLITE_OK)
            << (message ? message : "");
        sqlite3_close(db);
    }
};

TEST_F(CacheFile, KeepsMeasurementsInOrderOfTime) {
    Sample sample(3);
    FastrunCache::open(path_)->store(sample.problem, {{"slow", 2, 5, {.locks = true}}, {"fast", 1, 0, {}}});
    auto found = FastrunCache::open(path_)->find(sample.problem);
    ASSERT_TRUE(found);
    EXPECT_EQ((*found)[0].name, "fast");
    EXPECT_EQ((*found)[1].workspace, 5u);
    EXPECT_TRUE((*found)[1].attributes.locks);
}

std::vector<std::byte> bytes_of_file(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    std::string content(std::istreambuf_iterator<char>(stream), {});
    auto bytes = std::as_bytes(std::span(content));
    return {bytes.begin(), bytes.end()};
}

TEST_F(CacheFile, IsReadFromMemory) {
    FastrunCache::open(path_)->store(Sample(3).problem, {{"fast", 1, 0, {}}});
    auto bytes = bytes_of_file(path_);
    auto cache = FastrunCache::from_bytes(bytes, "memory");
    bytes.clear();
    EXPECT_TRUE(cache->find(Sample(3).problem));
    cache->store(Sample(4).problem, {{"fast", 1, 0, {}}});
    EXPECT_TRUE(cache->find(Sample(4).problem));
    EXPECT_FALSE(FastrunCache::open(path_)->find(Sample(4).problem)) << "what is stored stays in memory";
    for (size_t length : {10, 5000}) {
        std::vector<std::byte> damaged(length, std::byte('x'));
        EXPECT_THROW(FastrunCache::from_bytes(damaged, "memory"), UserError);
    }
}

// A storage in memory that fails on request.
class Shelf final : public CacheStorage {
public:
    struct Content {
        std::vector<std::byte> bytes;
        bool is_broken = false;
        int writes = 0;
    };
    explicit Shelf(Content& content) : content_(content) {}
    void update(const std::function<std::vector<std::byte>(Bytes)>& change) override {
        if (content_.is_broken) throw UserError("the shelf is broken");
        content_.bytes = change(content_.bytes);
        ++content_.writes;
    }

private:
    Content& content_;
};

TEST(CacheStorage, KeepsOwnAndConcurrentChanges) {
    Shelf::Content shelf;
    auto open = [&] {
        return FastrunCache::from_storage(shelf.bytes, "shelf", std::make_unique<Shelf>(shelf));
    };
    auto one = open(), other = open();
    one->store(Sample(3).problem, {{"fast", 1, 0, {}}});
    EXPECT_EQ(shelf.writes, 1);
    other->store(Sample(4).problem, {{"fast", 1, 0, {}}});  // did not know of the first
    EXPECT_TRUE(other->find(Sample(3).problem)) << "now it does";
    auto rows = open()->rows();
    EXPECT_THAT(rows, SizeIs(2));
    EXPECT_EQ(one->remove(std::span(rows).first(1)), 1u);
    one->compact();
    EXPECT_THAT(open()->rows(), SizeIs(1));
    EXPECT_EQ(one->merge(rows), 1u);
    EXPECT_THAT(open()->rows(), SizeIs(2));
    EXPECT_THAT(open()->verify(), IsEmpty());
}

TEST(CacheStorage, FailureDisablesStorage) {
    Shelf::Content shelf;
    auto strict = FastrunCache::from_storage({}, "shelf", std::make_unique<Shelf>(shelf));
    auto tolerant = FastrunCache::from_storage({}, "shelf", std::make_unique<Shelf>(shelf), true);
    tolerant->store(Sample(3).problem, {{"fast", 1, 0, {}}});
    shelf.is_broken = true;
    EXPECT_THROW(strict->store(Sample(3).problem, {{"fast", 1, 0, {}}}), UserError);
    for (int n : {4, 5}) tolerant->store(Sample(n).problem, {{"fast", 1, 0, {}}});
    for (int n : {3, 4, 5}) EXPECT_TRUE(tolerant->find(Sample(n).problem)) << n;
    shelf.is_broken = false;
    tolerant->store(Sample(6).problem, {{"fast", 1, 0, {}}});
    EXPECT_EQ(shelf.writes, 1) << "who has given up does not begin again";
}

// As a killed process leaves it: the file is nearly empty, and the log beside it holds all.
TEST_F(CacheFile, LongLogIsCheckpointedOnOpen) {
    Sample sample(3);
    std::string left = (folder_ / "left.sqlite").string();
    {
        auto cache = FastrunCache::open(path_);
        for (int i = 0; i < 200; ++i)
            cache->store(sample.problem, {{"way " + std::to_string(i), 1. + i, 0, {}}});
        for (const char* part : {"", "-wal"}) std::filesystem::copy_file(path_ + part, left + part);
    }
    ASSERT_GT(std::filesystem::file_size(left + "-wal"), 256u << 10);
    auto cache = FastrunCache::open(left);
    EXPECT_EQ(std::filesystem::file_size(left + "-wal"), 0u);
    EXPECT_THAT(*cache->find(sample.problem), SizeIs(200));
}

TEST_F(CacheFile, LongLogInUseIsKept) {
    Sample sample(3);
    auto writer = FastrunCache::open(path_);
    for (int i = 0; i < 200; ++i)
        writer->store(sample.problem, {{"way " + std::to_string(i), 1. + i, 0, {}}});
    sqlite3* reader = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &reader), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM measurement", nullptr, nullptr, nullptr),
              SQLITE_OK);
    auto begin = std::chrono::steady_clock::now();
    EXPECT_THAT(*FastrunCache::open(path_)->find(sample.problem), SizeIs(200));
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
    EXPECT_GT(std::filesystem::file_size(path_ + "-wal"), 256u << 10);
    sqlite3_close(reader);
}

TEST_F(CacheFile, ForeignDatabaseIsNotModified) {
    for (const char* version : {"0", "3"}) {
        sql(text("DROP TABLE IF EXISTS bookmarks; CREATE TABLE bookmarks (url TEXT); PRAGMA user_version = ",
                 version));
        auto write = +[](const std::string& path) { return FastrunCache::open(path); };
        auto read = +[](const std::string& path) { return FastrunCache::open_read_only(path); };
        for (auto open : {write, read})
            EXPECT_THAT([&] { open(path_); },
                        testing::ThrowsMessage<ModelError>(HasSubstr("another program")));
    }
    sql("DROP TABLE bookmarks; CREATE TABLE measurement (meter TEXT)");
    EXPECT_THROW(FastrunCache::open_read_only(path_)->rows(), ModelError);
}

TEST_F(CacheFile, DamagedFileIsNamed) {
    std::ofstream(path_) << std::string(8192, 'x');
    try {
        FastrunCache::open(path_);
        FAIL();
    } catch (const UserError& e) {
        EXPECT_THAT(e.what(), HasSubstr(path_));
    }
}

TEST_F(CacheFile, SkipsRowsThatWereChanged) {
    Sample sample(3);
    FastrunCache::open(path_)->store(sample.problem, {{"good", 2, 5, {}}, {"faked", 1, 5, {}}});
    sql("UPDATE measurement SET milliseconds = 0.001 WHERE algorithm = 'faked'");
    auto cache = FastrunCache::open(path_);
    auto found = cache->find(sample.problem);
    ASSERT_TRUE(found);
    ASSERT_THAT(*found, SizeIs(1));
    EXPECT_EQ(found->front().name, "good");
    EXPECT_THAT(cache->verify(), ElementsAre(HasSubstr("'faked'")));
}

TEST_F(CacheFile, EveryColumnIsUnderTheChecksum) {
    for (auto* change :
         {"machine = 'x'", "problem = 'x'", "algorithm = 'x'", "milliseconds = -1", "workspace = -1",
          "workspace = 1", "attributes = 255", "measured_at = 7", "checksum = 0"}) {
        std::filesystem::remove(path_);
        FastrunCache::open(path_)->store(Sample(3).problem, {{"good", 2, 5, {}}});
        EXPECT_THAT(FastrunCache::open(path_)->verify(), IsEmpty());
        sql(std::string("UPDATE measurement SET ") + change);
        EXPECT_THAT(FastrunCache::open(path_)->verify(), SizeIs(1)) << change;
    }
}

TEST_F(CacheFile, UpgradesTheFirstFormat) {
    sql("CREATE TABLE algorithm_time (machine TEXT, problem TEXT, algorithm TEXT, milliseconds REAL, "
        "workspace "
        "INTEGER, attributes INTEGER, PRIMARY KEY (machine, problem, algorithm)) WITHOUT ROWID;"
        "INSERT INTO algorithm_time VALUES ('" +
        FastrunCache::machine() + "', '" + Sample(3).problem.key() + "', 'old', 1.5, 64, 1);" +
        "PRAGMA user_version = 1");
    auto found = FastrunCache::open(path_)->find(Sample(3).problem);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->front().name, "old");
    EXPECT_EQ(found->front().workspace, 64u);
    EXPECT_THAT(FastrunCache::open(path_)->verify(), IsEmpty());
}

// As format 2 was written: no column `doubts`, and a checksum without it.
std::string second_format(const std::string& problem) {
    std::string all = FastrunCache::machine() + '\0' + problem + '\0' + "old" + '\0';
    auto append = [&](auto number) { all.append(reinterpret_cast<const char*>(&number), sizeof number); };
    append(1.5), append(int64_t(64)), append(int64_t(1)), append(int64_t(7));
    auto row = [&](const char* name, int64_t sum) {
        return "INSERT INTO measurement VALUES ('" + FastrunCache::machine() + "', '" + problem + "', '" +
               name + "', 1.5, 64, 1, 7, " + std::to_string(sum) + ");";
    };
    return "CREATE TABLE measurement (machine TEXT NOT NULL, problem TEXT NOT NULL, algorithm TEXT NOT NULL, "
           "milliseconds REAL NOT NULL, workspace INTEGER NOT NULL, attributes INTEGER NOT NULL, "
           "measured_at INTEGER NOT NULL, checksum INTEGER NOT NULL, "
           "PRIMARY KEY (machine, problem, algorithm)) WITHOUT ROWID;" +
           row("old", int64_t(checksum(all))) + row("damaged", 5) + "PRAGMA user_version = 2";
}

TEST_F(CacheFile, MarksRowsOfTheSecondFormatDoubtful) {
    sql(second_format(Sample(3).problem.key()));
    for (bool may_write : {false, true}) {
        auto cache = may_write ? FastrunCache::open(path_) : FastrunCache::open_read_only(path_);
        auto found = cache->find(Sample(3).problem);
        ASSERT_TRUE(found) << may_write;
        ASSERT_THAT(*found, SizeIs(1)) << may_write;
        EXPECT_EQ(found->front().name, "old");
        EXPECT_EQ(found->front().doubts, 1);
        EXPECT_EQ(found->front().doubted_at, 7);
        EXPECT_THAT(cache->verify(), ElementsAre(HasSubstr("'damaged'")));
    }
}

TEST_F(CacheFile, KeepsDoubts) {
    FastrunCache::open(path_)->store(Sample(3).problem, {{"a", 1, 0, {}, 3}, {"b", 2, 0, {}}});
    auto found = FastrunCache::open(path_)->find(Sample(3).problem);
    ASSERT_TRUE(found);
    EXPECT_EQ((*found)[0].doubts, 3);
    EXPECT_GT((*found)[0].doubted_at, 0);
    EXPECT_EQ((*found)[1].doubts, 0);
    EXPECT_TRUE(is_doubtful(*found));
    std::vector<Measurement> slow_one{{"a", 1, 0, {}}, {"b", 2, 0, {}, 1}};
    EXPECT_FALSE(is_doubtful(slow_one)) << "no contender";
}

TEST_F(CacheFile, RefusesLaterFormats) {
    FastrunCache::open(path_);
    sql("PRAGMA user_version = 99");
    try {
        FastrunCache::open(path_);
        FAIL();
    } catch (const ModelError& e) {
        EXPECT_THAT(e.what(), HasSubstr("format 99"));
    }
}

TEST_F(CacheFile, MergeKeepsTheNewer) {
    auto cache = FastrunCache::open(path_);
    std::vector<CacheRow> first{{"m", "p", {"a", 1.0}, 100}, {"m", "p", {"b", 2.0}, 100}};
    EXPECT_EQ(cache->merge(first), 2u);
    std::vector<CacheRow> second{
        {"m", "p", {"a", 9.0}, 50}, {"m", "p", {"b", 8.0}, 200}, {"n", "p", {"a", 7.0}, 1}};
    second.push_back({"m", "q", {"broken", 1.0}, 300, false});
    EXPECT_EQ(cache->merge(second), 2u);
    std::vector<double> times;
    for (auto& row : cache->rows()) times.push_back(row.measured.milliseconds);
    EXPECT_THAT(times, ElementsAre(1, 8, 7));
    EXPECT_EQ(cache->remove(first), 2u);
    EXPECT_THAT(cache->rows(), SizeIs(1));
}

TEST_F(CacheFile, MergePrefersTrustedRows) {
    auto cache = FastrunCache::open(path_);
    auto merged = [&](double ms, int64_t at, int doubts) {
        std::vector<CacheRow> rows{{"m", "p", {"a", ms, 0, {}, doubts}, at}};
        cache->merge(rows);
        return cache->rows().front().measured.milliseconds;
    };
    EXPECT_EQ(merged(1, 100, 1), 1);
    EXPECT_EQ(merged(2, 200, 2), 2) << "newer, doubted like the other";
    EXPECT_EQ(merged(3, 50, 0), 3) << "older, but trusted";
    EXPECT_EQ(merged(4, 300, 1), 3) << "newer, but doubted";
    EXPECT_EQ(merged(5, 300, 0), 5);
}

// By a clock that was ahead, or by who wrote the file: it would win for ever.
TEST_F(CacheFile, MergeTreatsFutureRowsAsOld) {
    constexpr auto latest = std::numeric_limits<int64_t>::max();
    auto cache = FastrunCache::open(path_);
    auto merged = [&](double ms, int64_t at) {
        std::vector<CacheRow> rows{{"m", "p", {"a", ms}, at}};
        cache->merge(rows);
        return cache->rows().front().measured.milliseconds;
    };
    EXPECT_EQ(merged(1, latest), 1) << "there was nothing";
    EXPECT_EQ(merged(2, 100), 2);
    EXPECT_EQ(merged(3, std::time(nullptr) + 1'000'000), 2);
    EXPECT_EQ(merged(4, 200), 4);
}

TEST_F(CacheFile, MergeAcceptsTimesBefore1970) {
    constexpr auto latest = std::numeric_limits<int64_t>::max();
    auto cache = FastrunCache::open(path_);
    auto merged = [&](double ms, int64_t at) {
        std::vector<CacheRow> rows{{"m", "p", {"a", ms}, at}};
        cache->merge(rows);
        return cache->rows().front().measured.milliseconds;
    };
    EXPECT_EQ(merged(1, latest), 1) << "there was nothing";
    EXPECT_EQ(merged(2, -1000), 2) << "a clock that was ahead is the oldest";
    EXPECT_EQ(merged(3, -2000), 2);
    EXPECT_EQ(merged(4, -500), 4);
}

TEST_F(CacheFile, KeepsAvailableAlgorithms) {
    Sample sample(3);
    auto cache = FastrunCache::open(path_);
    EXPECT_EQ(cache->considered(sample.problem), std::nullopt);
    std::string first[] = {"a", "b"}, second[] = {"b", "c"};
    cache->store(sample.problem, {{"a", 1.0}}, first);
    cache->store(sample.problem, {{"b", 2.0}}, second);
    cache = FastrunCache::open(path_);
    EXPECT_THAT(*cache->considered(sample.problem), ElementsAre("a", "b", "c"))
        << "each program knows others";
    EXPECT_EQ(cache->considered(Sample(4).problem), std::nullopt);
    EXPECT_EQ(FastrunCache::open_read_only(path_)->considered(sample.problem), std::nullopt);
    EXPECT_THAT(cache->verify(), IsEmpty());
    cache->remove(cache->rows());
    EXPECT_EQ(cache->considered(sample.problem), std::nullopt);
}

// Files of older programs, without the considered algorithms.
TEST_F(CacheFile, ReadsFilesWithoutAvailableAlgorithms) {
    Sample sample(3);
    FastrunCache::open(path_)->store(sample.problem, {{"a", 1.0}});
    sql("DROP TABLE considered");
    EXPECT_TRUE(FastrunCache::open_read_only(path_)->find(sample.problem));
    auto cache = FastrunCache::open(path_);
    EXPECT_TRUE(cache->find(sample.problem));
    EXPECT_EQ(cache->considered(sample.problem), std::nullopt);
    std::string names[] = {"a"};
    cache->store(sample.problem, {{"a", 1.0}}, names);
    EXPECT_THAT(*cache->considered(sample.problem), ElementsAre("a"));
}

// A folder without write permission, as for another user or on a read-only file system. Root may write in any
// folder, so the file is in a folder that is not writable for root either.
class ReadOnlyFolder : public CacheFile {
protected:
    void SetUp() override {
        CacheFile::SetUp();
        FastrunCache::open(path_)->store(sample_.problem, {{"a", 1, 0, {}}});
        ASSERT_FALSE(std::filesystem::exists(path_ + "-wal"));
        std::filesystem::permissions(path_, std::filesystem::perms(0444));
        std::filesystem::permissions(folder_, std::filesystem::perms(0555));
        drop_privileges();
        if (::faccessat(AT_FDCWD, path_.c_str(), R_OK, AT_EACCESS) != 0)
            GTEST_SKIP() << "the folder for temporary files is closed to other users";
    }
    void TearDown() override {
        EXPECT_EQ(::seteuid(::getuid()), 0);
        std::filesystem::permissions(folder_, std::filesystem::perms(0755));
        CacheFile::TearDown();
    }
    static void drop_privileges() {
        constexpr uid_t unprivileged = 65534;
        if (::getuid() == 0 && ::seteuid(unprivileged) != 0) GTEST_SKIP() << "there is no user 'nobody'";
    }
    Sample sample_{3};
};

TEST_F(ReadOnlyFolder, IsRead) {
    auto cache = FastrunCache::open_read_only(path_);
    EXPECT_TRUE(cache->find(sample_.problem));
    EXPECT_THAT(cache->rows(), SizeIs(1));
    EXPECT_THAT(cache->verify(), IsEmpty());
    EXPECT_THROW(FastrunCache::open(path_), UserError);
}

TEST_F(ReadOnlyFolder, IsReadInTolerantMode) {
    auto cache = FastrunCache::open_tolerant(path_);
    EXPECT_TRUE(cache->find(sample_.problem));
    cache->store(Sample(4).problem, {{"a", 1, 0, {}}});
    EXPECT_FALSE(cache->find(Sample(4).problem));
}

TEST_F(ReadOnlyFolder, WorksWithAnyName) {
    ASSERT_EQ(::seteuid(::getuid()), 0);
    auto odd = folder_ / "a?b#c%41 d\xc3\xa9";
    std::filesystem::permissions(folder_, std::filesystem::perms(0755));
    std::filesystem::create_directory(odd);
    std::filesystem::copy(path_, odd / "cache.sqlite");
    for (auto& folder : {odd, folder_}) std::filesystem::permissions(folder, std::filesystem::perms(0555));
    drop_privileges();
    EXPECT_TRUE(FastrunCache::open_read_only(odd / "cache.sqlite")->find(sample_.problem));
    ASSERT_EQ(::seteuid(::getuid()), 0);
    std::filesystem::permissions(odd, std::filesystem::perms(0755));
}

TEST_F(CacheFile, APipeIsRefusedAtOnce) {
    ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
    auto write = +[](const std::string& path) { return FastrunCache::open(path); };
    auto read = +[](const std::string& path) { return FastrunCache::open_read_only(path); };
    for (auto open : {write, read}) {
        try {
            open(path_);
            FAIL();
        } catch (const UserError& e) {
            EXPECT_THAT(e.what(), HasSubstr("pipe"));
        }
    }
    auto cache = FastrunCache::open_tolerant(path_);
    cache->store(Sample(3).problem, {{"a", 1, 0, {}}});
    EXPECT_TRUE(cache->find(Sample(3).problem));
    EXPECT_THROW(FastrunCache::open(folder_), UserError);
    EXPECT_THROW(FastrunCache::open("/dev/null"), UserError);
}

TEST_F(CacheFile, TolerantModeSkipsDamagedFile) {
    std::ofstream(path_) << std::string(8192, 'x');
    auto cache = FastrunCache::open_tolerant(path_);
    cache->store(Sample(3).problem, {{"a", 1, 0, {}}});
    EXPECT_TRUE(cache->find(Sample(3).problem));
    std::string kept(8192, '\0');
    std::ifstream(path_).read(kept.data(), 8192);
    EXPECT_EQ(kept, std::string(8192, 'x')) << "the file is left alone";
}

TEST_F(CacheFile, TolerantModeSkipsUnwritableFile) {
    auto cache = FastrunCache::open_tolerant("/proc/no/such/cache.sqlite");
    cache->store(Sample(3).problem, {{"a", 1, 0, {}}});
    EXPECT_TRUE(cache->find(Sample(3).problem));
    EXPECT_THROW(FastrunCache::open("/proc/no/such/cache.sqlite"), UserError);
}

TEST_F(CacheFile, TolerantModeReadsReadOnlyFile) {
    FastrunCache::open(path_)->store(Sample(3).problem, {{"a", 1, 0, {}}});
    // A read-only connection is what is left when the file may not be written; root may write any.
    auto cache = FastrunCache::open_read_only(path_);
    EXPECT_TRUE(cache->find(Sample(3).problem));
    EXPECT_THROW(cache->store(Sample(4).problem, {{"a", 1, 0, {}}}), UserError);
}

TEST_F(CacheFile, TimesOfNeighbourhoodsAreSeparate) {
    auto cache = FastrunCache::open(path_);
    auto small = Neighbourhood::of_bytes(1000);
    Sample sample(3);
    auto& problem = sample.problem;
    cache->store(problem, {{"large", 1, 0, {}}});
    cache->store(problem, {{"small", 1, 0, {}}}, {}, small);
    EXPECT_EQ(cache->find(problem)->front().name, "large");
    EXPECT_EQ(cache->find(problem, small)->front().name, "small");
    EXPECT_FALSE(cache->find(problem, Neighbourhood::of_bytes(100'000)));
}

}  // namespace
}  // namespace mge
