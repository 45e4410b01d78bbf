// SPDX-License-Identifier: Apache-2.0
// The CUDA backend as a device: memory, queues, events, errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <numeric>
#include <thread>

#include "libmge/device/cuda/library.h"
#include "libmge/mge.h"
#include "tests/harness/check_op.h"
#include "tests/harness/expect_error.h"
#include "tests/harness/other_device.h"
#include "tests/shadow/values.h"

namespace mge::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

DeviceId gpu() { return other_device().id; }

std::vector<float> counted(size_t n) {
    std::vector<float> values(n);
    std::iota(values.begin(), values.end(), 0.f);
    return values;
}

TEST(Cuda, AcceptsGpuNames) {
    EXPECT_EQ(parse_device("gpu0"), parse_device("cuda0"));
    EXPECT_EQ(physical_name(parse_device("gpu0:3")), "gpu0:3");
    EXPECT_THAT(error_of<DeviceError>([] { parse_device("gpu200"); }),
                HasSubstr("does not exist: there are"));
    EXPECT_FALSE(device(gpu()).model().empty());
    EXPECT_THAT(device(gpu()).fingerprint(), HasSubstr("sm_"));
}

TEST(Cuda, ALibraryThatIsMissingIsNamed) {
    cuda::Library library("libnothing.so.7", "nothing");
    EXPECT_THAT(library.why_not(), HasSubstr("cannot open libnothing.so.7"));
    void (*function)() = nullptr;
    library.take(function, "anything");
    EXPECT_EQ(function, nullptr);
}

TEST(Cuda, AMatrixWithoutInverseIsNamed) {
    Tensor x = ops::reshape(on(gpu(), {1, 2, 0, 3}), {.shape = {4, 1, 1}});
    EXPECT_THAT(error_of<UserError>([&] { ops::matinv(x); }), HasSubstr("matrix 2 of x is singular"));
}

TEST(Cuda, InvalidOperandsGiveTheMessagesOfTheCpu) {
    auto there = [](const Tensor& tensor) { return to_device(tensor, gpu()); };
    Tensor state = there(tensor_of<int32_t>({2}, {1, 2})), weights = on(gpu(), {1, -1, 2});
    EXPECT_THAT(error_of<UserError>([&] { ops::multinomial(state, weights); }),
                HasSubstr("weight 1 of row 0 is -1"));
    Tensor byte = there(tensor_of<uint8_t>({1}, {0})), number = there(tensor_of<int32_t>({1}, {0}));
    Tensor children = there(tensor_of<int32_t>({1, 2}, {5, 6})), x = there(tensor_of<float>({1, 1}, {1}));
    Tensor real = on(gpu(), {1});
    EXPECT_THAT(error_of<UserError>([&] {
                    ops::tree_ensemble({x, byte, number, real, children, byte, number, number, real});
                }),
                HasSubstr("node 0 of 1 has the child 5"));
}

TEST(Cuda, ValuesRoundTrip) {
    for (size_t n : {1, 1000, 300'000}) {
        auto values = counted(n);
        EXPECT_EQ(floats_of(on(gpu(), values)), values) << n;
    }
    EXPECT_THAT(error_of([&] { on(gpu(), {1}).data<float>(); }), HasSubstr("copy it to the host first"));
}

TEST(Cuda, FreedMemoryIsUsedAgainAndJoined) {
    auto& there = device(gpu());
    auto& queue = there.queue(7);  // which has blocks of its own
    there.release_cached();
    size_t before = there.memory().reserved, allocated = there.memory().allocated;
    {
        auto first = queue.allocate(600'000), second = queue.allocate(600'000);
        EXPECT_EQ(there.memory().reserved, before + (size_t(2) << 20)) << "both are cut of one segment";
        EXPECT_GE(there.memory().allocated, allocated + 1'200'000);
    }
    size_t reserved = there.memory().reserved;
    auto whole = queue.allocate(1 << 20);
    EXPECT_EQ(there.memory().reserved, reserved) << "the halves are one block again";
    whole = {};
    there.release_cached();
    EXPECT_EQ(there.memory().reserved, before);
}

TEST(Cuda, ALimitIsAnError) {
    auto& there = device(gpu());
    there.set_memory_limit(there.memory().allocated + (1 << 20));
    EXPECT_THAT(error_of<MemoryError>([] { queue_of(gpu()).allocate(2 << 20); }),
                HasSubstr("of the limit of"));
    there.set_memory_limit(0);
    EXPECT_TRUE(queue_of(gpu()).allocate(2 << 20));
}

TEST(Cuda, PageLockedMemoryIsCounted) {
    auto& there = device(gpu());
    size_t before = there.memory().page_locked;
    {
        auto locked = there.allocate_host(1 << 16);
        EXPECT_EQ(there.memory().page_locked, before + (1 << 16));
        std::memset(locked->data, 7, 1 << 16);
        auto target = queue_of(gpu()).allocate(1 << 16);
        queue_of(gpu()).copy_from_host(target->data, locked->data, 1 << 16);
        std::memset(locked->data, 0, 1 << 16);  // it may change as soon as the call returns
        std::vector<unsigned char> back(1 << 16);
        queue_of(gpu()).copy_to_host(back.data(), target->data, 1 << 16);
        EXPECT_EQ(std::accumulate(back.begin(), back.end(), size_t(0)), size_t(7) << 16);
    }
    EXPECT_EQ(there.memory().page_locked, before);
}

TEST(Cuda, QueuesWaitForEachOther) {
    DeviceId other = gpu();
    other.stream = 1;
    Tensor x = on(gpu(), counted(100'000));
    for (int i = 0; i < 20; ++i) x = ops::add(x, x);
    Tensor moved = to_device(x, other);
    EXPECT_EQ(moved.device(), other);
    EXPECT_EQ(floats_of(ops::mul(moved, moved))[1], float(1 << 20) * float(1 << 20));
}

TEST(Cuda, EventsKnowTheirTime) {
    auto& queue = queue_of(gpu());
    auto before = queue.record_time();
    Tensor x = on(gpu(), counted(1'000'000));
    for (int i = 0; i < 10; ++i) x = ops::add(x, x);
    auto after = queue.record_time();
    EXPECT_GT(after->milliseconds_since(*before), 0);
}

TEST(Cuda, ThreadsShareADevice) {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([t] {
            for (int i = 0; i < 50; ++i) {
                Tensor x = on(gpu(), {float(t), float(i)});
                EXPECT_THAT(floats_of(ops::add(x, x)), ElementsAre(2.f * float(t), 2.f * float(i)));
            }
        });
}

TEST(Cuda, UnsupportedDtypesAreNamed) {
    double values[] = {1, 2, 3, 4};
    Tensor x = tensor_from_host({DType::f64, {2, 2}, {}}, values, gpu());
    for (std::function<void()> compute : {std::function<void()>([&] { ops::exp(x); }),
                                          std::function<void()>([&] { ops::convert_narrow(x); })})
        EXPECT_THAT(error_of<UserError>(compute), HasSubstr("GPUs compute nothing of dtype float64"));
}

}  // namespace
}  // namespace mge::test
