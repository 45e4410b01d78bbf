// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "libmge/mge.h"
#include "libmge/ops/index/order/unique.h"
#include "tests/harness/check_op.h"
#include "tests/harness/expect_error.h"

namespace mge::test {
namespace {

TEST(Unique, ReturnsUniqueNumbersWithPositions) {
    Tensor x = tensor_of<float>({6}, {2, 1, 1, 3, 4, 3});
    Tensors sorted = ops::unique(x), found = ops::unique(x, {.sorted = false});
    EXPECT_THAT(values_of(sorted[0]), testing::ElementsAre(1, 2, 3, 4));
    EXPECT_THAT(values_of(sorted[1]), testing::ElementsAre(1, 0, 3, 4));
    EXPECT_THAT(values_of(sorted[2]), testing::ElementsAre(1, 0, 0, 2, 3, 2));
    EXPECT_THAT(values_of(sorted[3]), testing::ElementsAre(2, 1, 2, 1));
    EXPECT_THAT(values_of(found[0]), testing::ElementsAre(2, 1, 3, 4));
    EXPECT_THAT(values_of(found[2]), testing::ElementsAre(0, 1, 1, 2, 3, 2));
}

TEST(Unique, ReturnsUniqueRows) {
    Tensor x = make_tensor(DType::i32, {4, 2}, {1, 0, 0, 9, 1, 0, 0, 3});
    Tensors found = ops::unique(x);
    EXPECT_EQ(found[0].shape(), (Shape{3, 2}));
    EXPECT_THAT(values_of(found[0]), testing::ElementsAre(0, 3, 0, 9, 1, 0));
    EXPECT_THAT(values_of(found[2]), testing::ElementsAre(2, 1, 2, 0));
}

TEST(Unique, NanIsOneValueAfterAllNumbers) {
    float nan = std::nanf("");
    Tensors found = ops::unique(tensor_of<float>({4}, {nan, 1, nan, -1}));
    EXPECT_THAT(values_of(found[0]), testing::ElementsAre(-1, 1, testing::IsNan()));
    EXPECT_THAT(values_of(found[3]), testing::ElementsAre(1, 1, 2));
}

TEST(Unique, AgreesInAllModes) {
    for (bool sorted : {true, false})
        for (DType dtype : {DType::f32, DType::i32, DType::u8, DType::f16})
            for (const Shape& shape : {Shape{17}, Shape{0}, Shape{5, 3}}) {
                InputSpec x{
                    .shape = shape, .dtype = dtype, .differentiate = false, .values = {3, 1, 2, 1, 3}};
                check_op<ops::Unique>({.sorted = sorted}, {x}, {});
            }
}

TEST(Unique, RejectsInvalidArguments) {
    expect_user_error(ErrorClass::value, "[unique] x needs a first axis",
                      [] { ops::unique(tensor_of<float>({}, {1})); });
}

}  // namespace
}  // namespace mge::test
