// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cpu/rows/rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "libmge/kernel/cpu/elementwise/simd_rows.h"
#include "libmge/kernel/cpu/scalar.h"

namespace mge::cpu {
namespace {

TensorSpec f32(Shape shape) { return {DType::f32, shape, {}}; }
LoopNest nest_of(const Shape& a, const Shape& b, const Shape& y) {
    TensorSpecs inputs{f32(a), f32(b)};
    return make_loop_nest(inputs, f32(y));
}

TEST(LoopNest, MergesAxesUniformAcrossOperands) {
    EXPECT_EQ(nest_of({2, 3, 4}, {2, 3, 4}, {2, 3, 4}).loops, 1);
    EXPECT_EQ(nest_of({2, 3, 4}, {}, {2, 3, 4}).loops, 1);
    EXPECT_EQ(nest_of({2, 3, 4}, {4}, {2, 3, 4}).loops, 2);        // a row, for all rows
    EXPECT_EQ(nest_of({2, 3, 4}, {3, 1}, {2, 3, 4}).loops, 3);     // a value per row, again for each block
    EXPECT_EQ(nest_of({2, 3, 4}, {2, 1, 1}, {2, 3, 4}).loops, 2);  // a value per block
    EXPECT_EQ(nest_of({1, 1}, {1}, {1, 1}).loops, 1);
    LoopNest nest = nest_of({5, 1}, {1, 7}, {5, 7});
    EXPECT_EQ(nest.loops, 2);
    EXPECT_EQ(nest.in_stride[0][1], 0);
    EXPECT_EQ(nest.in_stride[1][0], 0);
    EXPECT_EQ(nest.out_stride[0], 7 * 4);
}

// --- accuracy of the vector functions, against the C library in double ---

struct Function {
    const char* name;
    RowsFn (*rows)();
    double (*exact)(double);
    float low, high;
    double ulps;  // largest accepted error: Highway's documentation plus ours
};
double exact_gelu(double x) { return 0.5 * x * std::erfc(-x * 0.70710678118654752); }
double exact_sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double exact_silu(double x) { return x / (1 + std::exp(-x)); }
double exact_gelu_slope(double x) {
    return 0.5 * std::erfc(-x * 0.70710678118654752) + x * std::exp(-0.5 * x * x) * 0.3989422804014327;
}
const Function functions[] = {{"exp", simd_rows<functor::Exp>, std::exp, -87, 88.7f, 2},
                              {"expm1", simd_rows<functor::Expm1>, std::expm1, -80, 88.7f, 5},
                              {"log", simd_rows<functor::Log>, std::log, 1e-37f, 3e38f, 4},
                              {"log1p", simd_rows<functor::Log1p>, std::log1p, -0.999f, 1e30f, 4},
                              {"erf", simd_rows<functor::Erf>, std::erf, -5, 5, 4},
                              {"tanh", simd_rows<functor::Tanh>, std::tanh, -10, 10, 5},
                              {"gelu", simd_rows<functor::Gelu>, exact_gelu, -1, 10, 6},
                              // e^(-x²/2) multiplies the rounding of x² by x²/2
                              {"gelu", simd_rows<functor::Gelu>, exact_gelu, -6, -1, 30},
                              {"gelu_slope", simd_rows<functor::GeluSlope>, exact_gelu_slope, 0, 10, 6},
                              {"sigmoid", simd_rows<functor::Sigmoid>, exact_sigmoid, -1, 87, 4},
                              {"silu", simd_rows<functor::Silu>, exact_silu, -1, 87, 4},
                              // the exponential multiplies the rounding of x / ln 2 by x
                              {"sigmoid", simd_rows<functor::Sigmoid>, exact_sigmoid, -86, -1, 60},
                              {"silu", simd_rows<functor::Silu>, exact_silu, -86, -1, 60},
                              {"sin", simd_rows<functor::Sin>, std::sin, -3, 3, 4},
                              {"cos", simd_rows<functor::Cos>, std::cos, -1.5f, 1.5f, 4},
                              {"tan", simd_rows<functor::Tan>, std::tan, -1.4f, 1.4f, 8},
                              {"asin", simd_rows<functor::Asin>, std::asin, -1, 1, 3},
                              {"acos", simd_rows<functor::Acos>, std::acos, -0.99f, 0.99f, 4},
                              {"atan", simd_rows<functor::Atan>, std::atan, -1e6f, 1e6f, 4},
                              {"sinh", simd_rows<functor::Sinh>, std::sinh, -88, 88, 8},
                              {"cosh", simd_rows<functor::Cosh>, std::cosh, -88, 88, 8},
                              {"asinh", simd_rows<functor::Asinh>, std::asinh, -1e10f, 1e10f, 5},
                              {"acosh", simd_rows<functor::Acosh>, std::acosh, 1.001f, 1e10f, 5},
                              {"atanh", simd_rows<functor::Atanh>, std::atanh, -0.999f, 0.999f, 5}};

// Points dense near zero and near the ends.
std::vector<float> points(float low, float high) {
    std::vector<float> x;
    for (int i = 0; i <= 20000; ++i) {
        float t = float(i) / 20000;
        x.push_back(low + (high - low) * t);
        float fine = t * t * t * t;
        x.push_back(high > 0 ? fine * high : high);
        x.push_back(low < 0 ? fine * low : low);
    }
    return x;
}

std::vector<float> computed(RowsFn run, const std::vector<float>& x) {
    std::vector<float> y(x.size());
    Rows rows;
    rows.n = int64_t(x.size());
    rows.in[0] = reinterpret_cast<const char*>(x.data());
    rows.out = reinterpret_cast<char*>(y.data());
    rows.functor = x.data();  // these functors have no parameters
    run(rows);
    return y;
}

// Subnormal results would take long.
TEST(VectorFunctions, TinyExponentialsAreZero) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    const std::vector<float> x{-87.34f, -88, -95, -103, -104, -150, -1e4f, -3e38f, -infinity};
    for (float y : computed(simd_rows<functor::Exp>(), x)) EXPECT_EQ(y, 0);
    for (float y : computed(simd_rows<functor::Expm1>(), x)) EXPECT_EQ(y, -1);
    const auto edges = computed(simd_rows<functor::Exp>(), {-87.3365f, NAN});
    EXPECT_GE(edges[0], std::numeric_limits<float>::min());
    EXPECT_TRUE(std::isnan(edges[1]));
}

TEST(VectorFunctions, AreAccurate) {
    for (auto& f : functions) {
        auto x = points(f.low, f.high), y = computed(f.rows(), x);
        double worst = 0;
        float where = 0;
        for (size_t i = 0; i < x.size(); ++i) {
            double exact = f.exact(double(x[i]));
            double unit = std::max(std::abs(exact) * 0x1p-23, 0x1p-149);
            double error = std::abs(double(y[i]) - exact) / unit;
            if (std::abs(exact) > 1e-37 && !(error <= worst)) worst = error, where = x[i];
        }
        EXPECT_LE(worst, f.ulps) << f.name << " at " << where;
    }
}

// For a subnormal e^-x.
TEST(VectorFunctions, ExponentialsHandleExtremes) {
    const float infinity = HUGE_VALF;
    const std::vector<float> x{90, 1e30f, 3e38f, infinity, -90, -1e30f, -3e38f, NAN, -NAN};
    auto sigmoid = computed(simd_rows<functor::Sigmoid>(), x), silu = computed(simd_rows<functor::Silu>(), x);
    for (size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(sigmoid[i], 1) << x[i];
        EXPECT_EQ(silu[i], x[i]);
    }
    for (size_t i = 4; i < 7; ++i) {
        EXPECT_NEAR(sigmoid[i], 0, 1e-37) << x[i];
        EXPECT_NEAR(silu[i], 0, 1e-37) << x[i];
    }
    EXPECT_EQ(computed(simd_rows<functor::Sigmoid>(), {-infinity})[0], 0);
    for (size_t i = 7; i < 9; ++i) {
        EXPECT_TRUE(std::isnan(sigmoid[i]));
        EXPECT_TRUE(std::isnan(silu[i]));
    }
}

// A vector with a number whose exponential is no normal one goes another way.
TEST(VectorFunctions, AreIndependentOfOtherLanes) {
    for (RowsFn run : {simd_rows<functor::Exp>(), simd_rows<functor::Silu>(), simd_rows<functor::Sigmoid>(),
                       simd_rows<functor::Gelu>(), simd_rows<functor::GeluSlope>()}) {
        auto x = points(-80, 80), alone = computed(run, x);
        for (size_t i = 0; i < x.size(); i += 4) x[i] = i % 8 ? 1000 : -1000;
        auto beside = computed(run, x);
        size_t different = 0;
        for (size_t i = 0; i < x.size(); ++i) different += i % 4 && beside[i] != alone[i];
        EXPECT_EQ(different, 0u);
    }
}

}  // namespace
}  // namespace mge::cpu
