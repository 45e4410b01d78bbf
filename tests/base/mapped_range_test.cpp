// SPDX-License-Identifier: Apache-2.0
// Files that are cut short while they are mapped.
#include "libmge/base/files/mapped_range.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "libmge/base/files/file.h"
#include "libmge/base/files/pages.h"
#include "tests/new_folder.h"

namespace mge {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

class CutFiles : public testing::Test {
protected:
    std::filesystem::path folder_ = new_folder("mge_cut");
    std::string path_ = (folder_ / "a").string();
    const size_t bytes_ = 8 * page_size();
    void SetUp() override { std::ofstream(path_) << std::string(bytes_, 'x'); }
    void TearDown() override { std::filesystem::remove_all(folder_); }
    void cut(size_t bytes) { std::filesystem::resize_file(path_, bytes); }
};

size_t count_x(const MappedFile& file) { return size_t(std::ranges::count(file.bytes(), std::byte('x'))); }

TEST_F(CutFiles, ReadAsZerosAndAreErrorsAfterwards) {
    auto file = MappedFile::open(path_);
    int before = cut_files();
    cut(3 * page_size());
    EXPECT_FALSE(file->is_cut()) << "nobody has read what is lost";
    EXPECT_EQ(count_x(*file), 3 * page_size());
    EXPECT_TRUE(file->is_cut());
    EXPECT_EQ(cut_files(), before + 1);
    EXPECT_THAT([&] { file->require_whole(); }, ThrowsMessage<ModelError>(HasSubstr(path_)));
    // A new mapping in its place begins afresh.
    file.reset();
    auto again = MappedFile::open(path_);
    EXPECT_EQ(count_x(*again), 3 * page_size());
    EXPECT_FALSE(again->is_cut());
    again->require_whole();
}

TEST_F(CutFiles, AreErrorsBeforeReading) {
    auto file = MappedFile::open(path_);
    cut(bytes_ - 1);
    EXPECT_THAT([&] { file->require_whole(); }, ThrowsMessage<ModelError>(HasSubstr("are left")));
    EXPECT_EQ(MappedFile::of(file->bytes().data() + 1), file.get());
    EXPECT_EQ(MappedFile::of(&file), nullptr);
}

TEST_F(CutFiles, MayBeReplacedOrRemoved) {
    auto file = MappedFile::open(path_);
    write_file_atomically(path_, [](std::ostream& stream) { stream << "short"; });
    EXPECT_EQ(count_x(*file), bytes_);
    file->require_whole();
    std::filesystem::remove(path_);
    EXPECT_EQ(count_x(*file), bytes_);
    file->require_whole();
}

TEST_F(CutFiles, MayBeReadByManyThreads) {
    auto file = MappedFile::open(path_);
    cut(page_size());
    std::vector<size_t> counts(4);
    {
        std::vector<std::jthread> threads;
        for (auto& count : counts) threads.emplace_back([&] { count = count_x(*file); });
    }
    EXPECT_THAT(counts, testing::Each(page_size()));
}

TEST_F(CutFiles, AreNotCopiedToNewFiles) {
    auto file = MappedFile::open(path_);
    auto target = (folder_ / "copy").string();
    auto copy = [&](std::ostream& stream) {
        cut(page_size());
        for (auto byte : file->bytes()) stream << char(byte);
    };
    EXPECT_THROW(write_file_atomically(target, copy), ModelError);
    EXPECT_FALSE(std::filesystem::exists(target));
}

TEST_F(CutFiles, DoNotMatterToCopies) {
    ::setenv("MGE_MAP_FILES", "0", 1);
    auto file = MappedFile::open(path_);
    ::unsetenv("MGE_MAP_FILES");
    cut(page_size());
    EXPECT_EQ(count_x(*file), bytes_);
    EXPECT_FALSE(is_mapped(file->bytes().data()));
}

// Mappings of others: their owner's handler is called, or the process ends as without ours.
TEST_F(CutFiles, SignalsOfOtherMappingsAreForwarded) {
    MappedFile::open(path_);  // the handler is there
    int fd = ::open(path_.c_str(), O_RDONLY);
    void* theirs = ::mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE, fd, 0);
    ASSERT_NE(theirs, MAP_FAILED);
    cut(0);
#ifdef __SANITIZE_ADDRESS__
    auto ended = testing::ExitedWithCode(1);  // by the sanitizer's own handler
#elif defined(__SANITIZE_THREAD__)
    auto ended = testing::ExitedWithCode(66);
#else
    auto ended = testing::KilledBySignal(SIGBUS);
#endif
    EXPECT_EXIT((void)*static_cast<volatile char*>(theirs), ended, "");
    ::munmap(theirs, bytes_);
    ::close(fd);
}

}  // namespace
}  // namespace mge
