// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/import/megengine/extents.h"

#include "libmge/device/device.h"
#include "libmge/model/import/megengine/operators.h"
#include "libmge/op/apply.h"
#include "libmge/ops/create/full.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/index/slice/slice.h"
#include "libmge/ops/index/slice/slice_items.h"
#include "libmge/ops/reduce/cumsum.h"
#include "libmge/ops/shape/concat.h"
#include "libmge/ops/shape/shape_of.h"

namespace mge::megengine {

Extent extent_of(const Tensor& x, int axis) { return ops::shape_of(x, {.axis = axis}); }

Extent element_of(const Tensor& vector, int64_t i) { return cut(vector, 0, i, i + 1); }

Tensor as_tensor(const Extent& extent) {
    if (auto* tensor = std::get_if<Tensor>(&extent)) return *tensor;
    auto number = int32_t(std::get<int64_t>(extent));
    return tensor_from_host({DType::i32, {1}, {}}, &number, host_device);
}

Tensor target_shape(std::initializer_list<Extent> extents) {
    Tensors parts;
    for (auto& extent : extents) parts.push_back(as_tensor(extent));
    return ops::concat(TensorList(parts), {.axis = 0});
}

Tensor count_up(const Extent& count) {
    Tensor ones = ops::full(as_tensor(count), {.value = 1, .dtype = DType::i32});
    return ops::sub(convert_dtype(ops::cumsum(ones), DType::f32), scalar_tensor(1, DType::f32, host_device));
}

Tensor cut(const Tensor& x, int axis, int64_t begin, int64_t end) {
    return ops::slice({x}, {.items = {axis, begin, end, ops::absent_bound, 0}});
}

void check_window(const Sliding& window) {
    constexpr int64_t widest_window = 64;
    if (window.taps < 1 || window.stride < 1 || window.dilation < 1)
        invalid("a window of ", window.taps, " taps, stride ", window.stride, " and dilation ",
                window.dilation);
    if (window.taps > widest_window) unsupported("a window of ", window.taps, " taps");
}

// The last tap ends where the axis ends, the others as much earlier as they begin earlier.
std::pair<int64_t, int64_t> bounds_of_tap(const Sliding& window, int64_t k) {
    int64_t missing = window.dilation * (window.taps - 1 - k);
    return {k * window.dilation, missing ? -missing : ops::absent_bound};
}

Tensor under_tap(const Tensor& x, int axis, const Sliding& window, int64_t k) {
    auto [begin, end] = bounds_of_tap(window, k);
    return ops::slice({x}, {.items = {axis, begin, end, window.stride, 0}});
}

}  // namespace mge::megengine
