// SPDX-License-Identifier: Apache-2.0
// Freeing memory must not allocate, because it must not throw.

#include <gtest/gtest.h>

#include <thread>

#include "libmge/mge.h"
#include "tests/out_of_memory/failing_allocations.h"

namespace mge::test {
namespace {

// On a thread without caches, and without a list for blocks of its size.
long give_up(Tensor tensor, long failing) {
    long allocations = 0;
    device({}).release_cached();
    std::thread([&] {
        fail_allocation(failing);
        tensor = {};
        allocations = stop_failing().seen;
    }).join();
    return allocations;
}

TEST(Destructors, ReleaseTensorsWithoutMemory) {
    auto& cpu = device({});
    size_t before = cpu.memory().allocated;
    for (int64_t n : {1, 1'000'000}) {
        TensorSpec spec{DType::f32, {n}, {}};
        long count = give_up(empty_tensor(spec), 0);
        EXPECT_GT(count, 0) << "nothing could fail";
        for (long failing = 1; failing <= count; ++failing) give_up(empty_tensor(spec), failing);
        EXPECT_EQ(cpu.memory().allocated, before);
    }
    cpu.release_cached();
    EXPECT_LT(cpu.memory().reserved, size_t(1) << 20) << "a block was lost";
}

TEST(Allocator, LosesNoBlockThatCannotBeNoted) {
    auto& cpu = device({});
    cpu.release_cached();
    size_t reserved = cpu.memory().reserved;
    for (long failing = 1; failing <= 4; ++failing) {
        fail_allocation(failing);
        try {
            queue_of(host_device).allocate(3'000'000);
        } catch (const std::exception&) {
        }
        stop_failing();
        cpu.release_cached();
        EXPECT_EQ(cpu.memory().reserved, reserved) << failing;
    }
}

}  // namespace
}  // namespace mge::test
