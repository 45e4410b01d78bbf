// SPDX-License-Identifier: Apache-2.0
#pragma once
// Convolutions of random sizes, among them windows larger than the image, margins larger than the window and
// steps beyond it.
#include "libmge/ops/nn/convolution/conv2d.h"
#include "tests/ops/random_problem.h"

namespace mge::test {

struct Axis {
    int64_t size, window, stride, padding, dilation;
};

// With at least one window that fits.
inline Axis random_axis(Choice& choice) {
    Axis axis{choice.of<int64_t>({1, 2, 3, 5, 8, 17, 31}), choice.of<int64_t>({1, 1, 2, 3, 3, 5, 7}),
              choice.of<int64_t>({1, 1, 2, 3, 5}), choice.of<int64_t>({0, 0, 1, 2, 4}),
              choice.of<int64_t>({1, 1, 1, 2, 3})};
    int64_t covered = axis.dilation * (axis.window - 1) + 1;
    if (axis.size + 2 * axis.padding < covered) axis.padding = (covered - axis.size + 1) / 2;
    return axis;
}

struct RandomConvolution {
    Shape x, weight;
    ops::Conv2d::Params params;
};

inline RandomConvolution random_convolution(Choice& choice) {
    Axis h = random_axis(choice), w = random_axis(choice);
    int64_t groups = choice.of<int64_t>({1, 1, 1, 2, 3, 16, 17, 32});
    int64_t in = choice.of<int64_t>({1, 1, 2, 4, 8, 16, 19}), out = choice.of<int64_t>({1, 1, 2, 8, 16, 17});
    if (groups == 1 && choice.flip()) in = choice.of<int64_t>({3, 16, 32, 33, 64});
    if (groups == 1 && choice.flip()) out = choice.of<int64_t>({3, 16, 32, 40, 64});
    RandomConvolution c{
        {choice.of<int64_t>({1, 1, 2, 3}), groups * in, h.size, w.size},
        groups == 1 ? Shape{out, in, h.window, w.window} : Shape{groups, out, in, h.window, w.window},
        {.stride = {h.stride, w.stride},
         .padding = {h.padding, w.padding},
         .dilation = {h.dilation, w.dilation},
         .groups = groups}};
    return c;
}

}  // namespace mge::test
