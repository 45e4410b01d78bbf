// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "libmge/mge.h"

namespace mge {
namespace {

Tensor vector_of(std::vector<float> values) {
    return tensor_from_host({DType::f32, {int64_t(values.size())}, {}}, values.data());
}
std::vector<float> values_of(const Tensor& t) {
    return {t.data<float>(), t.data<float>() + t.spec().numel()};
}

TEST(Apply, ConcatenatesAndReshapes) {
    Tensor joined = ops::concat({vector_of({1, 2}), vector_of({3})}, {.axis = 0});
    EXPECT_THAT(values_of(joined), testing::ElementsAre(1, 2, 3));
    Tensor column = ops::reshape(joined, {.shape = {-1, 1}});
    EXPECT_EQ(column.shape(), (Shape{3, 1}));
    EXPECT_EQ(column.data(), joined.data());
}

TEST(Apply, ReadsHostValuesOfATarget) {
    int32_t target[] = {2, -1};
    Tensor shape = tensor_from_host({DType::i32, {2}, {}}, target);
    EXPECT_EQ(ops::reshape(vector_of({1, 2, 3, 4}), shape).shape(), (Shape{2, 2}));
}

TEST(Apply, PromotesToTheCommonDtype) {
    int32_t two[] = {2};
    Tensor joined = ops::concat({vector_of({1}), tensor_from_host({DType::i32, {1}, {}}, two)});
    EXPECT_THAT(values_of(joined), testing::ElementsAre(1, 2));
}

TEST(Apply, NamesOperatorAndAxisInErrors) {
    try {
        ops::concat({vector_of({1})}, {.axis = 7});
        FAIL();
    } catch (const UserError& e) {
        EXPECT_STREQ(e.what(), "[concat] axis 7 is out of range for rank 1");
        EXPECT_EQ(e.error_class(), ErrorClass::value);
    }
}

TEST(Apply, RefusesAMissingInput) { EXPECT_THROW(ops::add(vector_of({1}), Tensor()), UserError); }

}  // namespace
}  // namespace mge
