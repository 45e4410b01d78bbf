// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "libmge/device/default_device.h"
#include "libmge/op/apply.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "tests/shadow/shadow_device.h"
#include "tests/shadow/values.h"

namespace mge::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Queue, DoesWorkInOrder) {
    Tensor x = on(shadow_device(), {1, 2, 3});
    for (int i = 0; i < 50; ++i) x = ops::add(x, x);
    EXPECT_THAT(floats_of(x), ElementsAre(0x1p50f, 0x1p51f, 3 * 0x1p50f));
}

TEST(Queue, ReleasesHostMemoryAtOnce) {
    std::vector<float> values(1000);
    std::iota(values.begin(), values.end(), 0.f);
    Tensor x = tensor_from_host({DType::f32, {1000}, {}}, values.data(), shadow_device());
    std::fill(values.begin(), values.end(), -1.f);
    EXPECT_EQ(floats_of(x)[999], 999);
}

// A copy waits for both sides: its source continues, and its memory may be reused meanwhile.
TEST(Queue, CopiesFromOneQueueToAnother) {
    for (int i = 0; i < 30; ++i) {
        Tensor far;
        {
            Tensor near = ops::add(on(shadow_device(0, 1), {float(i)}), on(shadow_device(0, 1), {1}));
            far = to_device(near, shadow_device(1, 2));
        }
        Tensor in_its_memory = on(shadow_device(0, 1), {-5});
        EXPECT_THAT(floats_of(ops::add(far, far)), ElementsAre(float(2 * i + 2)));
        EXPECT_THAT(floats_of(in_its_memory), ElementsAre(-5));
    }
}

TEST(Queue, ThrowsErrorsInWaitAndContinues) {
    DeviceId device = shadow_device(0, 3);
    Tensor x = on(device, {1});
    floats_of(ops::add(x, x));  // prepared state, and the wait for it, is kept
    fail_next_work(device, "the fan has stopped");
    Tensor sum = ops::add(x, x);
    try {
        floats_of(sum);
        FAIL() << "no error";
    } catch (const DeviceError& e) {
        EXPECT_THAT(e.what(), HasSubstr("the fan has stopped"));
    }
    EXPECT_THAT(floats_of(ops::add(on(device, {2}), on(device, {3}))), ElementsAre(5));
}

TEST(Queue, WaitsForAnEvent) {
    DeviceId device = shadow_device(1, 0);
    Tensor x = on(device, {4});
    auto event = queue_of(device).record();
    ASSERT_TRUE(event);
    event->wait();
    EXPECT_FALSE(queue_of(host_device).record());  // a CPU has nothing to wait for
    queue_of(host_device).wait_for(*event);
}

}  // namespace
}  // namespace mge::test
