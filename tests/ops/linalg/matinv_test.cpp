// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libmge/mge.h"
#include "tests/harness/check_op.h"
#include "tests/harness/expect_error.h"

namespace mge::test {
namespace {

TEST(Matinv, HasItsGradient) {
    check_op<ops::Matinv>({}, {{.shape = {2, 3, 3}, .values = {3, 0.5, 1, 0, -2, 1, 0.5, 1, 4, 2}}},
                          {.dtypes = float_types, .reduction = 64});
    check_op<ops::Matinv>({}, {{.shape = {1, 1}, .values = {4}}}, {.dtypes = float_types});
    for (Shape empty : {Shape{0, 0}, Shape{0, 2, 2}})
        check_op<ops::Matinv>({}, {{.shape = empty}}, {.dtypes = float_types});
}

TEST(Matinv, InvertsWithPivoting) {
    Tensor x = tensor_of<float>({3, 3}, {0, 2, 0, 1, 0, 0, 0, 0, 4});
    EXPECT_THAT(values_of(ops::matinv(x)), testing::ElementsAre(0, 1, 0, 0.5, 0, 0, 0, 0, 0.25));
    Tensor random = make_tensor(DType::f32, {2, 2}, {1, 2, 3, 4});
    EXPECT_THAT(values_of(ops::matmul(random, ops::matinv(random))),
                testing::Pointwise(testing::DoubleNear(1e-6), {1, 0, 0, 1}));
}

// With large numbers off the diagonal, so that pivots are looked for and found.
std::vector<double> regular(int64_t n) {
    std::vector<double> values(size_t(n * n));
    for (int64_t i = 0; i < n * n; ++i) values[size_t(i)] = double(i * 7919 % 101) / 101 - 0.5;
    for (int64_t i = 0; i < n; ++i) values[size_t(i * n + (i + n / 2) % n)] += double(n);
    return values;
}

TEST(Matinv, InvertsLargerMatrices) {
    for (int64_t n : {33, 61})
        check_op<ops::Matinv>({}, {{.shape = {3, n, n}, .values = regular(n)}},
                              {.dtypes = float_types, .reduction = n, .gradient = false});
}

TEST(Matinv, RejectsInvalidArguments) {
    expect_user_error(ErrorClass::runtime, "[matinv] x must be square matrices (..., n, n), got shape (1, 2)",
                      [&] {
                          ops::matinv(tensor_of<float>({1, 2}, {1, 2}));
                      });
    expect_user_error(ErrorClass::runtime, "[matinv] matrix 1 of x is singular", [&] {
        ops::matinv(tensor_of<float>({2, 1, 1}, {1, 0}));
    });
}

}  // namespace
}  // namespace mge::test
