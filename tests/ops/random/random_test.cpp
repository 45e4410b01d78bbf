// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "libmge/base/threads.h"
#include "libmge/kernel/scalar/philox.h"
#include "libmge/mge.h"
#include "tests/harness/check_op.h"
#include "tests/harness/expect_error.h"

namespace mge::test {
namespace {

Tensor state(int seed, int counter = 0) {
    return make_tensor(DType::i32, {2}, {double(seed), double(counter)});
}

struct Moments {
    double mean = 0, deviation = 0;
};
Moments moments_of(const std::vector<double>& values) {
    Moments m;
    for (double v : values) m.mean += v / double(values.size());
    for (double v : values) m.deviation += (v - m.mean) * (v - m.mean) / double(values.size());
    m.deviation = std::sqrt(m.deviation);
    return m;
}

// The vectors published with the method (Random123, kat_vectors): counter and key zero, and all bits set.
TEST(Philox, GivesThePublishedNumbers) {
    PhiloxWords zero = philox(0, 0, 0, 0);
    EXPECT_EQ(zero.w0, 0x6627e8d5u);
    EXPECT_EQ(zero.w1, 0xe169c58du);
    EXPECT_EQ(zero.w2, 0xbc57ac4cu);
    EXPECT_EQ(zero.w3, 0x9b00dbd8u);
}

TEST(Uniform, HasTheMomentsAndTheRange) {
    auto values = values_of(ops::uniform(state(1), {.shape = {400, 1001}, .low = -1, .high = 3}));
    Moments m = moments_of(values);
    EXPECT_NEAR(m.mean, 1, 0.01);
    EXPECT_NEAR(m.deviation, 4 / std::sqrt(12.0), 0.01);
    EXPECT_GE(*std::min_element(values.begin(), values.end()), -1);
    EXPECT_LT(*std::max_element(values.begin(), values.end()), 3);
    EXPECT_LT(*std::min_element(values.begin(), values.end()), -0.99);
    EXPECT_GT(*std::max_element(values.begin(), values.end()), 2.99);
}

TEST(Normal, HasTheMomentsAndTails) {
    auto values = values_of(ops::normal(state(2), {.shape = {400001}, .mean = 2, .std = 3}));
    Moments m = moments_of(values);
    EXPECT_NEAR(m.mean, 2, 0.02);
    EXPECT_NEAR(m.deviation, 3, 0.02);
    auto beyond = [&](double sigmas) {
        return double(std::count_if(values.begin(), values.end(),
                                    [&](double v) { return std::abs(v - 2) > 3 * sigmas; })) /
               double(values.size());
    };
    EXPECT_NEAR(beyond(1), 0.3173, 0.005);
    EXPECT_NEAR(beyond(3), 0.0027, 0.0005);
    for (double v : values) ASSERT_TRUE(std::isfinite(v));
}

TEST(Random, DependsOnTheStateAlone) {
    auto draw = [](int seed, int counter) {
        return values_of(ops::normal(state(seed, counter), {.shape = {50001}}));
    };
    int threads = default_threads();
    set_default_threads(1);
    auto once = draw(5, 7);
    set_default_threads(3);
    EXPECT_EQ(draw(5, 7), once);
    set_default_threads(threads);
    EXPECT_NE(draw(5, 8), once);
    EXPECT_NE(draw(6, 7), once);
    auto fewer = values_of(ops::normal(state(5, 7), {.shape = {11}}));
    EXPECT_TRUE(std::equal(fewer.begin(), fewer.end(), once.begin()));
}

TEST(Random, RunsInEveryMode) {
    InputSpec seed{.shape = {2}, .dtype = DType::i32, .values = {3, 4}};
    for (Shape shape : {Shape{}, Shape{0}, Shape{7}, Shape{40, 300}}) {
        IntList extents(shape.begin(), shape.end());
        check_op<ops::Uniform>({.shape = extents}, {seed});
        check_op<ops::Normal>({.shape = extents}, {seed});
        check_op<ops::Dropout>({.probability = 0.3}, {{.shape = shape}, seed}, {.dtypes = float_types});
    }
    InputSpec target{.shape = {2}, .dtype = DType::i32, .values = {3, 5}};
    check_op<ops::Uniform>({}, {seed, target});
    check_op<ops::Permutation>({.n = 100}, {seed});
}

TEST(Permutation, HoldsEachNumberOnce) {
    for (DType dtype : number_types) {
        auto values = values_of(ops::permutation(state(3), {.n = 100, .dtype = dtype}));
        EXPECT_FALSE(std::is_sorted(values.begin(), values.end()));
        std::sort(values.begin(), values.end());
        for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], double(i));
    }
    EXPECT_EQ(ops::permutation(state(3), {.n = 0}).shape(), (Shape{0}));
    EXPECT_THAT(values_of(ops::permutation(state(3), {.n = 1})), testing::ElementsAre(0));
}

TEST(Permutation, EveryOrderIsEquallyLikely) {
    std::vector<int> counts(6);
    constexpr int rounds = 6000;
    for (int round = 0; round < rounds; ++round) {
        auto v = values_of(ops::permutation(state(11, round), {.n = 3}));
        ++counts[size_t(v[0] * 2 + (v[1] > v[2]))];
    }
    for (int count : counts) EXPECT_NEAR(count, rounds / 6, 120);
}

TEST(Dropout, KeepsTheMean) {
    Tensor x = ops::full({.shape = {100000}, .value = 2});
    auto outputs = ops::dropout(x, state(4), {.probability = 0.25});
    auto y = values_of(outputs[0]), mask = values_of(outputs[1]);
    EXPECT_NEAR(moments_of(y).mean, 2, 0.02);
    EXPECT_NEAR(double(std::count(y.begin(), y.end(), 0)) / double(y.size()), 0.25, 0.005);
    for (size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], mask[i] * 2);
    EXPECT_THAT(values_of(ops::dropout(x, state(4), {.probability = 0})[0]), testing::Each(2));
}

TEST(Random, SaysWhatDoesNotFit) {
    Tensor x = ops::full({.shape = IntList{2}});
    expect_user_error(ErrorClass::type,
                      "[uniform] the random state has to be int32 of shape (2,), got float32(2,)",
                      [&] { ops::uniform(x); });
    expect_user_error(ErrorClass::assertion, "[uniform] low 1 is not below high 1",
                      [] { ops::uniform(state(1), {.low = 1, .high = 1}); });
    expect_user_error(ErrorClass::assertion, "[normal] std -1 is negative",
                      [] { ops::normal(state(1), {.std = -1}); });
    expect_user_error(ErrorClass::value, "[permutation] n is 300; uint8 allows 0 … 256",
                      [] { ops::permutation(state(1), {.n = 300, .dtype = DType::u8}); });
    expect_user_error(ErrorClass::assertion, "[dropout] probability 1 is not in [0, 1)",
                      [&] { ops::dropout(x, state(1), {.probability = 1}); });
    expect_user_error(ErrorClass::type, "[dropout] x has to be float, got int32",
                      [] { ops::dropout(state(1), state(1)); });
}

}  // namespace
}  // namespace mge::test
