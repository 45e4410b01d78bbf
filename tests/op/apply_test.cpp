// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
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

TEST(Apply, DistinguishesZerosInParameters) {
    for (double zero : {-0.0, 0.0, -0.0}) {
        Tensor full = ops::full({.shape = {1}, .value = zero});
        EXPECT_EQ(std::signbit(*full.data<float>()), std::signbit(zero));
    }
    EXPECT_EQ(values_of(ops::full({.shape = {1}, .value = 0.0}))[0], 0.f);
    const ops::Full::Params nan{.shape = {1}, .value = std::nan("")}, same = nan;
    EXPECT_TRUE(ops::Full::info.params.equal(&nan, &same));
    EXPECT_EQ(ops::Full::info.params.hash(&nan), ops::Full::info.params.hash(&same));
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

// Settings of this thread for the life of the scope.
class Autocast {
public:
    explicit Autocast(DType low) { set_mixed_precision({true, low, DType::f32}); }
    ~Autocast() { set_mixed_precision({}); }
};

TEST(Apply, CastsToThePrecisionOfTheOperator) {
    Tensor x = ops::reshape(vector_of({1, 2, 3, 4}), {.shape = {2, 2}});
    Tensor half = convert_dtype(x, DType::f16);
    for (DType low : {DType::f16, DType::bf16}) {
        Autocast scope(low);
        EXPECT_EQ(ops::matmul(x, half).dtype(), low);
        EXPECT_EQ(ops::log(half).dtype(), DType::f32);
        EXPECT_EQ(ops::tanh(half).dtype(), DType::f16);
        EXPECT_EQ(ops::softmax(half).dtype(), DType::f16);
        EXPECT_EQ(ops::softmax(half, {.log = true}).dtype(), DType::f32);
        EXPECT_EQ(ops::add(half, half).dtype(), DType::f16);
    }
    EXPECT_EQ(ops::matmul(x, x).dtype(), DType::f32);
}

TEST(Apply, CastsNoIntegersToLowPrecision) {
    Autocast scope(DType::f16);
    int32_t values[] = {1, 2};
    Tensor x = tensor_from_host({DType::i32, {1, 2}, {}}, values);
    EXPECT_EQ(ops::matmul(x, x, {.transpose_b = true}).dtype(), DType::i32);
    EXPECT_EQ(ops::sqrt(x).dtype(), DType::f32);
}

TEST(Apply, RefusesToCastToIntegers) {
    EXPECT_THROW(set_mixed_precision({true, DType::i8, DType::f32}), UserError);
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
