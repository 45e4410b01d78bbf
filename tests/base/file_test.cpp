// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/files/file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>
#include <vector>

#include "libmge/base/byte_count.h"
#include "libmge/base/env.h"
#include "libmge/base/error.h"
#include "libmge/base/files/file_limit.h"
#include "libmge/base/files/input_pipe.h"
#include "libmge/base/hash.h"
#include "libmge/base/interruption.h"
#include "libmge/base/threads/threads.h"
#include "libmge/base/utf8.h"
#include "tests/harness/nightly.h"
#include "tests/harness/small_stack.h"
#include "tests/new_folder.h"

namespace mge {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Files : public testing::Test {
protected:
    std::filesystem::path folder_ = new_folder("mge_file");
    void TearDown() override { std::filesystem::remove_all(folder_); }
    std::string path(const char* name) const { return (folder_ / name).string(); }
    size_t count() const {
        return size_t(std::distance(std::filesystem::directory_iterator(folder_),
                                    std::filesystem::directory_iterator()));
    }
};

TEST_F(Files, MapsWrittenFiles) {
    write_file_atomically(path("a"), [](std::ostream& s) { s << "hello"; });
    auto file = MappedFile::open(path("a"));
    ASSERT_EQ(file->bytes().size(), 5u);
    EXPECT_EQ(std::memcmp(file->bytes().data(), "hello", 5), 0);
    EXPECT_EQ(count(), 1u) << "no temporary file is left";
}

TEST_F(Files, AreWrittenOnSmallStacks) {
    test::on_small_stack([&] { write_file_atomically(path("a"), [](std::ostream& s) { s << "hello"; }); });
    EXPECT_EQ(std::filesystem::file_size(path("a")), 5u);
}

TEST_F(Files, MayBePrivate) {
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

TEST_F(Files, DyingProcessLeavesNoFiles) {
    std::ofstream(path("a")) << "old";
    int fd = ::open(folder_.c_str(), O_TMPFILE | O_WRONLY, 0600);
    if (fd < 0) GTEST_SKIP() << "this file system does not support O_TMPFILE";
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

// Writes version after version, each in many pieces, and reports each one that is written.
[[noreturn]] void write_versions(const std::string& path, unsigned version, int report) {
    for (;; ++version) {
        write_file_atomically(path, [&](std::ostream& s) {
            for (int i = 0; i < 2000; ++i)
                s.write(reinterpret_cast<const char*>(&version), sizeof version) << std::flush;
        });
        if (::write(report, &version, sizeof version) != sizeof version) ::_exit(1);
    }
}

// Returns the version that the whole file contains, or 0.
unsigned version_of(const std::string& path) {
    auto file = MappedFile::open(path);
    std::vector<unsigned> words(file->bytes().size() / sizeof(unsigned));
    if (words.size() != 2000) return 0;
    std::memcpy(words.data(), file->bytes().data(), file->bytes().size());
    return std::ranges::count(words, words[0]) == 2000 ? words[0] : 0;
}

// MGE_NIGHTLY=1 kills more of them.
TEST_F(Files, KilledWritersLeaveTheOldOrTheNewFile) {
    std::mt19937 random(3);
    unsigned last = 0;
    for (int kill = 0; kill < (test::is_nightly() ? 3000 : 60); ++kill) {
        int ends[2];
        ASSERT_EQ(::pipe(ends), 0);
        pid_t writer = ::fork();
        if (writer == 0) write_versions(path("a"), last + 1, ends[1]);
        ::close(ends[1]);
        unsigned reported = 0;
        ASSERT_EQ(::read(ends[0], &reported, sizeof reported), ssize_t(sizeof reported));
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 10'000));
        ::kill(writer, SIGKILL);
        ::waitpid(writer, nullptr, 0);
        last = reported;
        while (::read(ends[0], &reported, sizeof reported) == ssize_t(sizeof reported)) last = reported;
        ::close(ends[0]);
        unsigned version = version_of(path("a"));
        ASSERT_TRUE(version == last || version == last + 1) << version << " after " << last;
        last = version;
    }
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
    EXPECT_THROW(write_file_atomically("/proc/nonexistent/a", [](std::ostream&) {}), UserError);
    EXPECT_THROW(write_file_atomically("/dev/full", [](std::ostream& s) { s << "x"; }), UserError);
}

// An attacker who can write to the folder plants links for every predictable name.
TEST_F(Files, PlantedLinksAreNotFollowed) {
    std::ofstream(path("victim")) << "precious";
    for (int near = -5; near < 5; ++near)
        for (auto* form : {"a.part.", ".a.part.", ".part.", "a.", ".a."})
            std::filesystem::create_symlink(path("victim"), path(form) + std::to_string(::getpid() + near));
    write_file_atomically(path("a"), [](std::ostream& s) { s << "new"; });
    EXPECT_FALSE(std::filesystem::is_symlink(path("a")));
    EXPECT_EQ(read_text(path("a")), "new");
    EXPECT_EQ(read_text(path("victim")), "precious");
}

TEST_F(Files, SpecialFilesAreNotReplaced) {
    auto write = [&](const char* name) {
        write_file_atomically(
            path(name), [](std::ostream& s) { s << "new"; }, FileReaders::owner, Replace::no);
    };
    write("fresh");
    EXPECT_EQ(read_text(path("fresh")), "new");
    EXPECT_THROW(write("fresh"), UserError);
    std::filesystem::create_symlink(path("nowhere"), path("dangling"));
    EXPECT_THROW(write("dangling"), UserError);
    EXPECT_FALSE(std::filesystem::exists(path("nowhere")));
    EXPECT_EQ(count(), 2u);
}

TEST_F(Files, LongNamesAllowTemporaryNames) {
    std::string name(255, 'n');
    write_file_atomically(path(name.c_str()), [](std::ostream& s) { s << "x"; });
    EXPECT_EQ(read_text(path(name.c_str())), "x");
}

TEST_F(Files, PipeWithoutWriterIsRefused) {
    ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
    EXPECT_THAT([&] { MappedFile::open(path("pipe")); },
                testing::ThrowsMessage<UserError>(HasSubstr("a pipe without a writer")));
    EXPECT_THROW(read_text("/dev/zero"), UserError);
}

std::thread writer_to(const std::string& pipe, const std::string& content) {
    return std::thread([=] { std::ofstream(pipe) << content; });
}

TEST_F(Files, NamedPipeIsReadAgainByEachOpen) {
    std::string pipe = path("pipe");
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    for (std::string content : {"first", "second"}) {
        auto writer = writer_to(pipe, content);
        EXPECT_EQ(read_text(pipe), content);
        writer.join();
    }
    EXPECT_THAT([&] { read_text(pipe); }, testing::ThrowsMessage<UserError>(HasSubstr("without a writer")));
}

TEST_F(Files, ANamedPipeKeepsItsContentInAScope) {
    std::string pipe = path("pipe");
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    {
        PipeScope outer;
        auto writer = writer_to(pipe, "first");
        EXPECT_EQ(read_text(pipe), "first");
        writer.join();
        {
            PipeScope inner;
            EXPECT_EQ(read_text(pipe), "first");
        }
        EXPECT_EQ(read_text(pipe), "first");
    }
    auto writer = writer_to(pipe, "second");
    EXPECT_EQ(read_text(pipe), "second");
    writer.join();
}

void give_up() {
    static int calls = 0;
    if (++calls > 2) throw UserError("interrupted");
}

TEST_F(Files, TheWaitForAStalledWriterIsInterrupted) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    ASSERT_EQ(::write(ends[1], "begin", 5), 5);
    set_interruption(give_up);
    std::string place = text("/dev/fd/", ends[0]);
    EXPECT_THAT([&] { read_text(place); }, testing::ThrowsMessage<UserError>(HasSubstr("interrupted")));
    set_interruption(nullptr);
    ::close(ends[1]);
    ::close(ends[0]);
}

TEST_F(Files, PipeWithoutReaderIsNotWritten) {
    std::string pipe = path("pipe");
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    auto write = [&] { write_file_atomically(pipe, [](std::ostream& s) { s << "content"; }); };
    EXPECT_THAT(write, testing::ThrowsMessage<UserError>(HasSubstr("a pipe without a reader")));
    set_interruption([] { throw UserError("interrupted"); });
    EXPECT_THAT(write, testing::ThrowsMessage<UserError>(HasSubstr("interrupted")));
    set_interruption(nullptr);
}

TEST_F(Files, PipeIsWrittenWhenItsReaderReads) {
    std::string pipe = path("pipe"), content(300'000, 'c'), found;
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    std::thread reader([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        std::ifstream stream(pipe);
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        found.assign(std::istreambuf_iterator(stream), {});
    });
    write_file_atomically(pipe, [&](std::ostream& s) { s << content; });
    reader.join();
    EXPECT_EQ(found, content);
}

TEST_F(Files, TheWaitForAStalledReaderIsInterrupted) {
    std::string pipe = path("pipe");
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
    set_interruption([] { throw UserError("interrupted"); });
    auto write = [&] {
        write_file_atomically(pipe, [](std::ostream& s) {
            for (int i = 0; i < 30; ++i) s << std::string(10'000, 'c');
        });
    };
    EXPECT_THAT(write, testing::ThrowsMessage<UserError>(HasSubstr("interrupted")));
    set_interruption(nullptr);
    ::close(reader);
}

TEST_F(Files, PipeContentCanBeReadRepeatedly) {
    std::string content(300'000, 'c');
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    std::thread writer([&] {
        for (size_t at = 0; at < content.size();)
            at += size_t(::write(ends[1], &content[at], content.size() - at));
        ::close(ends[1]);
    });
    std::string place = text("/dev/fd/", ends[0]);
    EXPECT_EQ(read_text(place), content);
    writer.join();
    auto mapped = MappedFile::open(place);
    ASSERT_EQ(mapped->bytes().size(), content.size());
    release_pages(mapped->bytes());
    EXPECT_EQ(mapped->bytes()[70'000], std::byte{'c'});
    EXPECT_EQ(read_text(place), content);
    ::close(ends[0]);
}

TEST_F(Files, PipeContentIsLimited) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    ASSERT_EQ(::write(ends[1], "more than that", 14), 14);
    ::close(ends[1]);
    set_file_limit(10);
    EXPECT_THAT([&] { read_text(text("/dev/fd/", ends[0])); },
                testing::ThrowsMessage<ModelError>(
                    AllOf(HasSubstr("requests 14 B of memory"), HasSubstr("--file-limit"))));
    set_file_limit(uint64_t(1) << 30);
    ::close(ends[0]);
}

TEST(FileBudget, CountsConsumedBytes) {
    std::string label = "a";
    set_file_limit(100);
    FileBudget small(label, 20), large(label, 1000);
    small.take(60);
    EXPECT_THROW(small.take(41), ModelError);
    small.take(40);
    large.take(1000);
    EXPECT_THROW(FileBudget(label, 0).take(uint64_t(1) << 33, uint64_t(1) << 33), ModelError);
    set_file_limit(uint64_t(1) << 30);
}

TEST(ByteCount, IsReadAndWritten) {
    EXPECT_EQ(byte_count("1.5KiB"), 1536u);
    EXPECT_EQ(byte_count("2 gb"), uint64_t(2) << 30);
    EXPECT_EQ(byte_count("7"), 7u);
    for (auto* wrong : {"", "-1", "x", "1X", "nan", "1e300"}) EXPECT_EQ(byte_count(wrong), std::nullopt);
    EXPECT_EQ(byte_count_text(1536), "1.5 KiB");
    EXPECT_EQ(byte_count_text(700), "700 B");
    EXPECT_EQ(byte_count_text(uint64_t(3) << 30), "3 GiB");
}

TEST(Utf8, InvalidTextIsHandled) {
    EXPECT_EQ(printable("a\x1b[31m\nb\x7f\t"), "a\\x1b[31m\\nb\\x7f\\x09");
    EXPECT_EQ(printable("\u00e4\u4e16\U0001f600"), "\u00e4\u4e16\U0001f600");
    EXPECT_EQ(printable("\xc2\x9b"
                        "31m"),
              "\\u009b31m");
    EXPECT_EQ(printable("\u202eabc\u2028"), "\\u202eabc\\u2028");
    EXPECT_EQ(printable("\xff\xfe"), "\\xff\\xfe");
    EXPECT_EQ(with_escaped_bytes("\xff\u00e4\n"), "\\xff\u00e4\n");
    EXPECT_EQ(valid_utf8("\xff"), "\xef\xbf\xbd");
    EXPECT_TRUE(is_utf8("\u00e4\U0001f600"));
    EXPECT_FALSE(is_utf8("\xed\xa0\x80"));
}

TEST_F(Files, DeviceFileIsWrittenInPlace) {
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

TEST(Errors, InternalErrorsNameTheirLocation) {
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
