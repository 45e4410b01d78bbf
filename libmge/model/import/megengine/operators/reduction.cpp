// SPDX-License-Identifier: Apache-2.0
// Reductions and orders along an axis. MegEngine keeps the reduced axis with size 1; a following
// AxisAddRemove removes it.

#include "libmge/device/device.h"
#include "libmge/model/import/megengine/families.h"
#include "libmge/ops/create/full.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/comparison.h"
#include "libmge/ops/elementwise/where.h"
#include "libmge/ops/index/order/sort.h"
#include "libmge/ops/index/slice/slice.h"
#include "libmge/ops/index/slice/slice_items.h"
#include "libmge/ops/reduce/arg_extreme.h"
#include "libmge/ops/reduce/cumsum.h"
#include "libmge/ops/reduce/reduce.h"
#include "libmge/ops/shape/concat.h"
#include "libmge/ops/shape/flip.h"
#include "libmge/ops/shape/reduce_to_shape.h"
#include "libmge/ops/shape/reshape.h"

namespace mge::megengine {
namespace {

constexpr int no_axis = INT32_MAX;  // MegEngine's value for no axis
enum ReduceMode : uint32_t { sum, sum_of_squares, all_product, minimum, maximum, mean };
enum DataType : uint32_t { same_dtype, f16_in_f32, f32_out, f16_out };

Tensor reduce(const Tensor& x, uint32_t mode, const IntList& axes) {
    ops::ReduceParams p{axes, true};
    switch (mode) {
        case sum:
            return ops::sum(x, p);
        case sum_of_squares:
            return ops::sum(ops::square(x), p);
        case all_product:
            return ops::prod(x, p);
        case minimum:
            return ops::min(x, p);
        case maximum:
            return ops::max(x, p);
        case mean:
            return ops::mean(x, p);
        default:
            unsupported("reduction mode ", mode);
    }
}

DType result_dtype(DType x, uint32_t data_type) {
    switch (data_type) {
        case same_dtype:
            return x;
        case f16_in_f32:
        case f16_out:
            return DType::f16;
        case f32_out:
            return DType::f32;
        default:
            unsupported("quantised reduction (data type ", data_type, ")");
    }
}

// To the shape of a tensor. A constant one determines the axes; otherwise the result is the sum over
// broadcast axes.
Tensor reduce_to(const Site& site, uint32_t mode, const Tensor& target) {
    const Tensor& x = site.in(0);
    auto* known = as_constant(target);
    if (!known) {
        if (mode != sum) unsupported("a reduction other than a sum to a shape that is computed");
        return ops::reduce_to_shape(x, ops::full(as_index(target), {.dtype = x.dtype()}));
    }
    auto shape = constant_values(*known, "the target shape");
    if (shape.size() == 1 && shape[0] == 1) return ops::reshape(reduce(x, mode, {}), {.shape = {1}});
    IntList axes;
    for (size_t i = 0; i < shape.size(); ++i)
        if (shape[i] == 1) axes.push_back(int64_t(i) + site.known_rank(0) - int64_t(shape.size()));
    return axes.empty() ? x : reduce(x, mode, axes);
}

// An extra element at the front of the axis, without the last one: the sums of the elements before.
Tensor shifted(const Tensor& sums, int axis) {
    using ops::absent_bound;
    IntList first{axis, 0, 1, absent_bound, 0}, all_but_last{axis, absent_bound, -1, absent_bound, 0};
    Tensor zero = ops::full_like(ops::slice({sums}, {.items = first}));
    return ops::concat({zero, ops::slice({sums}, {.items = all_but_last})}, {.axis = axis});
}

int axis_of(const Site& site) { return site.params<file::Axis>().axis(); }

}  // namespace

Tensors import_reduce(const Site& site) {
    auto& p = site.params<file::Reduce>();
    const Tensor& x = site.in(0);
    DType dtype = result_dtype(x.dtype(), p.data_type());
    if (site.size() < 2 && p.axis() == no_axis) invalid("it has neither an axis nor a target shape");
    Tensor y = site.size() > 1 ? reduce_to(site, p.mode(), site.in(1)) : reduce(x, p.mode(), {p.axis()});
    return {y.dtype() == dtype ? y : convert_dtype(y, dtype)};
}

Tensors import_argmax(const Site& site) {
    return {ops::argmax(site.in(0), {.axis = axis_of(site), .keepdims = true})};
}
Tensors import_argmin(const Site& site) {
    return {ops::argmin(site.in(0), {.axis = axis_of(site), .keepdims = true})};
}

Tensors import_argsort(const Site& site) {
    return ops::sort(site.in(0), {.axis = -1, .descending = site.params<file::Argsort>().order() != 0});
}

size_t count_topk(const OperatorRecord& op) {
    auto* p = op.param_type == file::OperatorParam::TopK ? static_cast<const file::TopK*>(op.param) : nullptr;
    return p && p->mode() ? 2 : 1;
}

// The first |k| of the sorted rows if k is known only at run time.
Tensors computed_topk(const Site& site, const Tensor& k, bool kth_only) {
    const Tensor& x = site.in(0);
    int64_t axis = site.known_rank(0) - 1;
    Tensors rising = ops::sort(x, {.axis = -1}), falling = ops::sort(x, {.axis = -1, .descending = true});
    Tensor is_falling = ops::less(k, scalar_tensor(0, DType::i32, host_device)), count = ops::abs(k),
           outputs[2];
    for (size_t i = 0; i < 2; ++i) {
        Tensor ordered = ops::where(is_falling, falling[i], rising[i]);
        IntList items{axis, ops::absent_bound, ops::bound_from_input, ops::absent_bound, 0};
        outputs[i] = ops::slice({ordered, count}, {.items = items});
        if (kth_only) outputs[i] = ops::slice({outputs[i]}, {.items = {axis, -1, -1, 1, 1}});
    }
    if (kth_only) return {axis ? outputs[0] : ops::reshape(outputs[0], {.shape = {1}})};
    return {outputs[0], outputs[1]};
}

// A negative k selects the largest.
Tensors import_topk(const Site& site) {
    enum : uint32_t { kth_only, unsorted, sorted };
    uint32_t mode = site.params<file::TopK>().mode();
    if (mode > sorted) invalid("TopK of mode ", mode);
    if (!as_constant(site.in(1))) return computed_topk(site, as_index(site.in(1)), mode == kth_only);
    auto k = constant_values(site.in(1), "k of TopK");
    if (k.size() != 1 || k[0] == 0 || k[0] == INT64_MIN) invalid("TopK with ", k.size(), " numbers k");
    Tensors outputs = ops::topk(site.in(0), {.k = k[0] < 0 ? -k[0] : k[0],
                                             .descending = k[0] < 0,
                                             .kth_only = mode == kth_only,
                                             .no_sort = mode == unsorted});
    if (mode == kth_only) return {at_least_vector(outputs[0])};
    return outputs;
}

Tensors import_cumsum(const Site& site) {
    auto& p = site.params<file::Cumsum>();
    Tensor x = site.in(0);
    int axis = p.axis();
    if (p.reverse()) x = ops::flip(x, {.axes = {axis}});
    Tensor y = ops::cumsum(x, {.axis = axis});
    if (p.exclusive()) y = shifted(y, axis);
    return {p.reverse() ? ops::flip(y, {.axes = {axis}}) : y};
}

}  // namespace mge::megengine
