// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "libmge/mge.h"
#include "tests/harness/check_op.h"
#include "tests/harness/expect_error.h"

namespace mge::test {
namespace {

using testing::DoubleNear;
using testing::Each;
using testing::ElementsAre;
using testing::Pointwise;

// u diag(s) v
Tensor joined(const Tensors& usv) {
    return ops::matmul(ops::mul(usv[0], ops::add_axis(usv[1], {.axes = {-2}})), usv[2]);
}
Tensor identity(int64_t n) { return ops::eye({.n = n}); }

TEST(Svd, HasItsGradient) {
    // Tall, wide, square and several; the singular values are far enough apart for finite differences.
    check_op<ops::Svd>({}, {{.shape = {3, 2}, .values = {3, 0.5, 1, -2, 0.25, 1}}},
                       {.dtypes = float_types, .reduction = 64});
    check_op<ops::Svd>({}, {{.shape = {2, 3}, .values = {3, 0.5, 1, -2, 0.25, 1}}},
                       {.dtypes = float_types, .reduction = 64});
    check_op<ops::Svd>({}, {{.shape = {2, 2, 2}, .values = {4, 0.5, 1, -1, 0.5, 3, 1, 0.25}}},
                       {.dtypes = float_types, .reduction = 64});
    for (Shape empty : {Shape{0, 3}, Shape{2, 0}, Shape{0, 2, 2}})
        check_op<ops::Svd>({}, {{.shape = empty}}, {.dtypes = float_types});
}

TEST(Svd, FindsSingularValues) {
    Tensors diagonal = ops::svd(tensor_of<float>({2, 3}, {0, 0, 2, 0, -5, 0}));
    EXPECT_THAT(values_of(diagonal[1]), ElementsAre(5, 2));
    Tensor x = ops::reshape(ops::arange({.start = -7, .stop = 53}), {.shape = {3, 5, 4}});
    for (bool is_wide : {false, true}) {
        Tensor matrices = is_wide ? ops::transpose(x, {.pattern = {0, 2, 1}}) : x;
        Tensors usv = ops::svd(matrices);
        EXPECT_THAT(values_of(joined(usv)), Pointwise(DoubleNear(1e-4), values_of(matrices)));
    }
}

// Its rank is 1, and of the zero matrix 0: the vectors are orthonormal all the same.
TEST(Svd, CompletesDegenerateVectors) {
    for (auto& values : {std::vector<float>{1, 2, 2, 4, 3, 6}, std::vector<float>(6, 0.f)}) {
        Tensors usv = ops::svd(tensor_of<float>({3, 2}, values));
        EXPECT_THAT(values_of(ops::matmul(usv[0], usv[0], {.transpose_a = true})),
                    Pointwise(DoubleNear(1e-6), values_of(identity(2))));
        EXPECT_THAT(values_of(ops::matmul(usv[2], usv[2], {.transpose_b = true})),
                    Pointwise(DoubleNear(1e-6), values_of(identity(2))));
        EXPECT_NEAR(values_of(usv[1])[1], 0, 1e-6);
    }
}

TEST(Svd, NanInputGivesNan) {
    float nan = std::numeric_limits<float>::quiet_NaN();
    EXPECT_THAT(values_of(ops::svd(tensor_of<float>({2, 2}, {1, nan, 0, 1}))[1]),
                testing::Contains(testing::IsNan()));
}

TEST(Svd, RejectsInvalidArguments) {
    expect_user_error(ErrorClass::runtime, "[svd] x must be matrices (..., m, n), got shape (3,)", [&] {
        ops::svd(tensor_of<float>({3}, {1, 2, 3}));
    });
}

}  // namespace
}  // namespace mge::test
