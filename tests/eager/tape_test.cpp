// SPDX-License-Identifier: Apache-2.0
#include "libmge/eager/tape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <thread>
#include <vector>

#include "libmge/eager/operator_observer.h"
#include "libmge/mge.h"

namespace mge {
namespace {

using testing::ElementsAre;

Tensor vector_of(std::vector<float> values) {
    return tensor_from_host({DType::f32, {int64_t(values.size())}, {}}, values.data());
}
std::vector<float> values_of(const Tensor& t) {
    return {t.data<float>(), t.data<float>() + t.spec().numel()};
}
Tensor first_two(const Tensor& x) { return ops::slice(x, {.items = {0, 0, 2, 1, 0}}); }

// dy arrives, factor * dy leaves.
class Repeated final : public CustomGradient {
public:
    explicit Repeated(int times) : times_(times) {}
    Tensors backward(std::span<const Tensor> grads, std::span<const bool>) override {
        return {ops::concat(TensorList(Tensors(size_t(times_), grads[0])))};
    }

private:
    int times_;
};

// Records its arguments.
class Listening final : public CustomGradient {
public:
    explicit Listening(std::vector<bool>& needed) : needed_(needed) {}
    Tensors backward(std::span<const Tensor> grads, std::span<const bool> needed) override {
        needed_.assign(needed.begin(), needed.end());
        return Tensors(needed.size(), grads[0]);
    }

private:
    std::vector<bool>& needed_;
};

// More outputs than a node of the tape can number, and more operands than 16 bits count.
TEST(Tape, FollowsThousandsOfOutputs) {
    for (int64_t count : {4096, 4097, 10000}) {
        Tape tape;
        Tensor x = tape.attach(vector_of(std::vector<float>(size_t(count), 1))),
               y = tape.attach(vector_of({3}));
        tape.start();
        Tensors parts = ops::split(x, {.axis = 0, .sizes = IntList(size_t(count), 1)});
        std::array<Tensor, 2> results{ops::mul(parts.back(), y), parts[0]};
        EXPECT_THAT(tape.arrival_order(results), ElementsAre(1, 0));
        Tensors grads = tape.backward(results, {});
        std::vector<float> expected(size_t(count), 0);
        expected.front() = 1;
        expected.back() = 3;
        EXPECT_EQ(values_of(grads[0]), expected);
        EXPECT_THAT(values_of(grads[1]), ElementsAre(1));
    }
}

TEST(Tape, FollowsThousandsOfOperands) {
    Tape tape;
    Tensor x = tape.attach(vector_of({1}));
    tape.start();
    Tensors operands(65536, vector_of({0}));
    operands.push_back(x);
    std::array<Tensor, 1> y{ops::concat(operands)};
    EXPECT_THAT(values_of(tape.backward(y, {})[0]), ElementsAre(1));
}

TEST(Tape, ChainsCustomRulesOfThousandsOfOutputs) {
    class Last final : public CustomGradient {
    public:
        Tensors backward(std::span<const Tensor> grads, std::span<const bool>) override {
            return {grads.back()};
        }
    };
    Tape tape;
    Tensor x = tape.attach(vector_of({1}));
    tape.start();
    Tensors handles = record_custom({&x, 1}, Tensors(9000, vector_of({5})), std::make_shared<Last>());
    std::array<Tensor, 1> y{ops::mul(handles.back(), vector_of({2}))};
    EXPECT_THAT(values_of(tape.backward(y, {})[0]), ElementsAre(2));
}

TEST(Tape, PassesWantedGradientsToCustomRules) {
    Tape tape;
    Tensor x = vector_of({1}), w = tape.attach(vector_of({2})), b = vector_of({3});
    tape.start();
    std::vector<bool> needed;
    Tensors inputs{x, w, b}, outputs{vector_of({5})};
    Tensors handles = record_custom(inputs, outputs, std::make_shared<Listening>(needed));
    tape.backward(handles, {});
    EXPECT_THAT(needed, ElementsAre(false, true, false));
}

TEST(Tape, PausesWhileTapesBeginAndEnd) {
    Tape outer;
    Tensor x = outer.attach(vector_of({3}));
    outer.start();
    Tensor y = ops::mul(x, x);
    {
        RecordingPaused paused;
        EXPECT_FALSE(is_recorded(x));
        Tape inner;
        Tensor z = inner.attach(vector_of({2}));
        inner.start();
        Tensor product = ops::mul(z, z);
        Tensors grads = inner.backward({&product, 1}, {});
        EXPECT_THAT(values_of(grads[0]), ElementsAre(4));
        EXPECT_FALSE(outer.is_recording());
    }
    EXPECT_TRUE(is_recorded(x));
    EXPECT_THAT(values_of(outer.backward({&y, 1}, {})[0]), ElementsAre(6));
    {
        auto ended = std::make_unique<Tape>();
        ended->start();
        RecordingPaused paused;
        ended.reset();
    }
    Tape fresh;
    EXPECT_FALSE(fresh.is_recording()) << "it has the number of the one that ended";
}

TEST(Tape, SumsGradientsOfSeveralPaths) {
    Tape tape;
    Tensor x = tape.attach(vector_of({1, 2, 3}));
    tape.start();
    Tensor y = ops::concat({first_two(x), x, x});
    Tensor dy = vector_of({1, 2, 10, 20, 30, 100, 200, 300});
    Tensors grads = tape.backward({&y, 1}, {&dy, 1});
    ASSERT_EQ(grads.size(), 1U);
    EXPECT_THAT(values_of(grads[0]), ElementsAre(111, 222, 330));
}

TEST(Tape, UsesOnesForMissingGradientsAndReturnsNullIfIndependent) {
    Tape tape;
    Tensor x = tape.attach(vector_of({1, 2})), unused = tape.attach(vector_of({5}));
    tape.start();
    Tensor y = ops::concat({x, x});
    Tensors grads = tape.backward({&y, 1}, {});
    EXPECT_THAT(values_of(grads[0]), ElementsAre(2, 2));
    EXPECT_FALSE(grads[1]);
}

TEST(Tape, UnusedResultsHaveNoGradient) {
    Tensor values = vector_of({1, 2});
    auto gradient_of = [&](auto results_of) {
        Tape tape;
        Tensor x = tape.attach(values);
        tape.start();
        Tensors results = results_of(x);
        return tape.backward(results, {})[0];
    };
    EXPECT_FALSE(gradient_of([](Tensor& x) { return Tensors{x}; }));
    EXPECT_FALSE(gradient_of([&](Tensor& x) { return Tensors{x, ops::concat({values})}; }));
    EXPECT_THAT(values_of(gradient_of([](Tensor& x) {
                    return Tensors{x, ops::concat({x})};
                })),
                ElementsAre(2, 2));
    Tensor unread;
    EXPECT_THAT(values_of(gradient_of([&](Tensor& x) {
                    unread = ops::concat({x});
                    return Tensors{x};
                })),
                ElementsAre(1, 1));
}

TEST(Tape, IntermediateGradientsAreNotKept) {
    Tape tape;
    Tensor x = tape.attach(vector_of({1, 2, 3}));
    tape.start();
    Tensor middle = tape.attach(first_two(x));
    Tensors grads = tape.backward({&middle, 1}, {});
    EXPECT_THAT(values_of(grads[0]), ElementsAre(1, 1, 0));
    EXPECT_FALSE(grads[1]);
}

TEST(Tape, FindsUnusedResultsOfInnerTapes) {
    for (bool is_used : {false, true}) {
        Tape outer;
        Tensor x = outer.attach(vector_of({1, 2}));
        outer.start();
        Tape inner;
        Tensor y = inner.attach(x);
        Tensor used = is_used ? ops::concat({y}) : Tensor();
        EXPECT_EQ(bool(outer.backward({&y, 1}, {})[0]), is_used);
    }
}

TEST(Tape, RecordsOnlyAfterAttachingAndWhileStarted) {
    Tensor outside = vector_of({1, 2});
    Tape tape;
    Tensor x = tape.attach(outside);
    Tensor before = ops::concat({x, x});
    tape.start();
    Tensor other_handle = ops::concat({outside, outside});
    EXPECT_FALSE(is_recorded(before));
    EXPECT_FALSE(is_recorded(other_handle));
    EXPECT_TRUE(is_recorded(ops::concat({x, outside})));
    {
        RecordingPaused paused;
        EXPECT_FALSE(is_recorded(ops::concat({x, x})));
    }
    EXPECT_TRUE(is_recorded(ops::flip(x, {.axes = {0}})));
}

TEST(Tape, ReturnsIntermediateGradients) {
    Tape tape;
    Tensor x = tape.attach(vector_of({1, 2, 3}));
    tape.start();
    Tensor middle = tape.attach(first_two(x));
    Tensor y = ops::concat({middle, middle});
    Tensors grads = tape.backward({&y, 1}, {});
    EXPECT_THAT(values_of(grads[0]), ElementsAre(2, 2, 0));
    EXPECT_THAT(values_of(grads[1]), ElementsAre(2, 2));
}

TEST(Tape, NestedTapesSeeOnlyInnerBackwardPasses) {
    Tape outer;
    Tensor x = outer.attach(vector_of({1, 2})), dy = outer.attach(vector_of({3, 4}));
    outer.start();
    Tape inner;
    x = inner.attach(x);
    inner.start();
    Tensor y = ops::flip(x, {.axes = {0}});
    Tensors first = inner.backward({&y, 1}, {&dy, 1});
    EXPECT_THAT(values_of(first[0]), ElementsAre(4, 3));
    EXPECT_TRUE(is_recorded(first[0]));
    // d(flip(dy)) / d(dy), through the inner tape's backward pass.
    Tensor seed = vector_of({10, 20});
    Tensors second = outer.backward({&first[0], 1}, {&seed, 1});
    EXPECT_FALSE(second[0]);
    EXPECT_THAT(values_of(second[1]), ElementsAre(20, 10));
}

class FusedRules : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(All, FusedRules, testing::Values(DType::f32, DType::f16, DType::bf16));

// The steps of a rule are fused for large tensors only.
TEST_P(FusedRules, HaveTheBitsOfTheirSteps) {
    constexpr int64_t n = 10000, small = 100;
    std::vector<float> numbers(n);
    for (int64_t i = 0; i < n; ++i) numbers[size_t(i)] = float(i - n / 2) / 600;
    Tensor x = ops::convert(vector_of(numbers), {.dtype = GetParam()}),
           half = scalar_tensor(0.5, GetParam(), {});
    auto gradients = [](const Tensor& x, auto&& f) {
        Tape tape;
        Tensor attached = tape.attach(x);
        tape.start();
        Tensor y = f(attached);
        std::vector<uint32_t> bits;
        Tensor dx = tape.backward({&y, 1}, {&x, 1})[0];
        for (float grad : values_of(ops::convert(dx, {.dtype = DType::f32})))
            bits.push_back(std::bit_cast<uint32_t>(grad));
        return bits;
    };
    auto check = [&](auto&& f) {
        std::vector<uint32_t> parts;
        for (int64_t i = 0; i < n; i += small)
            for (uint32_t grad : gradients(ops::slice(x, {.items = {0, i, i + small, 1, 0}}), f))
                parts.push_back(grad);
        for (int call = 0; call < 3; ++call)  // the third one is fused
            EXPECT_EQ(gradients(x, f), parts);
    };
    check([](auto& x) { return ops::hswish(x); });
    check([](auto& x) { return ops::silu(x); });
    check([](auto& x) { return ops::tanh(x); });
    check([](auto& x) { return ops::softplus(x); });
    check([](auto& x) { return ops::relu(x); });
    check([&](auto& x) { return ops::pow(x, half); });
    check([&](auto& x) { return ops::div(half, x); });
    check([](auto& x) { return ops::mul(x, x); });
    check([](auto& x) {
        return ops::reshape(ops::softmax(ops::reshape(x, {.shape = {-1, 50}})), {.shape = {-1}});
    });
}

class FusedSteps final : public OperatorObserver {
public:
    void ran(const OperatorRun& run) override { count += run.op.name == "fused_elementwise"; }
    int count = 0;
};

// Recording takes longer than a rule runs.
TEST(Tape, FusesOnlyRulesThatRecur) {
    static FusedSteps fused;
    auto fused_steps = [](int64_t n) {
        Tape tape;
        Tensor x = tape.attach(vector_of(std::vector<float>(size_t(n), 1)));
        tape.start();
        Tensor y = ops::silu(x);
        fused.count = 0;
        observe_operators(&fused);
        tape.backward({&y, 1}, {});
        observe_operators(nullptr);
        return fused.count;
    };
    for (int64_t n = 6000; n < 6010; ++n) EXPECT_EQ(fused_steps(n), 0);
    fused_steps(6000);
    EXPECT_EQ(fused_steps(6000), 1);
    EXPECT_EQ(fused_steps(6000), 1);
}

// Rules hold constants, which are stored on a device.
TEST(Tape, FusesRulesOnEachDevice) {
    for (DType dtype : {DType::f32, DType::f16, DType::bf16})
        for (const char* name : {"cpu0", "cpu1", "cpu0"})
            for (int repetition = 0; repetition < 4; ++repetition) {
                const DeviceId device = parse_device(name);
                Tensor half = scalar_tensor(0.5, dtype, device);
                Tape tape;
                Tensor x = tape.attach(ops::broadcast_to(half, {.shape = {20000}}));
                tape.start();
                Tensor y = ops::pow(ops::silu(ops::hswish(x)), half);
                EXPECT_EQ(tape.backward({&y, 1}, {})[0].device(), device);
            }
}

TEST(Tape, GivesSecondDerivativesOfLargeTensors) {
    Tensor values = vector_of(std::vector<float>(5000, 2));
    Tape outer;
    Tensor x = outer.attach(values);
    outer.start();
    Tape inner;
    Tensor attached = inner.attach(x);
    inner.start();
    Tensor y = ops::mul(ops::square(attached), attached);
    Tensor first = inner.backward({&y, 1}, {})[0];
    EXPECT_EQ(values_of(first), std::vector<float>(5000, 12));
    EXPECT_EQ(values_of(outer.backward({&first, 1}, {})[0]), std::vector<float>(5000, 12));
}

TEST(Tape, ReusesMarksOfDestroyedTapes) {
    Tensor x = vector_of({1});
    {
        Tape tape;
        x = tape.attach(x);
    }
    Tape tape;
    tape.start();
    EXPECT_FALSE(is_recorded(x));
    EXPECT_FALSE(is_recorded(ops::concat({x, x})));
}

TEST(Tape, RunsCustomRules) {
    Tape tape;
    Tensor x = tape.attach(vector_of({1, 2}));
    tape.start();
    Tensors y;
    {
        RecordingPaused paused;
        y = {first_two(ops::concat({x, x}))};
    }
    y[0] = ops::slice(y[0], {.items = {0, 0, 1, 1, 0}});
    Tensors handles = record_custom({&x, 1}, y, std::make_shared<Repeated>(2));
    Tensors grads = tape.backward(handles, {});
    EXPECT_THAT(values_of(grads[0]), ElementsAre(1, 1));
}

TEST(Tape, FreesMemoryOnBackwardAndOnRelease) {
    size_t before = device({}).memory().allocated;
    {
        Tape tape;
        Tensor x = tape.attach(vector_of(std::vector<float>(1000)));
        tape.start();
        for (int i = 0; i < 10; ++i) x = ops::flip(ops::concat({x}), {.axes = {0}});
        EXPECT_GT(device({}).memory().allocated, before + 10 * 4000);
        Tensors grads = tape.backward({&x, 1}, {});
        grads.clear();
        x = {};
        EXPECT_EQ(device({}).memory().allocated, before);
    }
    Tape tape;
    Tensor x = tape.attach(vector_of(std::vector<float>(1000)));
    tape.start();
    x = ops::flip(x, {.axes = {0}});
    x = {};
    EXPECT_GT(device({}).memory().allocated, before);
    tape.release();
    EXPECT_EQ(device({}).memory().allocated, before);
}

TEST(Tape, KeepsOnlyValuesThatGradientsRead) {
    constexpr int64_t n = 100'000;
    constexpr size_t bytes = n * sizeof(float);
    Tensor start = ops::full({.shape = {n}, .value = 2}), factor = ops::full({.shape = {n}, .value = 3});
    auto in_use = [] { return device({}).memory().allocated; };
    size_t before = in_use();
    Tape tape;
    Tensor x = tape.attach(start);
    tape.start();
    for (int i = 0; i < 10; ++i) x = ops::neg(ops::add(x, factor));
    EXPECT_LT(in_use(), before + 2 * bytes);
    // A product's rule reads both factors.
    for (int i = 0; i < 10; ++i) x = ops::mul(x, factor);
    Tensor y = ops::mul(x, x);
    Tensors grads = tape.backward({&y, 1}, {});
    float last = 2;
    for (int i = 0; i < 10; ++i) last = -(last + 3);
    float power = 59049;  // 3^10
    EXPECT_FLOAT_EQ(grads[0].data<float>()[n - 1], 2 * last * power * power);
}

TEST(Tape, ReturnsSecondDerivatives) {
    Tape outer;
    Tensor x = outer.attach(vector_of({0.5F, -2}));
    outer.start();
    Tape inner;
    x = inner.attach(x);
    inner.start();
    Tensor y = ops::mul(ops::mul(x, x), ops::exp(x));
    Tensor first = inner.backward({&y, 1}, {})[0];
    Tensor second = outer.backward({&first, 1}, {})[0];
    for (int i = 0; i < 2; ++i) {
        float v = i ? -2 : 0.5F;
        // (x² eˣ)' = (x² + 2x) eˣ, its derivative is (x² + 4x + 2) eˣ
        EXPECT_FLOAT_EQ(first.data<float>()[i], (v * v + 2 * v) * std::exp(v));
        EXPECT_NEAR(second.data<float>()[i], (v * v + 4 * v + 2) * std::exp(v), 1e-5);
    }
}

TEST(Tape, ReportsCompleteGradientsDuringThePass) {
    Tape tape;
    Tensor a = tape.attach(vector_of({2})), b = tape.attach(vector_of({3}));
    Tensor unused = tape.attach(vector_of({5})), elsewhere = tape.attach(vector_of({7}));
    tape.start();
    Tensor early = ops::mul(a, a);
    Tensor other = ops::mul(elsewhere, early);
    Tensor y = ops::mul(ops::mul(early, b), b);
    std::vector<std::pair<size_t, float>> ready;
    EXPECT_THAT(tape.arrival_order({&y, 1}), ElementsAre(1, 0));
    Tensors grads = tape.backward(
        {&y, 1}, {}, [&](size_t i, const Tensor& grad) { ready.emplace_back(i, grad.data<float>()[0]); });
    EXPECT_THAT(ready, ElementsAre(std::pair(1, 24), std::pair(0, 36)));
    EXPECT_THAT(values_of(grads[0]), ElementsAre(36));
    EXPECT_THAT(values_of(grads[1]), ElementsAre(24));
    EXPECT_FALSE(grads[2] || grads[3]);
    EXPECT_FALSE(is_recorded(other));
}

TEST(Tape, HoldsManyNodes) {
    Tape tape;
    Tensor x = tape.attach(vector_of({1, 2}));
    tape.start();
    Tensor y = x;
    for (int i = 0; i < 1000; ++i) y = ops::flip(y, {.axes = {0}});
    EXPECT_THAT(values_of(tape.backward({&y, 1}, {})[0]), ElementsAre(1, 1));
}

TEST(Tape, BelongsToItsThread) {
    auto tape = std::make_unique<Tape>();
    std::thread([&] {
        EXPECT_THROW(tape->start(), UserError);
        tape.reset();
    }).join();
    EXPECT_NO_THROW(Tape().start());
}

}  // namespace
}  // namespace mge
