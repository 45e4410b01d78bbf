// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libmge/mge.h"
#include "libmge/ops/quantize/compressed/expand_weight.h"
#include "tests/harness/check_op.h"
#include "tests/harness/expect_error.h"

namespace mge::test {
namespace {

using testing::ElementsAre, testing::HasSubstr;

Tensor bytes(const Shape& shape, const std::vector<uint8_t>& values) {
    return tensor_of<uint8_t>(shape, values);
}
Tensor floats(const Shape& shape, const std::vector<float>& values) {
    return tensor_of<float>(shape, values);
}

Tensor filled(DType dtype, const Shape& shape) {
    return make_tensor(dtype, shape, std::vector<double>(size_t(shape.numel()), 1));
}

TEST(ExpandWeight, HasStepsAroundTheMiddle) {
    Tensor w = ops::expand_weight(bytes({2, 3}, {128, 129, 0, 255, 127, 128}), floats({2, 1}, {2, 0.5}), {},
                                  {.columns = 3});
    EXPECT_EQ(w.shape(), (Shape{2, 3}));
    EXPECT_THAT(values_of(w), ElementsAre(0, 2, -256, 63.5, -0.5, 0));
}

TEST(ExpandWeight, ReadsTheLowHalfOfAByteFirst) {
    Tensor w =
        ops::expand_weight(bytes({1, 2}, {0x8f, 0xf0}), floats({1, 1}, {1}), {}, {.columns = 3, .bits = 4});
    EXPECT_THAT(values_of(w), ElementsAre(7, 0, -8));
}

TEST(ExpandWeight, AppliesScaleAndZeroPointOfEachGroup) {
    // The second group of a row has one column and is padded.
    Tensor w = ops::expand_weight(bytes({2, 2}, {0x21, 0x03, 0x54, 0x06}), floats({2, 2}, {1, 10, 100, 1000}),
                                  bytes({2, 2}, {0, 1, 2, 3}), {.columns = 3, .bits = 4, .group = 2});
    EXPECT_THAT(values_of(w), ElementsAre(1, 2, 20, 200, 300, 3000));
}

// The bytes of such a group are 0 modulo 2^64, and so would be those of the rows that are read.
TEST(ExpandWeight, RefusesGroupsThatOverflow) {
    auto refusal = [](int64_t columns, int64_t group) {
        return error_of([&] {
            ops::expand_weight(bytes({4, 0}, {}), filled(DType::f32, {4, 1}), {},
                               {.columns = columns, .group = group});
        });
    };
    EXPECT_THAT(refusal(1000, int64_t(1) << 61), HasSubstr("a group of 2305843009213693952 columns"));
    EXPECT_THAT(refusal(INT64_MAX, 0), HasSubstr("a matrix of 9223372036854775807 columns"));
}

TEST(ExpandWeight, AgreesWithTheReference) {
    for (int64_t bits : {8, 4})
        for (int64_t columns : {1, 2, 7, 31, 64, 131})
            for (int64_t group : {0, 2, 16, 32, 256}) {
                const int64_t in_byte = 8 / bits, whole = (columns + in_byte - 1) / in_byte * in_byte;
                const int64_t used = group ? group : whole, groups = (columns + used - 1) / used;
                const InputSpec steps{.shape = {5, groups * used / in_byte}, .high = 255, .dtype = DType::u8};
                const InputSpec scale{.shape = {5, groups}};
                const ops::ExpandWeight::Params p{.columns = columns, .bits = bits, .group = group};
                check_op<ops::ExpandWeight>(p, {steps, scale, {.absent = true}});
                check_op<ops::ExpandWeight>(
                    p, {steps,
                        scale,
                        {.shape = {5, groups}, .high = double((1 << bits) - 1), .dtype = DType::u8}});
            }
}

TEST(ExpandWeight, RejectsMismatchedShapes) {
    auto expand = [](const Shape& steps, const Shape& scale, ops::ExpandWeight::Params p) {
        return error_of(
            [&] { ops::expand_weight(filled(DType::u8, steps), filled(DType::f32, scale), {}, p); });
    };
    EXPECT_THAT(expand({2, 8}, {2, 1}, {.columns = 8, .bits = 3}), HasSubstr("4 or 8 bits, not 3"));
    EXPECT_THAT(expand({2, 8}, {2, 1}, {.columns = 8, .bits = 4, .group = 3}),
                HasSubstr("even number of columns, got 3"));
    EXPECT_THAT(expand({2, 8}, {2, 1}, {.columns = 0}), HasSubstr("a matrix of 0 columns"));
    EXPECT_THAT(expand({8}, {2, 1}, {.columns = 8}), HasSubstr("a matrix of bytes"));
    EXPECT_THAT(expand({2, 7}, {2, 1}, {.columns = 8}), HasSubstr("its steps must be uint8 of shape (2, 8)"));
    EXPECT_THAT(expand({2, 8}, {2, 2}, {.columns = 8}),
                HasSubstr("its scales must be float32 of shape (2, 1)"));
}

}  // namespace
}  // namespace mge::test
