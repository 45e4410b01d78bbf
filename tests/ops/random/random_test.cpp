// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "libmge/base/threads/threads.h"
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
TEST(Philox, MatchesPublishedNumbers) {
    PhiloxWords zero = philox(0, 0, 0, 0);
    EXPECT_EQ(zero.w0, 0x6627e8d5u);
    EXPECT_EQ(zero.w1, 0xe169c58du);
    EXPECT_EQ(zero.w2, 0xbc57ac4cu);
    EXPECT_EQ(zero.w3, 0x9b00dbd8u);
}

TEST(Uniform, HasMomentsAndRange) {
    auto values = values_of(ops::uniform(state(1), {.shape = {400, 1001}, .low = -1, .high = 3}));
    Moments m = moments_of(values);
    EXPECT_NEAR(m.mean, 1, 0.01);
    EXPECT_NEAR(m.deviation, 4 / std::sqrt(12.0), 0.01);
    EXPECT_GE(*std::min_element(values.begin(), values.end()), -1);
    EXPECT_LT(*std::max_element(values.begin(), values.end()), 3);
    EXPECT_LT(*std::min_element(values.begin(), values.end()), -0.99);
    EXPECT_GT(*std::max_element(values.begin(), values.end()), 2.99);
}

TEST(Normal, HasMomentsAndTails) {
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
        InputSpec positive{.shape = shape, .low = 0.1, .high = 20};
        check_op<ops::Gamma>({}, {seed, positive, positive});
        check_op<ops::Beta>({}, {seed, positive, positive});
        check_op<ops::Poisson>({}, {seed, positive});
    }
    for (bool replacement : {false, true})
        for (Shape shape : {Shape{5}, Shape{0, 5}, Shape{300, 40}})
            check_op<ops::Multinomial>({.num_samples = 5, .replacement = replacement},
                                       {seed, {.shape = shape, .low = 0.1}}, {.dtypes = float_types});
    InputSpec target{.shape = {2}, .dtype = DType::i32, .values = {3, 5}};
    check_op<ops::Uniform>({}, {seed, target});
    check_op<ops::Permutation>({.n = 100}, {seed});
    InputSpec count{.shape = {1}, .dtype = DType::i32, .values = {5}};
    check_op<ops::Permutation>({}, {seed, count});
}

TEST(Permutation, ContainsEachNumberOnce) {
    for (DType dtype : number_types) {
        auto values = values_of(ops::permutation(state(3), {.n = 100, .dtype = dtype}));
        EXPECT_FALSE(std::is_sorted(values.begin(), values.end()));
        std::sort(values.begin(), values.end());
        for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], double(i));
    }
    EXPECT_EQ(ops::permutation(state(3), {.n = 0}).shape(), (Shape{0}));
    EXPECT_THAT(values_of(ops::permutation(state(3), {.n = 1})), testing::ElementsAre(0));
    EXPECT_EQ(values_of(ops::permutation(state(3), make_tensor(DType::i32, {1}, {7}), {.n = 0})),
              values_of(ops::permutation(state(3), {.n = 7})));
    expect_user_error(ErrorClass::value, "[permutation] count must be one number, got 2", [] {
        ops::permutation(state(3), make_tensor(DType::i32, {2}, {7, 8}), {.n = 0});
    });
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

// The largest distance between the distribution of values and the given one (Kolmogorov and Smirnov), times
// the root of their number: above 1.95 once in a thousand times.
double distance_from(std::vector<double> values, double (*distribution)(double)) {
    std::sort(values.begin(), values.end());
    auto n = double(values.size());
    double most = 0;
    for (size_t i = 0; i < values.size(); ++i) {
        double at = distribution(values[i]);
        most = std::max({most, at - double(i) / n, double(i + 1) / n - at});
    }
    return most * std::sqrt(n);
}

Tensor many(double value) { return ops::full({.shape = {200001}, .value = value}); }

TEST(Gamma, HasTheDistribution) {
    auto draw = [](double shape, double scale) {
        return values_of(ops::gamma(state(5), many(shape), many(scale)));
    };
    // Shapes of half and whole numbers have short formulas.
    EXPECT_LT(distance_from(draw(1, 2), [](double x) { return 1 - std::exp(-x / 2); }), 1.95);
    EXPECT_LT(distance_from(draw(3, 1), [](double x) { return 1 - std::exp(-x) * (1 + x + x * x / 2); }),
              1.95);
    EXPECT_LT(distance_from(draw(0.5, 1), [](double x) { return std::erf(std::sqrt(x)); }), 1.95);
    for (double shape : {0.1, 1.5, 30.0, 1e6}) {
        Moments m = moments_of(draw(shape, 0.5));
        EXPECT_NEAR(m.mean / (shape / 2), 1, 0.015 / std::sqrt(shape));
        EXPECT_NEAR(m.deviation / (std::sqrt(shape) / 2), 1, 0.03) << shape;
    }
}

TEST(Beta, HasTheDistribution) {
    auto draw = [](double alpha, double beta) {
        return values_of(ops::beta(state(6), many(alpha), many(beta)));
    };
    EXPECT_LT(distance_from(draw(1, 1), [](double x) { return x; }), 1.95);
    EXPECT_LT(distance_from(draw(3, 1), [](double x) { return x * x * x; }), 1.95);
    EXPECT_LT(distance_from(draw(0.5, 0.5), [](double x) { return std::asin(std::sqrt(x)) / std::acos(0.); }),
              1.95);
    // So small that both gamma numbers behind it are below the smallest float.
    Moments m = moments_of(draw(1e-3, 3e-3));
    EXPECT_NEAR(m.mean, 0.25, 0.005);
}

TEST(Poisson, HasTheProbabilities) {
    for (double mean : {0.3, 4.0, 9.9, 10.0, 55.5, 1000.0}) {
        auto values = values_of(ops::poisson(state(7), many(mean)));
        std::vector<double> counts(size_t(2 * mean + 20));
        for (double v : values)
            if (size_t(v) < counts.size()) ++counts[size_t(v)];
        double cumulated = 0, expected = 0, most = 0;
        for (size_t k = 0; k < counts.size(); ++k) {
            cumulated += counts[k] / double(values.size());
            expected += std::exp(double(k) * std::log(mean) - mean - std::lgamma(double(k) + 1));
            most = std::max(most, std::abs(cumulated - expected));
        }
        EXPECT_LT(most * std::sqrt(double(values.size())), 1.95) << mean;
        EXPECT_NEAR(moments_of(values).deviation / std::sqrt(mean), 1, 0.01) << mean;
    }
}

TEST(Multinomial, DrawsByWeights) {
    constexpr int draws = 60000;
    Tensor weights = make_tensor(DType::f32, {2, 4}, {1, 0, 2, 3, 0, 4, 0, 0});
    auto y = values_of(ops::multinomial(state(8), weights, {.num_samples = draws, .replacement = true}));
    std::vector<double> counts(4);
    for (int i = 0; i < draws; ++i) counts[size_t(y[size_t(i)])] += 1. / draws;
    EXPECT_NEAR(counts[0], 1. / 6, 0.01);
    EXPECT_EQ(counts[1], 0);
    EXPECT_NEAR(counts[2], 2. / 6, 0.01);
    EXPECT_NEAR(counts[3], 3. / 6, 0.01);
    EXPECT_THAT(std::vector<double>(y.begin() + draws, y.end()), testing::Each(1));
}

TEST(Multinomial, DrawsWithoutReplacement) {
    constexpr int rows = 60000;
    Tensor row = make_tensor(DType::f16, {1, 3}, {1, 2, 3});
    Tensor weights = ops::broadcast_to(row, {.shape = {rows, 3}});
    auto y = values_of(ops::multinomial(state(9), weights, {.num_samples = 3}));
    double first_is_2 = 0, then_0 = 0;
    for (int i = 0; i < rows; ++i) {
        std::vector<double> order(y.begin() + 3 * i, y.begin() + 3 * i + 3);
        ASSERT_THAT(order, testing::UnorderedElementsAre(0, 1, 2));
        first_is_2 += order[0] == 2;
        then_0 += order[0] == 2 && order[1] == 0;
    }
    EXPECT_NEAR(first_is_2 / rows, 0.5, 0.01);
    EXPECT_NEAR(then_0 / first_is_2, 1. / 3, 0.01);
}

TEST(Random, NumbersByTrialDependOnTheStateAlone) {
    Tensor two = many(2);
    auto draw = [&](int counter) {
        Tensor s = state(1, counter);
        std::vector<double> all;
        for (Tensor y : {ops::gamma(s, two, two), ops::beta(s, two, two), ops::poisson(s, two),
                         ops::multinomial(s, two, {.num_samples = 9})})
            for (double v : values_of(y)) all.push_back(v);
        return all;
    };
    int threads = default_threads();
    set_default_threads(1);
    auto expected = draw(0);
    set_default_threads(3);
    EXPECT_EQ(draw(0), expected);
    set_default_threads(threads);
    EXPECT_NE(draw(1), expected);
}

TEST(Random, HandlesUnusualParameters) {
    double nan = std::nan(""), inf = INFINITY;
    Tensor a = make_tensor(DType::f32, {5}, {0, -1, nan, inf, 1e-30}),
           one = ops::full({.shape = {5}, .value = 1});
    using testing::ElementsAre, testing::IsNan;
    EXPECT_THAT(values_of(ops::gamma(state(1), a, one)), ElementsAre(0, 0, IsNan(), inf, 0));
    EXPECT_THAT(values_of(ops::beta(state(1), a, one)), ElementsAre(0, 0, IsNan(), 1, 0));
    EXPECT_THAT(values_of(ops::poisson(state(1), a)), ElementsAre(0, 0, IsNan(), inf, 0));
    EXPECT_EQ(ops::poisson(state(1), ops::full({.shape = {0, 3}})).shape(), (Shape{0, 3}));
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

TEST(Random, NamesMismatchedShapes) {
    Tensor x = ops::full({.shape = IntList{2}});
    expect_user_error(ErrorClass::type,
                      "[uniform] the random state must be int32 of shape (2,), got float32(2,)",
                      [&] { ops::uniform(x); });
    expect_user_error(ErrorClass::assertion, "[uniform] low 1 is not below high 1",
                      [] { ops::uniform(state(1), {.low = 1, .high = 1}); });
    expect_user_error(ErrorClass::assertion, "[normal] std -1 is negative",
                      [] { ops::normal(state(1), {.std = -1}); });
    expect_user_error(ErrorClass::value, "[permutation] n is 300; uint8 allows 0 … 256",
                      [] { ops::permutation(state(1), {.n = 300, .dtype = DType::u8}); });
    expect_user_error(ErrorClass::type, "[poisson] the parameters must be float32, got int32(2,)",
                      [] { ops::poisson(state(1), state(1)); });
    expect_user_error(ErrorClass::value,
                      "[gamma] the parameters must have the same shape, got float32(2,) and float32(3,)",
                      [&] { ops::gamma(state(1), x, ops::full({.shape = IntList{3}})); });
    expect_user_error(ErrorClass::assertion,
                      "[multinomial] num_samples is 3; without replacement it may be at most 2",
                      [&] { ops::multinomial(state(1), ops::add(x, x), {.num_samples = 3}); });
    expect_user_error(ErrorClass::assertion, "[multinomial] num_samples is 0, expected more than 0",
                      [&] { ops::multinomial(state(1), x, {.num_samples = 0}); });
    expect_user_error(ErrorClass::assertion,
                      "[multinomial] the weights must be floats of rank 1 or 2, got int32(2,)",
                      [] { ops::multinomial(state(1), state(1)); });
    expect_user_error(ErrorClass::runtime,
                      "[multinomial] weight 1 of row 0 is -1, expected a number that is not negative", [] {
                          ops::multinomial(state(1), make_tensor(DType::f32, {2}, {1, -1}));
                      });
    expect_user_error(
        ErrorClass::runtime, "[multinomial] row 1 has 1 weight above 0, too few for 2 draws", [] {
            ops::multinomial(state(1), make_tensor(DType::f32, {2, 2}, {1, 1, 0, 1}), {.num_samples = 2});
        });
    expect_user_error(ErrorClass::assertion, "[dropout] probability 1 is not in [0, 1)",
                      [&] { ops::dropout(x, state(1), {.probability = 1}); });
    expect_user_error(ErrorClass::type, "[dropout] x must be floating, got int32",
                      [] { ops::dropout(state(1), state(1)); });
}

}  // namespace
}  // namespace mge::test
