// SPDX-License-Identifier: Apache-2.0
#include "libmge/device/default_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "libmge/device/cpu/memory_limit.h"
#include "libmge/inspect/memory.h"
#include "tests/emulator.h"

namespace mge {
namespace {

using testing::HasSubstr;

template <class E, class Fn>
std::string message_of(Fn fn) {
    try {
        fn();
    } catch (const E& e) {
        return e.what();
    }
    return "no error of this kind";
}

TEST(Device, NamesAreReadAndWritten) {
    EXPECT_EQ(logical_name(parse_device("xpux")), "xpux:0");
    EXPECT_EQ(physical_name(parse_device("xpux")), "cpu0:0");
    EXPECT_EQ(logical_name(parse_device("cpu1:2")), "cpu1:2");
    EXPECT_EQ(logical_name(parse_device("multithread2:0")), "cpu2:0");
    EXPECT_EQ(logical_name(parse_device("cpu:default")), "cpu0:0");
    EXPECT_EQ(logical_name(parse_device("multithread:default:4")), "cpu0:0");
    EXPECT_FALSE(parse_device("cpu0") == parse_device("cpu1"));
}

TEST(Device, WrongNamesListExpectedOnes) {
    for (auto* name : {"", "cpu", "tpu0", "cpu0:", "cpu-1", "cpu999", "0",
                       "multithread:default:", "multithread:default:a"})
        EXPECT_THAT(message_of<UserError>([&] { parse_device(name); }), HasSubstr("is not a device name"))
            << name;
    EXPECT_THAT(message_of<DeviceError>([] { parse_device("gpu0"); }), HasSubstr("no CUDA backend"));
}

class Memory : public testing::Test {
protected:
    Device& cpu_ = device(host_device);
    Queue& queue_ = queue_of(host_device);
    void TearDown() override { cpu_.set_memory_limit(0); }
};

TEST_F(Memory, IsAlignedAndCounted) {
    size_t before = cpu_.memory().allocated;
    for (size_t bytes : {0, 1, 63, 64, 65, 4096, 100'000, 3'000'000}) {
        StorageRef block = queue_.allocate(bytes);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(block->data) % 64, 0u);
        EXPECT_GE(block->bytes, bytes);
        EXPECT_LE(block->bytes, std::max<size_t>(64, bytes * 5 / 4 + 64));
        EXPECT_GE(cpu_.memory().allocated, before + bytes);
    }
    EXPECT_EQ(cpu_.memory().allocated, before);
}

TEST_F(Memory, IsCachedTheSecondTime) {
    void* data = queue_.allocate(5'000'000)->data;
    size_t reserved = cpu_.memory().reserved;
    EXPECT_EQ(queue_.allocate(5'000'000)->data, data);
    EXPECT_EQ(cpu_.memory().reserved, reserved);
    cpu_.release_cached();
    EXPECT_LT(cpu_.memory().reserved, reserved);
}

// Fills each block with another byte. Returns false if a block has changed since: its memory is another's,
// too.
bool are_apart(const std::vector<StorageRef>& blocks) {
    auto byte_of = [](size_t i) { return std::byte(i + 1); };
    for (size_t i = 0; i < blocks.size(); ++i)
        std::memset(blocks[i]->data, int(byte_of(i)), blocks[i]->bytes);
    for (size_t i = 0; i < blocks.size(); ++i) {
        std::span bytes(static_cast<const std::byte*>(blocks[i]->data), blocks[i]->bytes);
        if (std::ranges::any_of(bytes, [&](std::byte b) { return b != byte_of(i); })) return false;
    }
    return true;
}

// As the past of a language model does: a value of each size replaces the one before.
TEST_F(Memory, GrowingValuesUseTheMemoryOfFormerSizes) {
    cpu_.release_cached();
    cpu_.reset_peak();
    const size_t reserved = cpu_.memory().reserved, allocated = cpu_.memory().allocated;
    for (auto [least, most] : {std::pair<size_t, size_t>{100 << 10, 2 << 20}, {2 << 20, 5 << 20}}) {
        std::vector<StorageRef> values(8);
        for (size_t bytes = least; bytes <= most; bytes += bytes / 48)
            for (auto& value : values) {
                value = queue_.allocate(bytes);
                EXPECT_EQ(reinterpret_cast<uintptr_t>(value->data) % 64, 0u);
                EXPECT_GE(value->bytes, bytes);
            }
        EXPECT_TRUE(are_apart(values));
        const size_t held = cpu_.memory().reserved - reserved, live = cpu_.memory().allocated - allocated;
        EXPECT_LE(held, live + live / 8 + (96 << 20)) << most;
    }
    cpu_.release_cached();
    EXPECT_EQ(cpu_.memory().allocated, allocated);
    EXPECT_LE(cpu_.memory().reserved, reserved);
}

TEST_F(Memory, ShrinkingValuesUseTheMemoryOfFormerSizes) {
    cpu_.release_cached();
    cpu_.reset_peak();
    std::vector<StorageRef> values(8);
    for (size_t bytes = 4 << 20; bytes >= 100 << 10; bytes -= bytes / 48)
        for (auto& value : values) value = queue_.allocate(bytes);
    EXPECT_TRUE(are_apart(values));
    EXPECT_LE(cpu_.memory().reserved, 10 * cpu_.memory().peak);
}

// Their sum is some times what is in use at once.
TEST_F(Memory, SizesThatReturnStayCached) {
    cpu_.release_cached();
    auto run = [&] {
        for (size_t bytes = 5 << 20; bytes <= 20 << 20; bytes += 3 << 20) queue_.allocate(bytes);
    };
    for (int i = 0; i < 10; ++i) run();
    cpu_.reset_peak();
    const size_t reserved = cpu_.memory().reserved;
    for (int i = 0; i < 10; ++i) run();
    EXPECT_EQ(cpu_.memory().reserved, reserved);
    EXPECT_EQ(cpu_.memory().peak_reserved, reserved);
}

// In the heap they would leave stretches that are advised to be huge pages: small allocations would take
// 2 MB.
TEST_F(Memory, LargeBlocksAreReturned) {
    constexpr size_t large = 5'000'000, small = 3000;
    auto seen = [] { return settled_process_memory(); };
    ProcessMemory before = seen();
    size_t in_heap = cpu_.memory().in_heap;
    for (int round = 0; round < 3; ++round) {
        std::vector<StorageRef> blocks;
        for (int i = 0; i < 8; ++i) {
            blocks.push_back(queue_.allocate(large));
            std::memset(blocks.back()->data, 1, large);
        }
        ProcessMemory now = seen();
        EXPECT_GE(now.anonymous, before.anonymous + 8 * large);
        EXPECT_LT(now.heap, before.heap + large);
        EXPECT_EQ(cpu_.memory().in_heap, in_heap);
    }
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the figures include the sanitizer's memory";
#endif
    if (test::runs_in_qemu()) GTEST_SKIP() << "the figures include the memory of qemu";
    seen();
    std::vector<std::string> strings;
    for (int i = 0; i < 100; ++i) strings.emplace_back(small, 'x');
    EXPECT_LE(seen().anonymous, before.anonymous + 100 * small + (1 << 20));
}

TEST_F(Memory, LimitIsKeptAndNamed) {
    size_t in_use = cpu_.memory().allocated;
    cpu_.set_memory_limit(in_use + 1'000'000);
    EXPECT_THAT(message_of<MemoryError>([&] { queue_.allocate(2'000'000); }),
                HasSubstr("cannot allocate 2000000 bytes"));
    EXPECT_EQ(cpu_.memory().allocated, in_use) << "a refused request leaves nothing behind";
    queue_.allocate(500'000);
}

TEST_F(Memory, ChargedBytesCountAgainstTheLimit) {
    auto in_use = ptrdiff_t(cpu_.memory().allocated);
    set_cpu_memory_limit(1'000'000, -in_use);
    auto held = queue_.allocate(500'000);
    std::string counted = std::to_string(ptrdiff_t(cpu_.memory().allocated) - in_use);
    EXPECT_THAT(message_of<MemoryError>([&] { queue_.allocate(600'000); }),
                HasSubstr(counted + " of the limit of 1000000 bytes are in use"));
    charge_to_cpu_memory_limit(400'000);
    EXPECT_THROW(queue_.allocate(200'000), MemoryError);
    queue_.allocate(50'000);
}

TEST_F(Memory, AbsurdSizesAreRefused) {
    EXPECT_THROW(queue_.allocate(size_t(1) << 60), MemoryError);
    EXPECT_THROW(queue_.allocate(SIZE_MAX), MemoryError);
}

TEST_F(Memory, PeakIsRemembered) {
    cpu_.reset_peak();
    size_t start = cpu_.memory().peak;
    queue_.allocate(10'000'000);
    EXPECT_GE(cpu_.memory().peak, start + 10'000'000);
    cpu_.reset_peak();
    EXPECT_LT(cpu_.memory().peak, start + 10'000'000);
}

TEST(Device, NonzeroBytesAreTrue) {
    Tensor truths = tensor_from_host({DType::boolean, {4}, {}}, "\0\1\2\xda");
    EXPECT_EQ(std::memcmp(truths.data(), "\0\1\1\1", 4), 0);
}

TEST_F(Memory, BlocksMayDieOnAnotherThread) {
    size_t before = cpu_.memory().allocated;
    for (int round = 0; round < 50; ++round) {
        std::vector<StorageRef> blocks;
        for (size_t i = 0; i < 100; ++i) blocks.push_back(queue_.allocate(i * 7));
        std::thread([moved = std::move(blocks)]() mutable { moved.clear(); }).join();
    }
    EXPECT_EQ(cpu_.memory().allocated, before);
}

}  // namespace
}  // namespace mge
