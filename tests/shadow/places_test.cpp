// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "libmge/device/default_device.h"
#include "libmge/eager/operator_observer.h"
#include "libmge/eager/tape.h"
#include "libmge/eager/trace.h"
#include "libmge/mge.h"
#include "libmge/ops/move/to_device.h"
#include "tests/harness/expect_error.h"
#include "tests/shadow/shadow_device.h"
#include "tests/shadow/values.h"

namespace mge::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Places, TheHostCannotReadAnotherDevice) {
    Tensor x = on(shadow_device(), {1});
    EXPECT_THAT(error_of([&] { x.data<float>(); }), HasSubstr("copy it to the host first"));
    EXPECT_NE(x.address(), nullptr);
}

TEST(Places, ResultsStayWithTheirOperands) {
    Tensor x = on(shadow_device(1), {1, 2});
    EXPECT_EQ(ops::add(x, x).device(), shadow_device(1));
    EXPECT_EQ(ops::reshape(x, {.shape = {2, 1}}).device(), shadow_device(1));
    // A host value may have any alignment.
    int32_t target[] = {1, 2};
    Tensor shape = tensor_from_host({DType::i32, {2}, {}}, target, host_device);
    EXPECT_EQ(ops::reshape(x, shape).device(), shadow_device(1));
    Tensor there = to_device(shape, shadow_device());
    EXPECT_EQ(ops::reshape(x, there).shape(), Shape({1, 2}));
}

TEST(Places, MixingDevicesNamesOperatorAndDevices) {
    Tensor here = on(host_device, {1}), there = on(shadow_device(), {1});
    std::string error = error_of([&] { ops::add(here, there); });
    EXPECT_THAT(error, HasSubstr("[add] its inputs are on different devices, xpux:0 and shadow0:0"));
    EXPECT_THAT(error_of([&] { ops::concat({there, there, here}); }), HasSubstr("shadow0:0 and xpux:0"));
    EXPECT_THAT(error_of([&] { ops::add(on(shadow_device(0, 1), {1}), there); }),
                HasSubstr("shadow0:1 and shadow0:0"));
}

TEST(Places, MovingHasAGradient) {
    Tape tape;
    Tensor x = tape.attach(on(host_device, {2, 3}));
    tape.start();
    Tensor there = ops::to_device(ops::mul(x, x), {.device = shadow_device()});
    Tensor y = ops::mul(there, on(shadow_device(), {10, 100}));
    EXPECT_EQ(y.device(), shadow_device());
    Tensors grads = tape.backward(Tensors{y}, Tensors{Tensor{}});
    ASSERT_TRUE(grads[0]);
    EXPECT_EQ(grads[0].device(), host_device);
    EXPECT_THAT(floats_of(grads[0]), ElementsAre(40, 600));
}

TEST(Places, DefaultDeviceIsPerThread) {
    DefaultDevice here(shadow_device());
    EXPECT_EQ(ops::arange({.stop = 3}).device(), shadow_device());
    DeviceId elsewhere = shadow_device();
    std::thread([&] { elsewhere = ops::arange({.stop = 3}).device(); }).join();
    EXPECT_EQ(elsewhere, host_device);
    {
        DefaultDevice inner(shadow_device(1));
        EXPECT_EQ(default_device(), shadow_device(1));
    }
    EXPECT_EQ(default_device(), shadow_device());
}

TEST(Places, CpusCountTheirMemorySeparately) {
    DeviceId second = parse_device("cpu7");
    auto before = device(host_device).memory();
    Tensor x = empty_tensor({DType::f32, {1 << 20}, {}}, second);
    EXPECT_EQ(device(host_device).memory().allocated, before.allocated);
    EXPECT_EQ(device(second).memory().allocated, size_t(4) << 20);
    x = {};
    EXPECT_EQ(device(second).memory().allocated, 0u);
    EXPECT_EQ(device(second).memory().reserved, size_t(4) << 20);
    device(second).release_cached();
    EXPECT_EQ(device(second).memory().reserved, 0u);
    EXPECT_EQ(device(second).memory().peak_reserved, size_t(4) << 20);
    device(second).reset_peak();
    EXPECT_EQ(device(second).memory().peak_reserved, 0u);
}

// A traced function returns its results on the device of its arguments, in each call.
TEST(Places, ATraceFollowsItsArguments) {
    for (bool symbolic : {false, true}) {
        Trace trace({.symbolic = symbolic});
        auto call = [&](DeviceId device) {
            Tensor x = on(device, {1, 2});
            trace.begin({&x, 1});
            Tensor y = ops::exp(ops::mul(x, x));
            EXPECT_EQ(y.device(), device);
            trace.end({&y, 1});
            EXPECT_EQ(y.device(), device);
            return floats_of(y);
        };
        auto expected = call(host_device);
        DeviceId second = parse_device("cpu1");
        for (DeviceId device : {second, second, shadow_device(), shadow_device(1, 2), host_device})
            EXPECT_EQ(call(device), expected);
    }
}

// Counts what runs at once and not on the host.
class Elsewhere final : public OperatorObserver {
public:
    void ran(const OperatorRun& run) override { count += !run.device.is_host(); }
    int count = 0;
};

// Numbers that follow from shapes are for the host, which would have to wait for a device that makes them.
TEST(Places, TraceReadsNoExtentsFromADevice) {
    static Elsewhere elsewhere;
    Trace trace({.symbolic = true});
    DefaultDevice there(shadow_device());
    Tensor x = on(shadow_device(), {1, 2, 3, 4});
    for (int call = 0; call < 3; ++call) {
        elsewhere.count = 0;  // compilation folds constants on their device
        observe_operators(&elsewhere);
        trace.begin({&x, 1});
        Tensor half =
            ops::floor_div(ops::shape_of(x), ops::full({.shape = {1}, .value = 2, .dtype = DType::i32}));
        Tensor y = ops::reshape(ops::exp(x), ops::concat({half, half}));
        EXPECT_EQ(y.shape(), Shape({2, 2}));
        EXPECT_EQ(elsewhere.count, 0);
        EXPECT_EQ(half.device(), shadow_device());
        Trace::compute(half);
        EXPECT_EQ(half.device(), shadow_device());
        EXPECT_EQ(to_host(half).data<int32_t>()[0], 2);
        trace.end({&y, 1});
        observe_operators(nullptr);
        EXPECT_EQ(y.device(), shadow_device());
    }
}

TEST(Places, ShapeValuesKeepTheSpellingOfTheirDevice) {
    Trace trace({.symbolic = true});
    Tensor x = on(parse_device("cpu0"), {1, 2});
    ASSERT_FALSE(x.device().is_default);
    for (int call = 0; call < 2; ++call) {
        trace.begin({&x, 1});
        Tensor shape = ops::shape_of(x);
        Trace::compute(shape);
        EXPECT_FALSE(shape.device().is_default);
        trace.end({&shape, 1});
    }
}

// Integers from outside may be anything at each call; those of a device are left to the program.
TEST(Places, ATraceReadsNoIntegersFromADevice) {
    static Elsewhere elsewhere;
    Trace trace({.symbolic = true});
    int32_t numbers[] = {1, 2};
    Tensor labels = tensor_from_host({DType::i32, {2}, {}}, numbers, shadow_device());
    for (int call = 0; call < 3; ++call) {
        trace.begin({&labels, 1});
        elsewhere.count = 0;
        observe_operators(&elsewhere);
        Tensor next = ops::add(labels, labels);
        observe_operators(nullptr);
        EXPECT_EQ(elsewhere.count, 0);
        trace.end({&next, 1});
        EXPECT_EQ(to_host(next).data<int32_t>()[1], 4);
    }
}

TEST(Places, ATracedFunctionMovesData) {
    Trace trace({.symbolic = true, .capture_as_const = true});
    Tensor weight = on(shadow_device(), {5, 7});
    for (int i = 0; i < 3; ++i) {
        Tensor x = on(host_device, {1, 2});
        trace.begin({&x, 1});
        Tensor there = ops::mul(ops::to_device(x, {.device = shadow_device()}), weight);
        Tensor y = ops::to_device(ops::add(there, there), {.device = host_device});
        trace.end({&y, 1});
        EXPECT_EQ(y.device(), host_device);
        EXPECT_THAT(floats_of(y), ElementsAre(10, 28));
    }
    // Exported, values on the argument's device are on the default device; the others keep theirs.
    Graph graph = trace.graph();
    EXPECT_TRUE(graph.value(graph.inputs()[0]).device.is_default);
    EXPECT_TRUE(graph.value(graph.outputs()[0]).device.is_default);
}

}  // namespace
}  // namespace mge::test
