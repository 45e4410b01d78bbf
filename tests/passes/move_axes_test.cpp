// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "libmge/mge.h"
#include "libmge/ops/nn/convolution/conv2d.h"
#include "tests/passes/same_graph.h"

namespace mge::test {
namespace {

const TensorSpecs lines{{DType::f32, {2, 3, 9}, {}}};

Tensor convolved(const Tensor& x) {
    return ops::conv2d(x, constant({3, 3, 1, 5}, {0.5}), {.padding = {0, 2}});
}
Tensor as_image(const Tensor& x) { return ops::add_axis(x, {.axes = {2}}); }
Tensor as_line(const Tensor& x) { return ops::remove_axis(x, {.axes = {2}}); }
Tensor per_channel(const Shape& shape) { return constant(shape, {1, 2, 3}); }

TEST(MoveAxes, ComputesImagesBehindConvolutions) {
    expect_rewrite(
        move_axes, lines,
        [](const Tensors& x) {
            Tensor y = ops::relu(ops::add(as_line(convolved(as_image(x[0]))), per_channel({3, 1})));
            return Tensors{ops::add(y, as_line(convolved(as_image(y))))};
        },
        [](const Tensors& x) {
            Tensor image = ops::relu(ops::add(convolved(as_image(x[0])), per_channel({1, 3, 1, 1})));
            return Tensors{as_line(ops::add(image, convolved(as_image(as_line(image)))))};
        });
}

TEST(MoveAxes, LeavesOtherOperands) {
    // A line that no convolution made.
    Body before = [](const Tensors& x) {
        return Tensors{ops::add(as_line(convolved(as_image(x[0]))), x[0])};
    };
    expect_rewrite(move_axes, lines, before, before);
    // A constant of more axes than the line.
    Body larger = [](const Tensors& x) {
        return Tensors{ops::add(as_line(convolved(as_image(x[0]))), per_channel({3, 1, 1, 1}))};
    };
    expect_rewrite(move_axes, lines, larger, larger);
}

}  // namespace
}  // namespace mge::test
