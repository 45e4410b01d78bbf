// SPDX-License-Identifier: Apache-2.0
// Packed weights that one process leaves in a folder for the next.
#include "libmge/kernel/packed_weight_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "libmge/base/files/file.h"
#include "libmge/kernel/packed_copies.h"
#include "libmge/mge.h"
#include "tests/new_folder.h"
#include "tests/passes/same_graph.h"

namespace mge::test {
namespace {

namespace fs = std::filesystem;

constexpr int64_t channels = 128;
constexpr size_t weight_bytes = channels * channels * 9 * sizeof(float);

Tensor ramp(const Shape& shape, int step = 7) {
    std::vector<float> values(size_t(shape.numel()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = float(int(i) * step % 23 - 11) / 40;
    return constant(shape, values);
}

// `step`: nets with other steps have other weights.
Graph convolution(int step = 7) {
    return record({f32({1, channels, 12, 12})}, [&](const Tensors& x) {
        return Tensors{ops::conv2d(x[0], ramp({channels, channels, 3, 3}, step), {.padding = {1, 1}})};
    });
}

CompileOptions options(PackedWeightCache& cache) {
    CompileOptions o;
    o.threads = 1;
    o.select.weight_cache = &cache;
    return o;
}

// The outputs, and whether the program's packed weight is in a mapped file.
struct Outcome {
    std::vector<float> y;
    bool is_from_file = false;
};

Outcome run(CompileOptions options, int step = 7) {
    PackedCopyNotes notes;
    options.select.packed_copies = &notes;
    auto program = Program::compile(convolution(step), options);
    auto context = Context::create(program);
    context->fill_inputs(Tensors{ramp({1, channels, 12, 12})});
    context->run();
    context->wait();
    Tensor y = context->output(0);
    auto copies = notes.living();
    Outcome result;
    result.y.resize(size_t(y.spec().bytes() / sizeof(float)));
    std::memcpy(result.y.data(), y.data(), y.spec().bytes());
    result.is_from_file = copies.size() == 1 && is_mapped(copies[0].data);
    return result;
}

class PackedWeightCacheTest : public testing::Test {
protected:
    PackedWeightCacheTest() : folder_(temporary_.file("weights")) {}
    std::string the_file() const {
        auto entries = PackedWeightCache(folder_).entries();
        return entries.size() == 1 ? entries[0].path : std::string();
    }

    NewFolder temporary_{"mge_packed_weights"};
    std::string folder_;
};

TEST_F(PackedWeightCacheTest, NextProgramMapsTheCopy) {
    PackedWeightCache cache(folder_);
    Outcome first = run(options(cache));
    EXPECT_FALSE(first.is_from_file);
    ASSERT_EQ(cache.entries().size(), 1u);
    EXPECT_GE(cache.entries()[0].bytes, weight_bytes);
    Outcome second = run(options(cache));
    EXPECT_TRUE(second.is_from_file);
    EXPECT_EQ(first.y, second.y);
}

TEST_F(PackedWeightCacheTest, OtherWeightsHaveOtherCopies) {
    PackedWeightCache cache(folder_);
    run(options(cache));
    EXPECT_FALSE(run(options(cache), 5).is_from_file);
    EXPECT_EQ(cache.entries().size(), 2u);
    EXPECT_TRUE(run(options(cache), 5).is_from_file);
}

TEST_F(PackedWeightCacheTest, IsOffWithoutTheOption) {
    PackedWeightCache cache(folder_);
    auto plain = options(cache);
    plain.select.weight_cache = nullptr;
    run(plain);
    EXPECT_FALSE(fs::exists(folder_));
}

TEST_F(PackedWeightCacheTest, DamagedCopyIsPackedAgain) {
    PackedWeightCache cache(folder_);
    Outcome first = run(options(cache));
    for (long at : {0L, 9L, 30L, 64L, 100000L}) {
        std::fstream file(the_file(), std::ios::in | std::ios::out | std::ios::binary);
        file.seekg(at);
        char byte = char(file.get());
        file.seekp(at);
        file.put(char(byte ^ 0x40));
        file.close();
        Outcome again = run(options(cache));
        EXPECT_FALSE(again.is_from_file) << at;
        EXPECT_EQ(again.y, first.y) << at;
        EXPECT_TRUE(run(options(cache)).is_from_file) << at;
    }
    fs::resize_file(the_file(), 1000);
    EXPECT_EQ(run(options(cache)).y, first.y);
}

TEST_F(PackedWeightCacheTest, FileThatOthersCanWriteIsNotRead) {
    PackedWeightCache cache(folder_);
    run(options(cache));
    std::string file = the_file();
    ASSERT_EQ(::chmod(file.c_str(), 0666), 0);
    EXPECT_FALSE(run(options(cache)).is_from_file);
    fs::remove(file);
    fs::create_symlink("/dev/zero", file);
    EXPECT_FALSE(run(options(cache)).is_from_file);
}

TEST_F(PackedWeightCacheTest, FolderThatCannotBeMadeCostsNothingElse) {
    std::ofstream(folder_) << "a file";
    PackedWeightCache cache(folder_);
    PackedWeightCache elsewhere(temporary_.file("elsewhere"));
    EXPECT_EQ(run(options(cache)).y, run(options(elsewhere)).y);
    EXPECT_TRUE(cache.entries().empty());
}

TEST_F(PackedWeightCacheTest, RemovesWhatWasNotUsedForLongest) {
    PackedWeightCache unlimited(folder_);
    run(options(unlimited), 3);
    std::string oldest = the_file();
    PackedWeightCache cache(folder_, 5 * fs::file_size(oldest) / 2);
    timespec past[2]{{1000, 0}, {1000, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, oldest.c_str(), past, 0), 0);
    run(options(cache), 5);
    run(options(cache), 9);
    EXPECT_EQ(cache.entries().size(), 2u);
    EXPECT_FALSE(fs::exists(oldest));
}

TEST_F(PackedWeightCacheTest, AUseMakesAnEntryYoung) {
    PackedWeightCache cache(folder_);
    run(options(cache));
    timespec past[2]{{1000, 0}, {1000, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, the_file().c_str(), past, 0), 0);
    run(options(cache));
    EXPECT_GT(cache.entries()[0].used_at, 1000);
}

TEST_F(PackedWeightCacheTest, ThreadsAndChildrenShareIt) {
    PackedWeightCache cache(folder_);
    auto expected = run(options(cache)).y;
    fs::remove(the_file());
    std::vector<std::vector<float>> results(4);
    std::vector<std::thread> threads;
    for (auto& result : results) threads.emplace_back([&] { result = run(options(cache)).y; });
    for (auto& thread : threads) thread.join();
    for (auto& result : results) EXPECT_EQ(result, expected);
    pid_t child = ::fork();
    if (child == 0) ::_exit(run(options(cache)).is_from_file ? 0 : 1);
    int status = 1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace mge::test
