// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sizes that follow from those of an input: they remain computations, so that another run may have other
// sizes.

#include <initializer_list>
#include <utility>
#include <variant>

#include "libmge/tensor/tensor.h"

namespace mge::megengine {

// A known number, or a computed one: i32 (1,).
using Extent = std::variant<int64_t, Tensor>;

// The shape of x, computed.
Extent extent_of(const Tensor& x, int axis);
// Number i of a vector.
Extent element_of(const Tensor& vector, int64_t i);
// As an i32 Tensor (1,).
Tensor as_tensor(const Extent& extent);
// The target of a reshape or a fill.
Tensor target_shape(std::initializer_list<Extent> extents);
// f32 0, 1, … up to `count`.
Tensor count_up(const Extent& count);

// x[:, …, begin:end, …] along one axis.
Tensor cut(const Tensor& x, int axis, int64_t begin, int64_t end);

// A sliding window along an axis.
struct Sliding {
    int64_t taps = 1, stride = 1, dilation = 1;
};
// Throws for a window that no real network has, because each of its taps becomes operators.
void check_window(const Sliding& window);
// The bounds, begin and end, of the elements that tap `k` meets along an axis without padding.
std::pair<int64_t, int64_t> bounds_of_tap(const Sliding& window, int64_t k);
Tensor under_tap(const Tensor& x, int axis, const Sliding& window, int64_t k);

}  // namespace mge::megengine
