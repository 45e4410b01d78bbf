// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "libmge/mge.h"

namespace mge {
namespace {

using testing::ElementsAre;

Tensor iota(const Shape& shape) {
    std::vector<float> values(size_t(shape.numel()));
    std::iota(values.begin(), values.end(), 0.f);
    return tensor_from_host({DType::f32, shape, {}}, values.data());
}
std::vector<float> values_of(const Tensor& t) {
    return {t.data<float>(), t.data<float>() + t.spec().numel()};
}

TEST(Shape, Values) {
    EXPECT_THAT(values_of(ops::transpose(iota({2, 3}), {.pattern = {1, 0}})), ElementsAre(0, 3, 1, 4, 2, 5));
    EXPECT_THAT(values_of(ops::broadcast_to(iota({2, 1}), {.shape = {-1, 2}})), ElementsAre(0, 0, 1, 1));
    EXPECT_THAT(values_of(ops::reduce_to_shape(iota({2, 3}), {.shape = {3}})), ElementsAre(3, 5, 7));
    EXPECT_THAT(values_of(ops::reduce_to_shape(iota({2, 3}), {.shape = {2, 1}})), ElementsAre(3, 12));
    EXPECT_THAT(values_of(ops::flip(iota({2, 2}), {.axes = {-1}})), ElementsAre(1, 0, 3, 2));
    auto parts = ops::split(iota({3}), {.axis = 0, .sizes = {1, 2}});
    EXPECT_THAT(values_of(parts[1]), ElementsAre(1, 2));
    EXPECT_THAT(values_of(ops::pad(iota({3}), {.before = {2}, .after = {1}, .mode = ops::PadMode::reflect})),
                ElementsAre(2, 1, 0, 1, 2, 1));
    EXPECT_THAT(values_of(ops::slice(iota({5}), {.items = {0, -1, INT64_MIN, -2, 0}})), ElementsAre(4, 2, 0));
    EXPECT_THAT(values_of(ops::set_slice(iota({4}), iota({1}), {.items = {0, 1, 3, 1, 0}})),
                ElementsAre(0, 0, 0, 3));
    EXPECT_THAT(values_of(ops::add_slice(iota({3}), iota({2}), {.items = {0, 1, INT64_MIN, 1, 0}})),
                ElementsAre(0, 1, 3));
}

}  // namespace
}  // namespace mge
