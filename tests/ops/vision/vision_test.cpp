// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "libmge/mge.h"
#include "tests/harness/check_op.h"
#include "tests/harness/expect_error.h"

namespace mge::test {
namespace {

using ops::Border;
using ops::Interpolation;
using ops::RoiPoolMode;

// Places between pixels and around the image; finite differences stay between the same pixels.
const std::vector<double> between{0.3, 1.6, -0.7, 2.4, 3.3, 0.6, 1.3, -1.4, 5.7, 2.7};

InputSpec places(const Shape& shape) { return {.shape = shape, .dtype = DType::f32, .values = between}; }

TEST(Remap, AgreesInAllModesWithGradient) {
    for (Border border :
         {Border::constant, Border::replicate, Border::reflect, Border::reflect_101, Border::wrap})
        for (Interpolation mode : {Interpolation::linear, Interpolation::nearest}) {
            ops::RemapParams params{.interpolation = mode, .border = border, .value = 0.5};
            check_op<ops::Remap>(params, {{.shape = {2, 3, 3, 4}}, places({2, 2, 5, 2})},
                                 {.dtypes = float_types, .reduction = 4});
        }
}

TEST(Remap, SelectsImagesByIndex) {
    InputSpec image{.shape = {3}, .dtype = DType::i32, .values = {1, 0, 1}};
    for (Border border : {Border::constant, Border::wrap}) {
        ops::RemapParams params{.border = border, .value = 2};
        CheckOptions options{.dtypes = float_types, .reduction = 16};
        check_op<ops::Remap>(params, {{.shape = {2, 2, 3, 4}}, places({3, 2, 5, 2}), image}, options);
        InputSpec x{.shape = {2, 2, 3, 4}, .differentiate = false}, dy{.shape = {3, 2, 2, 5}};
        check_op<ops::RemapBackwardData>(params, {x, places({3, 2, 5, 2}), dy, image}, options);
        check_op<ops::RemapBackwardMap>(params, {x, places({3, 2, 5, 2}), dy, image}, options);
    }
}

TEST(Remap, MatchesTheFormula) {
    Tensor x = tensor_of<float>({1, 1, 2, 3}, {0, 1, 2, 10, 11, 12});
    Tensor map = tensor_of<float>({1, 1, 5, 2}, {1, 1, 0.5, 0.5, 2.5, 0, -1, 0, -4, 0});
    auto at = [&](Border border) { return values_of(ops::remap(x, map, {.border = border, .value = 7})); };
    EXPECT_THAT(at(Border::constant), testing::ElementsAre(11, 5.5, 4.5, 7, 7));
    EXPECT_THAT(at(Border::replicate), testing::ElementsAre(11, 5.5, 2, 0, 0));
    EXPECT_THAT(at(Border::reflect), testing::ElementsAre(11, 5.5, 2, 0, 2));
    EXPECT_THAT(at(Border::reflect_101), testing::ElementsAre(11, 5.5, 1.5, 1, 0));
    EXPECT_THAT(at(Border::wrap), testing::ElementsAre(11, 5.5, 1, 2, 2));
    Tensor nearest = ops::remap(x, map, {.interpolation = Interpolation::nearest});
    EXPECT_THAT(values_of(nearest), testing::ElementsAre(11, 0, 2, 0, 0));
}

TEST(Remap, RoundsBytes) {
    Tensor x = make_tensor(DType::u8, {1, 1, 1, 2}, {10, 255});
    Tensor map = tensor_of<float>({1, 1, 2, 2}, {0.25, 0, 1, 0});
    EXPECT_THAT(values_of(ops::remap(x, map)), testing::ElementsAre(71, 255));
    Tensor signed_x = make_tensor(DType::i8, {1, 1, 1, 2}, {-10, 127});
    EXPECT_THAT(values_of(ops::remap(signed_x, map)), testing::ElementsAre(24, 127));
    Tensor outside = make_tensor(DType::f32, {1, 1, 2, 2}, {9, 9, 0.25, 0});
    EXPECT_THAT(values_of(ops::remap(signed_x, outside, {.border = Border::constant, .value = -200})),
                testing::ElementsAre(-128, 24));
}

TEST(Remap, HandlesNanPositions) {
    constexpr double huge = 3e38, nan = std::numeric_limits<double>::quiet_NaN();
    constexpr double infinite = std::numeric_limits<double>::infinity();
    Tensor x = tensor_of<float>({1, 1, 2, 2}, {1, 2, 3, 4});
    Tensor map =
        make_tensor(DType::f32, {1, 1, 5, 2}, {huge, 0, -huge, 0, nan, nan, infinite, 0, 0, -infinite});
    for (Border border :
         {Border::constant, Border::replicate, Border::wrap, Border::reflect, Border::reflect_101}) {
        Tensor y = ops::remap(x, map, {.border = border, .value = 9});
        for (double v : values_of(y)) EXPECT_TRUE(v >= 1 && v <= 9) << v;
    }
    Tensor far = ops::remap(x, tensor_of<float>({1, 1, 1, 2}, {0, 0}), make_tensor(DType::i32, {1}, {7}),
                            {.border = Border::constant, .value = 9});
    EXPECT_THAT(values_of(far), testing::ElementsAre(9));
}

TEST(Remap, RejectsInvalidArguments) {
    Tensor x = tensor_of<float>({1, 1, 1, 1}, {1}), map = tensor_of<float>({2, 1, 1, 2}, {0, 0, 0, 0});
    expect_user_error(
        ErrorClass::runtime,
        "[remap] map (2, 1, 1, 2) must have one map for each image of x (1, 1, 1, 1), or `image` "
        "must be given",
        [&] { ops::remap(x, map); });
}

Tensor boxes_of(std::initializer_list<std::array<float, 4>> boxes) {
    std::vector<float> values;
    for (auto& box : boxes) values.insert(values.end(), box.begin(), box.end());
    return tensor_of<float>({int64_t(boxes.size()), 4}, values);
}

TEST(Nms, KeepsTheBestOfOverlappingBoxes) {
    Tensor boxes = boxes_of({{0, 0, 2, 2}, {0, 0, 2, 1.8F}, {1, 0, 3, 2}, {5, 5, 6, 6}, {9, 9, 9, 9}});
    Tensor scores = tensor_of<float>({5}, {0.5, 0.9, 0.1, 0.9, std::nanf("")});
    auto kept = [&](double threshold, int64_t most) {
        return values_of(ops::nms(boxes, scores, {.threshold = threshold, .max_output = most}));
    };
    EXPECT_THAT(kept(0.5, -1), testing::ElementsAre(1, 3, 2, 4));
    EXPECT_THAT(kept(0.2, -1), testing::ElementsAre(1, 3, 4));
    EXPECT_THAT(kept(0.95, 2), testing::ElementsAre(1, 3));
    EXPECT_THAT(kept(0.5, 0), testing::IsEmpty());
    check_op<ops::Nms>({.threshold = 0.3}, {{.shape = {40, 4}}, {.shape = {40}}}, {});
    check_op<ops::Nms>({}, {{.shape = {0, 4}}, {.shape = {0}}}, {});
}

// Areas below zero make the union smaller than nothing: what MegEngine keeps of these boxes.
TEST(Nms, SwappedCornersAreHandled) {
    Tensor boxes = boxes_of({{0.3125F, 1.5625F, 6.1875F, 7.3125F},
                             {3.5625F, 1.1875F, 2.8125F, 3.796875F},
                             {0.0625F, 0.125F, 3.375F, 9},
                             {2.375F, 2.6875F, 6.1875F, 2.25F},
                             {2.1875F, 1.9375F, 5.625F, 1.40625F},
                             {3.5625F, 0.375F, 8.015625F, 1.40625F},
                             {3.125F, 1.0625F, 8.859375F, 5.625F},
                             {1.4375F, 2.8125F, 5.625F, 6.46875F}});
    Tensor scores = tensor_of<float>({8}, {-0.8F, 0.7F, -0.5F, -0.3F, 0.02F, 0.4F, 0.8F, -0.78F});
    EXPECT_THAT(values_of(ops::nms(boxes, scores, {.threshold = 0.5})),
                testing::ElementsAre(6, 1, 5, 2, 7, 0));
}

TEST(Nms, RejectsInvalidArguments) {
    expect_user_error(ErrorClass::assertion, "[nms] scores must have shape (1,), got (2,)", [&] {
        ops::nms(boxes_of({{0, 0, 1, 1}}), tensor_of<float>({2}, {1, 2}));
    });
}

// Regions of two images: within, across and outside of the border, of none, of an image that is not there.
const InputSpec regions{.shape = {6, 5},
                        .dtype = DType::f32,
                        .differentiate = false,
                        .values = {0, 0,   0, 5,  5,  1, 1, 2, 6, 4, 1, -3, -2, 2, 9,
                                   0, 6.4, 2, 20, 30, 0, 4, 4, 1, 1, 7, 0,  0,  5, 5}};

TEST(RoiPool2d, HasItsGradient) {
    std::vector<double> distinct(2 * 2 * 7 * 8);
    for (size_t i = 0; i < distinct.size(); ++i) distinct[i] = double(i * 7919 % 1009) / 16;
    for (auto mode : {RoiPoolMode::max, RoiPoolMode::average}) {
        ops::RoiPoolParams params{.height = 3, .width = 2, .mode = mode, .scale = 0.75};
        CheckOptions options{.dtypes = float_types, .reduction = 64};
        check_op<ops::RoiPool2d>(params, {{.shape = {2, 2, 7, 8}, .values = distinct}, regions}, options);
        check_op<ops::RoiPool2dBackward>(
            params, {{.shape = {2, 2, 7, 8}, .values = distinct}, regions, {.shape = {6, 2, 3, 2}}}, options);
    }
}

TEST(RoiPool2d, MatchesTheFormula) {
    Tensor x = tensor_of<float>({1, 1, 2, 3}, {0, 1, 2, 3, 4, 5});
    Tensor region = tensor_of<float>({2, 5}, {0, 0, 0, 1, 1, 0, 7, 7, 9, 9});
    Tensor largest = ops::roi_pool2d(x, region, {.height = 1, .width = 2});
    EXPECT_THAT(values_of(largest), testing::ElementsAre(3, 4, 0, 0));
    Tensor mean = ops::roi_pool2d(x, region, {.mode = RoiPoolMode::average});
    EXPECT_THAT(values_of(mean), testing::ElementsAre(2, 0));
    // Half a pixel is rounded away from zero, so this region begins at (-1, -1).
    Tensor edge = ops::roi_pool2d(x, tensor_of<float>({1, 5}, {0, -0.5, -0.5, 1, 1}), {.height = 3});
    EXPECT_THAT(values_of(edge), testing::ElementsAre(0, 1, 4));
    expect_user_error(ErrorClass::runtime, "[roi_pool2d] regions must have shape (R, 5), got (1, 1, 2, 3)",
                      [&] { ops::roi_pool2d(x, x); });
}

TEST(DeformableRoiPool2d, HasItsGradients) {
    // The second reaches beyond its image, the third has none, of the fourth nothing is inside.
    InputSpec boxes{.shape = {4, 5},
                    .dtype = DType::f32,
                    .differentiate = false,
                    .values = {0, 1, 1, 6, 5, 1, 0, 2, 9, 7, 2, 0, 0, 3, 3, 0, 50, 50, 60, 60}};
    InputSpec offsets{.shape = {4, 2, 3, 3}, .values = between};
    for (bool moves : {false, true}) {
        offsets.absent = !moves;
        ops::DeformableRoiPoolParams params{
            .height = 3, .width = 2, .samples = 2, .scale = 0.53, .offset_scale = 0.07};
        check_op<ops::DeformableRoiPool2d>(params, {{.shape = {2, 2, 5, 6}}, boxes, offsets},
                                           {.reduction = 16});
        check_op<ops::DeformableRoiPool2dBackward>(
            params, {{.shape = {2, 2, 5, 6}}, boxes, {.shape = {4, 2, 3, 2}}, offsets}, {.reduction = 64});
        check_op<ops::DeformableRoiPool2d>(params, {{.shape = {1, 2, 0, 6}},
                                                    {.shape = {0, 5}, .differentiate = false},
                                                    {.shape = {0, 2, 3, 3}, .absent = !moves}});
    }
}

TEST(DeformableRoiPool2d, MatchesTheFormula) {
    Tensor x = tensor_of<float>({1, 1, 2, 3}, {0, 1, 2, 3, 4, 5}), none;
    Tensor regions = tensor_of<float>({3, 5}, {0, 0, 0, 1, 1, 0, 7, 7, 9, 9, 9, 0, 0, 1, 1});
    // One sample at the corner (-0.5, -0.5) of the first pixel; then one that is moved by half of two pixels.
    EXPECT_THAT(values_of(ops::deformable_roi_pool2d(x, regions, none)), testing::ElementsAre(0, 0, 0));
    Tensor moved = tensor_of<float>({3, 2, 1, 1}, {5, 0, 5, 0, 5, 0});
    EXPECT_THAT(values_of(ops::deformable_roi_pool2d(x, regions, moved)), testing::ElementsAre(0.5, 0, 0));
    expect_user_error(ErrorClass::runtime,
                      "[deformable_roi_pool2d] regions must be float32 of shape (R, 5), got "
                      "float32(1, 1, 2, 3)",
                      [&] { ops::deformable_roi_pool2d(x, x, none); });
    expect_user_error(ErrorClass::runtime,
                      "[deformable_roi_pool2d] offsets must be float32 of shape (3, 2, parts, parts), got "
                      "float32(1, 1, 2, 3)",
                      [&] { ops::deformable_roi_pool2d(x, regions, x); });
    expect_user_error(ErrorClass::value, "[deformable_roi_pool2d] width is 0, expected 1 … 4096",
                      [&] { ops::deformable_roi_pool2d(x, regions, none, {.width = 0}); });
}

}  // namespace
}  // namespace mge::test
