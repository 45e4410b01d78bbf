// SPDX-License-Identifier: Apache-2.0
// Shapes: reading, changing and joining. Targets are tensors; those that follow from input shapes stay
// computations, so that another batch size gives other targets.

#include <algorithm>

#include "libmge/device/device.h"
#include "libmge/model/import/megengine/extents.h"
#include "libmge/model/import/megengine/families.h"
#include "libmge/op/apply.h"
#include "libmge/ops/create/eye.h"
#include "libmge/ops/create/full.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/comparison.h"
#include "libmge/ops/index/slice/slice.h"
#include "libmge/ops/index/slice/slice_items.h"
#include "libmge/ops/reduce/cumsum.h"
#include "libmge/ops/shape/broadcast.h"
#include "libmge/ops/shape/concat.h"
#include "libmge/ops/shape/flip.h"
#include "libmge/ops/shape/layout/transpose.h"
#include "libmge/ops/shape/pad.h"
#include "libmge/ops/shape/reshape.h"
#include "libmge/ops/shape/shape_of.h"
#include "libmge/ops/shape/split.h"

namespace mge::megengine {
namespace {

constexpr int not_an_axis = 7;
constexpr int64_t largest_index = 64;  // largest constant position or size

// Older files contain -1 instead, in a separate table.
int optional_axis(const Site& site) {
    auto* old = site.find_params<file::OptionalAxis>();
    if (!old) return site.params<file::OptionalAxisV1>().axis();
    return old->axis() == -1 ? not_an_axis : old->axis();
}

Tensor whole_numbers(const IntList& values) {
    std::vector<int32_t> data(values.begin(), values.end());
    return tensor_from_host({DType::i32, {int64_t(data.size())}, {}}, data.data(), host_device);
}

// The target with -1 at the axis whose size is open.
Tensor with_open_extent(const Tensor& target, int axis) {
    int64_t end = axis == -1 ? ops::absent_bound : axis + 1;
    return ops::set_slice({target, whole_numbers({-1})}, {.items = {0, axis, end, ops::absent_bound, 0}});
}

// Parts with computed sizes: slices that start at the sum of the previous sizes.
Tensors slices_along(const Tensor& x, int axis, const Tensors& sizes) {
    Tensors parts;
    Tensor begin = whole_numbers({0});
    IntList items{axis, ops::bound_from_input, ops::bound_from_input, ops::absent_bound, 0};
    for (auto& size : sizes) {
        Tensor end = ops::add(begin, size);
        parts.push_back(ops::slice({x, begin, end}, {.items = items}));
        begin = end;
    }
    return parts;
}

}  // namespace

Tensor at_least_vector(const Tensor& t) {
    if (!t.shape().is_known() || t.shape().rank() > 0) return t;
    return t.is_symbolic() ? ops::reshape(t, {.shape = {1}}) : t.with_shape({1});
}

Tensor as_index(const Tensor& t) {
    if (t.dtype() == DType::i32) return t;
    // A small constant stays one; a large one is data.
    bool is_known = as_constant(t) && t.spec().numel() <= largest_index;
    InterpreterScope scope(is_known ? eager_interpreter() : current_interpreter());
    return convert_dtype(t, DType::i32);
}

std::vector<int64_t> constant_values(const Tensor& t, std::string_view what) {
    auto* known = as_constant(t);
    if (!known) unsupported(what, " that is computed");
    if (known->spec().numel() > largest_index) invalid(what, " of ", known->spec().numel(), " numbers");
    Tensor index = as_index(*known);
    auto* data = index.data<int32_t>();
    return {data, data + index.spec().numel()};
}

int rank_of(const Tensor& t) {
    if (!t.shape().is_known()) unsupported("an input whose rank is known only at run time");
    return t.shape().rank();
}

Tensors import_reshape(const Site& site) {
    const Tensor& x = site.in(0);
    Tensor target = as_index(site.in(1));
    int axis = optional_axis(site);
    if (auto* known = as_constant(target)) {
        IntList shape = constant_values(*known, "a shape");
        if (axis != not_an_axis) {
            if (axis < 0) axis += int(shape.size());
            if (axis < 0 || size_t(axis) >= shape.size())
                invalid("axis ", axis, " is not an index into a shape of ", shape.size());
            shape[size_t(axis)] = -1;
        }
        return {ops::reshape(x, {.shape = shape})};
    }
    return {ops::reshape(x, axis == not_an_axis ? target : with_open_extent(target, axis))};
}

Tensors import_broadcast(const Site& site) {
    Tensor target = as_index(site.in(1));
    if (auto* known = as_constant(target))
        return {ops::broadcast_to(site.in(0), {.shape = constant_values(*known, "a shape")})};
    return {ops::broadcast_to(site.in(0), target)};
}

// With several inputs, their broadcast shape.
Tensors import_get_var_shape(const Site& site) {
    Tensor x = site.in(0);
    for (auto& other : site.from(1))
        x = ops::add(ops::full(ops::shape_of(x)), ops::full(ops::shape_of(other)));
    int axis = optional_axis(site);
    if (axis == not_an_axis) return {ops::shape_of(x)};
    return {ops::shape_of(
        x, {.axis = axis < 0 ? axis + (site.size() == 1 ? site.known_rank(0) : rank_of(x)) : axis})};
}

Tensors import_axis_add_remove(const Site& site) {
    Tensor x = site.in(0);
    auto* steps = site.params<file::AxisAddRemove>().desc();
    int rank = site.rank(0);
    for (flatbuffers::uoffset_t i = 0; steps && i < steps->size(); ++i) {
        auto& step = *steps->Get(i);
        // A vector without its axis remains a vector.
        if (step.method() == file::AxisDescMethod::ADD_1) {
            x = ops::add_axis(x, {.axes = {step.axis()}});
            rank += rank != unknown_rank;
        } else if (rank != 1) {
            x = ops::remove_axis(x, {.axes = {step.axis()}});
            rank -= rank != unknown_rank;
        }
    }
    return {x};
}

// Entries are axes of the input, -1 a new one; missing axes have size 1 and are removed.
Tensors import_dimshuffle(const Site& site) {
    Tensor x = site.in(0);
    auto* entries = site.params<file::Dimshuffle>().pattern();
    int rank = site.known_rank(0);
    IntList kept, added, dropped;
    for (flatbuffers::uoffset_t i = 0; entries && i < entries->size(); ++i)
        entries->Get(i) == -1 ? added.push_back(i) : kept.push_back(entries->Get(i));
    for (int axis = 0; axis < rank; ++axis)
        if (std::ranges::find(kept, axis) == kept.end()) dropped.push_back(axis);
    IntList pattern;
    for (int64_t axis : kept)
        pattern.push_back(axis - std::ranges::count_if(dropped, [&](int64_t d) { return d < axis; }));
    if (!dropped.empty()) x = ops::remove_axis(x, {.axes = dropped});
    bool is_same = std::ranges::is_sorted(pattern);
    if (!is_same || pattern.size() != size_t(rank) - dropped.size())
        x = ops::transpose(x, {.pattern = pattern});
    return {at_least_vector(added.empty() ? x : ops::add_axis(x, {.axes = added}))};
}

Tensors import_concat(const Site& site) {
    int axis = site.params<file::Axis>().axis();
    return {site.size() == 1 ? site.in(0) : ops::concat(TensorList(site.from(0)), {.axis = axis})};
}

size_t count_split(const OperatorRecord& op) { return op.inputs.empty() ? 0 : op.inputs.size() - 1; }

Tensors import_split(const Site& site) {
    int axis = site.params<file::Axis>().axis();
    Tensors sizes;
    IntList known;
    for (auto& size : site.from(1)) {
        sizes.push_back(as_index(size));
        if (as_constant(size)) known.push_back(constant_values(size, "a size").at(0));
    }
    if (known.size() != sizes.size()) return slices_along(site.in(0), axis, sizes);
    return ops::split(site.in(0), {.axis = axis, .sizes = known});
}

Tensors import_padding(const Site& site) {
    constexpr ops::PadMode pad_modes[] = {ops::PadMode::replicate, ops::PadMode::reflect,
                                          ops::PadMode::constant};
    auto& p = site.params<file::Padding>();
    if (p.padding_mode() >= std::size(pad_modes)) unsupported("padding mode ", p.padding_mode());
    IntList before{p.front_offset_dim0(), p.front_offset_dim1(), p.front_offset_dim2(), p.front_offset_dim3(),
                   p.front_offset_dim4(), p.front_offset_dim5(), p.front_offset_dim6()};
    IntList after{p.back_offset_dim0(), p.back_offset_dim1(), p.back_offset_dim2(), p.back_offset_dim3(),
                  p.back_offset_dim4(), p.back_offset_dim5(), p.back_offset_dim6()};
    size_t rank = size_t(site.known_rank(0));
    before.resize(rank);
    after.resize(rank);
    return {ops::pad(
        site.in(0),
        {.before = before, .after = after, .mode = pad_modes[p.padding_mode()], .value = p.padding_val()})};
}

// Images (N, H, W, C).
Tensors import_flip(const Site& site) {
    auto& p = site.params<file::Flip>();
    if (rank_of(site.in(0)) != 4) invalid("images of rank ", rank_of(site.in(0)));
    IntList axes;
    if (p.vertical()) axes.push_back(1);
    if (p.horizontal()) axes.push_back(2);
    return {axes.empty() ? site.in(0) : ops::flip(site.in(0), {.axes = axes})};
}

Tensors import_rotate(const Site& site) {
    if (rank_of(site.in(0)) != 4) invalid("images of rank ", rank_of(site.in(0)));
    Tensor turned = ops::transpose(site.in(0), {.pattern = {0, 2, 1, 3}});
    return {ops::flip(turned, {.axes = {site.params<file::Rotate>().clockwise() ? 2 : 1}})};
}

Tensors import_alloc(const Site& site) {
    FileDType dtype = file_dtype(site.op.output_dtype);
    if (dtype.dtype == DType::none) unsupported("a tensor of dtype ", name_of(dtype.type));
    return {ops::full(as_index(site.in(0)), {.dtype = dtype.dtype})};
}

// start + i * (stop - start) / (num - 1); without the end, divided by num.
Tensors import_linspace(const Site& site) {
    Tensor start = convert_dtype(site.in(0), DType::f32), stop = convert_dtype(site.in(1), DType::f32);
    Tensor num = as_index(site.in(2)), one = scalar_tensor(1, DType::i32, host_device);
    Tensor place = ops::sub(ops::cumsum(ops::full(num, {.value = 1, .dtype = DType::i32})), one);
    Tensor parts = site.params<file::Linspace>().endpoint() ? ops::maximum(ops::sub(num, one), one) : num;
    Tensor step = ops::div(ops::sub(stop, start), convert_dtype(parts, DType::f32));
    return {ops::add(start, ops::mul(convert_dtype(place, DType::f32), step))};
}

// Ones where column - row = k. The shape is one number for a square, or two.
Tensors import_eye(const Site& site) {
    auto& p = site.params<file::Eye>();
    auto dtype = dtype_from_file(p.dtype());
    if (dtype == DType::none) unsupported("an identity matrix of dtype ", name_of(p.dtype()));
    const Tensor& target = site.in(0);
    if (p.k() == 0 && as_constant(target)) {
        auto shape = constant_values(target, "a shape");
        if (shape.empty() || shape.size() > 2) invalid("an identity matrix of rank ", shape.size());
        return {ops::eye({.n = shape.front(), .m = shape.back(), .dtype = dtype})};
    }
    Tensor size = as_index(target);
    bool is_square = size.shape().is_known() && size.shape() == Shape{1};
    Tensor row = ops::reshape(count_up(element_of(size, 0)), {.shape = {-1, 1}});
    Tensor column = ops::sub(count_up(element_of(size, is_square ? 0 : 1)),
                             scalar_tensor(p.k(), DType::f32, host_device));
    return {convert_dtype(ops::equal(row, column), dtype)};
}

}  // namespace mge::megengine
