// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libmge/mge.h"
#include "libmge/ops/vision/preprocess.h"
#include "tests/harness/check_op.h"

namespace mge::test {
namespace {

InputSpec vector(int64_t n, double low, double high) {
    return {.shape = {n}, .low = low, .high = high, .dtype = DType::f32};
}

TEST(Preprocess, AgreesWithTheReference) {
    for (bool channels_last : {true, false})
        for (int64_t channels : {1, 2, 3, 4, 5})
            for (int64_t planes : {channels, channels + 1})
                for (ops::Pair size : {ops::Pair{1, 1}, ops::Pair{7, 19}, ops::Pair{0, 3}}) {
                    Shape x = channels_last ? Shape{2, size[0], size[1], channels}
                                            : Shape{2, channels, size[0], size[1]};
                    check_op<ops::Preprocess>(
                        {channels_last},
                        {{.shape = x, .low = -120, .high = 120},
                         vector(planes, -100, 100),
                         vector(planes, -2, 2)},
                        {.dtypes = {DType::u8, DType::i16, DType::f16, DType::f32}, .gradient = false});
                }
    // On several threads.
    check_op<ops::Preprocess>({}, {{.shape = {2, 130, 67, 3}}, vector(3, -1, 1), vector(3, -2, 2)},
                              {.dtypes = {DType::u8}, .gradient = false});
}

TEST(Preprocess, FillsMargins) {
    Tensor x = tensor_of<uint8_t>({1, 1, 2, 3}, {10, 20, 30, 40, 50, 60});
    Tensor y =
        ops::preprocess(x, tensor_of<float>({4}, {10, 0, 30, 3}), tensor_of<float>({4}, {1, 2, 0.5, 2}));
    EXPECT_EQ(y.shape(), (Shape{1, 4, 1, 2}));
    EXPECT_THAT(values_of(y), testing::ElementsAre(0, 30, 40, 100, 0, 15, -6, -6));
}

std::string error_of(const Tensor& x, const Tensor& mean, const Tensor& scale) {
    try {
        ops::preprocess(x, mean, scale);
    } catch (const UserError& e) {
        return e.what();
    }
    return "";
}

TEST(Preprocess, RejectsUnsupportedInputs) {
    using testing::HasSubstr;
    Tensor x = tensor_of<uint8_t>({1, 2, 2, 3}, std::vector<uint8_t>(12)),
           three = tensor_of<float>({3}, {1, 2, 3});
    EXPECT_THAT(error_of(tensor_of<float>({3}, {1, 2, 3}), three, three),
                HasSubstr("shape (N, H, W, C), got"));
    EXPECT_THAT(error_of(x, three, tensor_of<float>({2}, {1, 2})), HasSubstr("vectors of equal length"));
    EXPECT_THAT(error_of(x, tensor_of<float>({2}, {1, 2}), tensor_of<float>({2}, {1, 2})),
                HasSubstr("x has 3 channels, but mean and scale only 2"));
    Tensor flags = ops::convert(x, {.dtype = DType::boolean});
    EXPECT_THAT(error_of(flags, three, three), HasSubstr("must hold numbers, got bool"));
}

}  // namespace
}  // namespace mge::test
