// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "libmge/mge.h"
#include "tests/harness/check_op.h"

namespace mge::test {
namespace {

struct SoftmaxCase {
    Shape shape;
    int axis;
};

TEST(Softmax, AgreesWithItsReference) {
    for (auto [shape, axis] :
         {SoftmaxCase{{1}, 0}, SoftmaxCase{{7}, -1}, SoftmaxCase{{3, 31}, 1}, SoftmaxCase{{5, 1000}, -1},
          SoftmaxCase{{2, 10, 3}, 1}, SoftmaxCase{{5, 64}, -1}, SoftmaxCase{{2, 301}, -1},
          SoftmaxCase{{2, 9000}, -1}, SoftmaxCase{{2, 70, 3}, 1}, SoftmaxCase{{4, 3, 19}, 0},
          SoftmaxCase{{0, 3}, 1}, SoftmaxCase{{2, 3, 0}, 1}})
        for (bool log : {false, true})
            check_op<ops::Softmax>({.axis = axis, .log = log}, {{.shape = shape, .low = -8, .high = 8}},
                                   {.dtypes = float_types, .reduction = shape.numel()});
}

TEST(Softmax, SeparatesDistantValues) {
    Tensor y = ops::softmax(tensor_of<float>({3}, {1000, 1000, -1000}));
    EXPECT_THAT(values_of(y), testing::ElementsAre(0.5, 0.5, 0));
    Tensor log = ops::softmax(tensor_of<float>({2}, {0, -1000}), {.log = true});
    EXPECT_THAT(values_of(log), testing::ElementsAre(0, -1000));
}

TEST(Softmax, NanOrInfinityGivesNanEverywhere) {
    constexpr float nan = std::numeric_limits<float>::quiet_NaN(), inf = HUGE_VALF;
    for (float bad : {nan, inf}) {
        std::vector<float> row(40, 1);
        row[17] = bad;
        Tensor y = ops::softmax(tensor_of<float>({40}, row));
        Tensor columns = ops::softmax(tensor_of<float>({1, 40}, row), {.axis = 0});
        EXPECT_TRUE(std::isnan(values_of(columns)[17]));
        if (std::isnan(bad))
            EXPECT_THAT(values_of(y), testing::Each(testing::IsNan()));
        else
            EXPECT_TRUE(std::isnan(values_of(y)[17]));
    }
    Tensor masked = ops::softmax(tensor_of<float>({3}, {-inf, 0, 0}));
    EXPECT_THAT(values_of(masked), testing::ElementsAre(0, 0.5, 0.5));
}

TEST(Softmax, TurnsIntegersIntoFloats) {
    EXPECT_EQ(ops::softmax(tensor_of<int32_t>({2}, {1, 1})).dtype(), DType::f32);
}

TEST(Softmax, NamesTheAxis) {
    try {
        ops::softmax(tensor_of<float>({1, 2}, {1, 2}), {.axis = 7});
        FAIL();
    } catch (const UserError& e) {
        EXPECT_STREQ(e.what(), "[softmax] axis 7 is out of range for rank 2");
    }
}

}  // namespace
}  // namespace mge::test
