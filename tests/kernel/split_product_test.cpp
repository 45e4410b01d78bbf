// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cpu/product/split_product.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "libmge/kernel/cpu/product/matrix_tiles.h"

namespace mge::cpu {
namespace {

struct Matrices {
    int64_t k;
    std::vector<float> a, b;  // [line][k]
};

Matrices random_matrices(int64_t k) {
    Matrices m{k, std::vector<float>(size_t(split_lines * k)), std::vector<float>(size_t(split_lines * k))};
    std::mt19937 random(5);
    std::normal_distribution<float> normal;
    for (auto* side : {&m.a, &m.b})
        for (float& x : *side) x = normal(random);
    return m;
}

SplitSums split_product(const Matrices& m) {
    size_t steps = size_t(split_steps(m.k));
    std::vector<SplitStep> rows(steps), columns(steps);
    const auto a =
        pack_split({m.a.data(), split_lines, m.k, m.k, 1}, false, usual_split_exponent, rows.data());
    const auto b =
        pack_split({m.b.data(), split_lines, m.k, m.k, 1}, true, usual_split_exponent, columns.data());
    EXPECT_TRUE(a && b);
    SplitSums sums;
    begin_tiles();
    multiply_split(rows.data(), columns.data(), int64_t(steps), {}, sums);
    end_tiles();
    for (float& x : sums.values) x = std::ldexp(x, -a.value_or(0) - b.value_or(0));
    return sums;
}

// The largest error of sums that `add` makes, over the sum of absolute products.
template <class Value>
double largest_error(const Matrices& m, const Value& value) {
    double largest = 0;
    for (int64_t i = 0; i < split_lines * split_lines; ++i) {
        const float *a = &m.a[size_t(i / split_lines * m.k)], *b = &m.b[size_t(i % split_lines * m.k)];
        double exact = 0, size = 0;
        for (int64_t k = 0; k < m.k; ++k) {
            exact += double(a[k]) * b[k];
            size += std::abs(double(a[k]) * b[k]);
        }
        largest = std::max(largest, std::abs(value(i, a, b) - exact) / size);
    }
    return largest;
}

TEST(SplitProduct, IsAsAccurateAsFloats) {
    if (!has_split_products()) GTEST_SKIP() << "no matrix instructions";
    for (int64_t k : {1, 31, 32, 100, 1000}) {
        Matrices m = random_matrices(k);
        SplitSums sums = split_product(m);
        double split = largest_error(m, [&](int64_t i, auto...) { return double(sums.values[i]); });
        double floats = largest_error(m, [&](int64_t, const float* a, const float* b) {
            float sum = 0;
            for (int64_t j = 0; j < k; ++j) sum = std::fma(a[j], b[j], sum);
            return double(sum);
        });
        EXPECT_LE(split, std::max(floats, 1.2e-7)) << "k = " << k;
    }
}

TEST(SplitProduct, DetectsNonFiniteValues) {
    if (!has_split_products()) GTEST_SKIP() << "no matrix instructions";
    using Limits = std::numeric_limits<float>;
    for (float x : {Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN()}) {
        Matrices m = random_matrices(70);
        m.a[300] = x;
        std::vector<SplitStep> packed(size_t(split_steps(m.k)));
        const int exponent = usual_split_exponent;
        EXPECT_FALSE(pack_split({m.a.data(), split_lines, m.k, m.k, 1}, false, exponent, packed.data()));
        EXPECT_FALSE(
            pack_split({m.a.data(), split_lines, m.k, 1, split_lines}, true, exponent, packed.data()));
    }
}

TEST(SplitProduct, DetectsNumbersThatLoseParts) {
    if (!has_split_products()) GTEST_SKIP() << "no matrix instructions";
    struct Case {
        float large, small;
        bool has_parts;
    };
    for (Case c : {Case{0x1p100f, 0x1p-60f, true}, {0x1p100f, 0x1p-61f, false}, {0x1p34f, 0x1p-149f, true}}) {
        Matrices m = random_matrices(70);
        for (float& x : m.a) x = 1 + std::abs(x);
        m.a[300] = c.large;
        m.a[1000] = c.small;
        std::vector<SplitStep> packed(size_t(split_steps(m.k)));
        const auto exponent =
            pack_split({m.a.data(), split_lines, m.k, m.k, 1}, false, usual_split_exponent, packed.data());
        EXPECT_EQ(exponent.has_value(), c.has_parts) << c.large << ' ' << c.small;
    }
}

}  // namespace
}  // namespace mge::cpu
