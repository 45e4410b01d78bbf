// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "libmge/mge.h"
#include "libmge/ops/vision/class_nms.h"
#include "tests/harness/check_op.h"
#include "tests/harness/expect_error.h"

namespace mge::test {
namespace {

Tensor whole(int64_t n) { return tensor_of<int64_t>({}, {n}); }
Tensor part(float x) { return tensor_of<float>({1}, {x}); }

TEST(ClassNms, KeepsBestBoxesPerClassAndImage) {
    // The second is inside the first, with swapped corners; the last has no area.
    Tensor boxes = tensor_of<float>({1, 4, 4}, {0, 0, 2, 2, 2, 1.8F, 0, 0, 5, 5, 6, 6, 9, 9, 9, 9});
    Tensor scores = tensor_of<float>({1, 2, 4}, {0.5, 0.9, 0.1, 0.2, 0.9, 0.5, std::nanf(""), 0.9});
    auto kept = [&](const Tensor& most, const Tensor& overlap, const Tensor& score) {
        return values_of(ops::class_nms(boxes, scores, most, overlap, score));
    };
    EXPECT_THAT(kept(whole(9), part(0.5), {}),
                testing::ElementsAre(0, 0, 1, 0, 0, 3, 0, 0, 2, 0, 1, 0, 0, 1, 3, 0, 1, 2));
    EXPECT_THAT(kept(whole(9), part(0.95F), part(0.4F)),
                testing::ElementsAre(0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 1, 3, 0, 1, 1));
    EXPECT_THAT(kept(whole(1), part(0.5), {}), testing::ElementsAre(0, 0, 1, 0, 1, 0));
    EXPECT_THAT(kept({}, part(0.5), {}), testing::IsEmpty());
    EXPECT_EQ(ops::class_nms(boxes, scores).shape(), (Shape{0, 3}));
}

TEST(ClassNms, AcceptsCentersAndSizes) {
    Tensor boxes = tensor_of<float>({1, 2, 4}, {1, 1, 2, 2, 1.2F, 1, 2, 2});
    Tensor scores = tensor_of<float>({1, 1, 2}, {0.5, 0.6F});
    EXPECT_THAT(values_of(ops::class_nms(boxes, scores, whole(5), part(0.5), {}, {.is_centered = true})),
                testing::ElementsAre(0, 0, 1));
}

TEST(ClassNms, AgreesInAllModes) {
    InputSpec most{.shape = {}, .dtype = DType::i64, .differentiate = false, .values = {4}};
    InputSpec overlap{.shape = {}, .dtype = DType::f32, .differentiate = false, .values = {0.3}};
    auto plain = [](const Shape& shape) {
        return InputSpec{.shape = shape, .dtype = DType::f32, .differentiate = false};
    };
    for (bool is_centered : {false, true})
        check_op<ops::ClassNms>({.is_centered = is_centered},
                                {plain({2, 19, 4}), plain({2, 3, 19}), most, overlap}, {});
    check_op<ops::ClassNms>({}, {plain({0, 5, 4}), plain({0, 3, 5}), most}, {});
}

TEST(ClassNms, RejectsInvalidArguments) {
    Tensor boxes = tensor_of<float>({1, 1, 4}, {0, 0, 1, 1}), scores = tensor_of<float>({1, 1, 1}, {1});
    expect_user_error(ErrorClass::value, "[class_nms] boxes must have shape (images, n, 4), got (1, 1, 1)",
                      [&] { ops::class_nms(scores, scores); });
    expect_user_error(ErrorClass::value, "[class_nms] scores must have shape (1, classes, 1), got (1, 1, 4)",
                      [&] { ops::class_nms(boxes, boxes); });
    expect_user_error(ErrorClass::type, "[class_nms] max_output must be one number of int64, got float32(1,)",
                      [&] { ops::class_nms(boxes, scores, part(1)); });
    expect_user_error(ErrorClass::type, "[class_nms] boxes and scores must be float32, got int64 and float32",
                      [&] { ops::class_nms(whole(1), scores); });
}

}  // namespace
}  // namespace mge::test
