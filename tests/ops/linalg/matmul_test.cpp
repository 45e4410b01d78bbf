// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "libmge/kernel/select.h"
#include "libmge/mge.h"
#include "libmge/ops/linalg/matmul_geometry.h"
#include "tests/harness/check_op.h"

namespace mge::test {
namespace {

struct Operands {
    Shape a, b;
    bool transpose_a = false, transpose_b = false;
    int64_t k = 3;
};

const Operands operand_shapes[] = {
    {{3}, {3}},
    {{2, 3}, {3}},
    {{3}, {3, 4}},
    {{2, 3}, {3, 4}},
    {{5, 2, 3}, {3, 4}},
    {{5, 2, 3}, {5, 3, 4}},
    {{2, 1, 2, 3}, {5, 3, 4}},
    {{3}, {5, 3, 4}},
    {{5, 2, 3}, {3}},
    {{2, 3}, {5, 3, 4}},
    {{4, 3}, {5, 3}, false, true},
    {{3, 4}, {3, 5}, true, false},
    {{2, 3, 4}, {2, 5, 3}, true, true},
    {{2, 3, 4}, {3, 5}, true, false},
    {{0, 3}, {3, 4}},
    {{2, 0}, {0, 4}, false, false, 1},
    {{1, 17}, {17, 33}, false, false, 17},
    {{1, 37}, {21, 37}, false, true, 37},
    {{7, 13}, {13, 70}, false, false, 13},
    {{40, 33}, {33, 47}, false, false, 33},
    {{33, 40}, {47, 33}, true, true, 33},
};

TEST(Matmul, FollowsNumpy) {
    for (auto& o : operand_shapes)
        check_op<ops::Matmul>({.transpose_a = o.transpose_a, .transpose_b = o.transpose_b},
                              {{.shape = o.a}, {.shape = o.b}},
                              {.dtypes = float_types, .reduction = o.k, .gradient = o.k < 10});
}

// Beyond what one block of threads computes: sums that are split, and tiles of each size.
TEST(Matmul, HasLongSumsAndManyMatrices) {
    for (auto& o : {Operands{{3, 700}, {700, 5}}, Operands{{700}, {700, 5}}, Operands{{2, 700}, {700}},
                    Operands{{130, 40, 19}, {130, 19, 39}}, Operands{{130, 70, 9}, {130, 9, 90}},
                    Operands{{90, 2, 21}, {90, 21, 3}}}) {
        Shape y = ops::Matmul::infer({}, TensorSpecs{{DType::f32, o.a, {}}, {DType::f32, o.b, {}}})[0].shape;
        check_op<ops::Matmul>({.activation = Activation::relu},
                              {{.shape = o.a}, {.shape = o.b}, {.absent = true}, {.shape = y}},
                              {.dtypes = {DType::f32}, .reduction = 4096, .gradient = false});
    }
}

// As many rows and columns as matrix instructions want, of which the last panels are not full.
const Operands large_shapes[] = {
    {{331, 70}, {70, 345}, false, false, 70},    {{345, 70}, {331, 70}, false, true, 70},
    {{33, 1030}, {33, 205}, true, false, 33},    {{100, 205}, {1030, 100}, true, true, 100},
    {{2, 200, 64}, {64, 300}, false, false, 64},
};

TEST(Matmul, LargeMatricesFollowNumpy) {
    for (auto& o : large_shapes)
        check_op<ops::Matmul>({.transpose_a = o.transpose_a, .transpose_b = o.transpose_b},
                              {{.shape = o.a}, {.shape = o.b}}, {.reduction = o.k, .gradient = false});
    for (Activation activation : {Activation::relu, Activation::gelu})
        check_op<ops::Matmul>(
            {.activation = activation},
            {{.shape = {331, 40}}, {.shape = {40, 345}}, {.shape = {345}}, {.shape = {331, 345}}},
            {.reduction = 40, .gradient = false});
}

// Panels with a rest, tiles of all heights, sums and rows of several blocks; few panels for the threads and
// many, and so many that rows are packed.
TEST(Matmul, RowsTimesPackedMatrixFollowNumpy) {
    struct Extents {
        int64_t m, k, n;
    };
    for (auto [m, k, n] : {Extents{4, 32, 16},
                           {5, 33, 17},
                           {7, 300, 35},
                           {11, 257, 49},
                           {250, 870, 17},
                           {31, 64, 400},
                           {170, 390, 261},
                           {31, 1601, 257}})
        for (bool transpose_b : {false, true})
            check_op<ops::Matmul>({.transpose_b = transpose_b, .activation = Activation::gelu},
                                  {{.shape = {m, k}},
                                   {.shape = transpose_b ? Shape{n, k} : Shape{k, n}},
                                   {.shape = {n}},
                                   {.shape = {m, n}}},
                                  {.reduction = k, .gradient = false});
}

// One row: fewer and more rows of the matrix than are fetched ahead, panels with a rest, and read either way.
TEST(Matmul, RowTimesPackedMatrixFollowsNumpy) {
    struct Extents {
        int64_t k, n;
    };
    for (auto [k, n] : {Extents{1, 64}, {3, 150}, {8, 128}, {9, 65}, {37, 331}, {256, 1024}})
        for (bool transpose_b : {false, true}) {
            InputSpec a{.shape = {1, k}}, b{.shape = transpose_b ? Shape{n, k} : Shape{k, n}};
            const CheckOptions options{.dtypes = {DType::f32}, .reduction = k, .gradient = false};
            check_op<ops::Matmul>({.transpose_b = transpose_b}, {a, b}, options);
            check_op<ops::Matmul>({.transpose_b = transpose_b, .activation = Activation::relu},
                                  {a, b, {.shape = {n}}, {.shape = {1, n}}}, options);
        }
}

// Sums of outer products: blocks of rows with a rest, panels and tiles with one.
TEST(Matmul, ColumnsWithLongSumsFollowNumpy) {
    struct Extents {
        int64_t m, k, n;
    };
    for (auto [m, k, n] : {Extents{192, 512, 192}, {251, 777, 203}, {520, 513, 199}, {199, 520, 561}}) {
        InputSpec a{.shape = {k, m}}, b{.shape = {k, n}}, bias{.shape = {n}}, residual{.shape = {m, n}};
        const CheckOptions options{.dtypes = {DType::f32}, .reduction = k, .gradient = false};
        check_op<ops::Matmul>({.transpose_a = true}, {a, b}, options);
        check_op<ops::Matmul>({.transpose_a = true, .activation = Activation::gelu}, {a, b, bias, residual},
                              options);
    }
}

TEST(Matmul, LongSumsOfOneColumnKeepThreeDigits) {
    const int64_t k = 1 << 20;
    Tensor x = ops::full({.shape = {k}, .value = 0.1});
    const double wanted = double(k) * double(0.1F) * double(0.1F);
    for (auto& a : {x, ops::reshape(x, {.shape = {1, k}})})
        for (auto& b : {x, ops::reshape(x, {.shape = {k, 1}})})
            EXPECT_NEAR(*ops::matmul(a, b).data<float>(), wanted, 1e-3 * wanted) << a.shape() << b.shape();
}

// Numbers that bf16 does not reach, in one of the panels.
TEST(Matmul, LargeMatricesKeepInfinityAndNan) {
    using Limits = std::numeric_limits<float>;
    for (double x : {double(Limits::infinity()), double(Limits::quiet_NaN()), double(Limits::max())}) {
        std::vector<double> values(331 * 64, 0.25);
        values[300 * 64 + 5] = x;
        for (size_t i = 0; i < values.size(); i += 2) values[i] = -values[i];
        InputSpec ones{.values = {1}}, a{.values = values}, b = a;
        a.shape = ones.shape = {331, 64};
        b.shape = {64, 345};
        InputSpec none{.absent = true}, halves{.shape = {64, 345}, .values = {0.5}},
            residual{.shape = {331, 345}};
        check_op<ops::Matmul>({}, {a, halves, none, residual}, {.reduction = 64, .gradient = false});
        check_op<ops::Matmul>({}, {ones, b, none, residual}, {.reduction = 64, .gradient = false});
    }
}

TEST(Matmul, AcceptsIntegers) {
    for (DType dtype : {DType::u8, DType::i8, DType::u16, DType::i16, DType::i32, DType::i64}) {
        InputSpec a{.shape = {2, 3, 5}, .values = {7, 100, 0, 3, 90, 1, 12}}, b = a;
        b.shape = {5, 4};
        check_op<ops::Matmul>({}, {a, b}, {.dtypes = {dtype}, .gradient = false});
    }
}

// Exact, whatever the tiles; the largest products would saturate in 16 bits.
TEST(Matmul, NarrowIntegersAreExact) {
    for (DType dtype : {DType::u8, DType::i8, DType::i16}) {
        double low = dtype == DType::u8 ? 0 : dtype == DType::i8 ? -128 : -32768, high = -1 - low;
        if (dtype == DType::u8) high = 255;
        for (auto& o : operand_shapes) {
            InputSpec a{.shape = o.a, .low = low, .high = high}, b{.shape = o.b, .low = low, .high = high};
            ops::Matmul::Params p{.transpose_a = o.transpose_a, .transpose_b = o.transpose_b};
            check_op<ops::Matmul>(p, {a, b}, {.dtypes = {dtype}, .gradient = false});
            a.values = b.values = {low};
            check_op<ops::Matmul>(p, {a, b}, {.dtypes = {dtype}, .gradient = false});
        }
        check_op<ops::Matmul>({.transpose_b = true},
                              {{.shape = {50, 301}, .low = low, .high = high},
                               {.shape = {70, 301}, .low = low, .high = high},
                               {.shape = {70}, .low = low, .high = high},
                               {.shape = {50, 70}, .low = low, .high = high}},
                              {.dtypes = {dtype}, .gradient = false});
    }
}

TEST(Matmul, AddsBiasAndResidualAndActivates) {
    for (Activation activation : {Activation::none, Activation::relu, Activation::relu6, Activation::hswish,
                                  Activation::silu, Activation::gelu, Activation::sigmoid, Activation::tanh})
        for (Shape a : {Shape{3, 19}, Shape{2, 35, 19}}) {
            Shape y = a;
            y[y.rank() - 1] = 18;
            check_op<ops::Matmul>({.transpose_b = true, .activation = activation},
                                  {{.shape = a}, {.shape = {18, 19}}, {.shape = {18}}, {.shape = y}},
                                  {.dtypes = float_types, .reduction = 19, .gradient = false});
            check_op<ops::Matmul>({.activation = activation},
                                  {{.shape = a}, {.shape = {19, 18}}, {.absent = true}, {.shape = y}},
                                  {.dtypes = float_types, .reduction = 19, .gradient = false});
        }
}

TEST(Matmul, KeepsNanAfterActivations) {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    for (auto activation : {Activation::silu, Activation::tanh})
        for (Shape a : {Shape{1, 19}, Shape{3, 19}, Shape{40, 190}}) {
            int64_t k = a[1];
            auto expected = [&](std::span<const Tensor>) {
                Shape shape{a[0], 18};
                return Tensors{
                    make_tensor(DType::f32, shape, std::vector<double>(size_t(shape.numel()), nan))};
            };
            check_op<ops::Matmul>({.transpose_b = true, .activation = activation},
                                  {{.shape = a, .values = {nan}}, {.shape = {18, k}}, {.shape = {18}}},
                                  {.gradient = false, .reference = expected});
            check_op<ops::Matmul>(
                {.activation = activation},
                {{.shape = a}, {.shape = {k, 18}}, {.absent = true}, {.shape = {a[0], 18}, .values = {nan}}},
                {.gradient = false, .reference = expected});
        }
}

TEST(Matmul, DifferentiatesBiasAndResidual) {
    check_op<ops::Matmul>({}, {{.shape = {2, 3}}, {.shape = {3, 4}}, {.shape = {4}}, {.shape = {2, 4}}},
                          {.reduction = 3});
}

TEST(Matmul, SumsNarrowIntegersInInt32) {
    Tensor a = tensor_of<int8_t>({1, 2}, {100, 100}), b = tensor_of<int8_t>({2, 1}, {100, 100});
    Tensor y = ops::matmul(a, b);
    EXPECT_EQ(y.dtype(), DType::i32);
    EXPECT_THAT(values_of(y), testing::ElementsAre(20000));
    // Bias and residual have the dtype of the operands, not that of the result.
    Tensor bias = tensor_of<int8_t>({1}, {-7}), residual = tensor_of<int8_t>({1, 1}, {100});
    EXPECT_THAT(values_of(ops::matmul(a, b, bias, residual)), testing::ElementsAre(20093));
}

Tensor ones(const Shape& shape) {
    return make_tensor(DType::f32, shape, std::vector<double>(size_t(shape.numel()), 1));
}

std::string message_of(const Shape& a, const Shape& b) {
    try {
        ops::matmul(ones(a), ones(b));
    } catch (const UserError& e) {
        return e.what();
    }
    return "";
}

// Libraries pack the matrices of one product, not those of a batch.
TEST(Matmul, OneBatchIsAPlainProduct) {
    for (bool transpose_a : {false, true}) {
        auto g = ops::matmul_geometry({.transpose_a = transpose_a}, {1, 40, 40}, {40, 80});
        EXPECT_EQ(g.batch.rank(), 0);
        EXPECT_EQ(g.m, 40);
        EXPECT_EQ(g.output, (Shape{1, 40, 80}));
    }
    EXPECT_EQ(ops::matmul_geometry({}, {1, 1, 2, 3}, {1, 3, 4}).batch.rank(), 0);
}

// The library would generate code for milliseconds, and read the matrix no faster.
TEST(Matmul, OneRowDoesNotUseTheLibrary) {
    ops::Matmul::Params params{.transpose_b = true};
    auto is_offered = [&](int64_t rows) {
        TensorSpec specs[] = {{DType::f32, {rows, 600}, {}}, {DType::f32, {1000, 600}, {}}};
        TensorSpec out{DType::f32, {rows, 1000}, {}};
        Problem problem{ops::Matmul::name, &params, ops::Matmul::info.fields, specs, {&out, 1}};
        auto list = list_candidates(find_kernels(ops::Matmul::info, default_device()), problem);
        return std::ranges::any_of(list,
                                   [](auto& named) { return named.candidate.name.starts_with("onednn"); });
    };
    EXPECT_FALSE(is_offered(1));
    EXPECT_TRUE(is_offered(64));
}

TEST(Matmul, RejectsMismatchedShapes) {
    EXPECT_EQ(message_of({2, 3}, {4, 3}),
              "[matmul] shapes (2, 3) and (4, 3) do not fit: 3 columns against 4 rows");
    EXPECT_EQ(message_of({}, {3}), "[matmul] takes vectors and matrices, got shapes () and (3,)");
    EXPECT_NE(message_of({2, 2, 3}, {3, 3, 4}), "");
}

}  // namespace
}  // namespace mge::test
