// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/reshape.h"

#include <algorithm>

namespace mge::ops {
namespace {

[[noreturn]] void throw_mismatch(const Shape& from, const IntList& to) {
    throw_user(Reshape::name, text("cannot reshape ", from, " to ", to_text(ParamValue(to)),
                                   ": the numbers of elements differ"));
}

// The one extent that is -1 becomes what remains.
Shape complete(const Shape& from, const IntList& to) {
    int64_t known = 1;
    Extent open = 1;
    int free_axis = -1;
    IntList dims = to;
    for (size_t i = 0; i < dims.size(); ++i) {
        if (Extent::is_handle(dims[i])) {
            open *= Extent::from_raw(dims[i]);
            continue;
        }
        if (dims[i] < -1 || (dims[i] == -1 && free_axis >= 0))
            throw_value_error(Reshape::name, "target ", to_text(ParamValue(to)),
                              " may hold one -1 and no other negative number");
        if (dims[i] == -1)
            free_axis = int(i);
        else if (__builtin_mul_overflow(known, dims[i], &known))
            throw_mismatch(from, to);
    }
    Extent total = from.elements(), given = open * known;
    if (free_axis >= 0) {
        if (known == 0) throw_mismatch(from, to);
        auto rest = exact_quotient(total, given);
        if (!rest && given.lower() >= 1) rest = floor_div(total, given);
        // No extent is inferred beside one of 0: then the quotient has no number.
        dims[size_t(free_axis)] =
            rest ? rest->raw() : Extent::symbol(text("?quotient(", total, ", ", given, ')')).raw();
    }
    Shape shape(dims);
    if (!can_be_equal(Reshape::name, shape.elements(), total)) throw_mismatch(from, to);
    return shape;
}

// Axes 0 … rank-1 in rising order, each once.
std::vector<int> sorted_axes(const char* who, const IntList& axes, int rank) {
    std::vector<int> sorted;
    for (int64_t axis : axes) sorted.push_back(normalize_axis(who, axis, rank));
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
        throw_value_error(who, "axes ", to_text(ParamValue(axes)), " list an axis twice");
    return sorted;
}

template <class Params>
Tensors reshaped_back(const GradientContext<Params>& g) {
    return g.result({{"x", reshape_like(g.output_grad(), g.input("x"))}});
}

}  // namespace

TensorSpecs Reshape::infer(const Params& p, Specs in) {
    return {{in[0].dtype, complete(in[0].shape, p.shape), {}}};
}

Reshape::Params Reshape::resolve(const Params& p, std::span<const Tensor> values) {
    return values.empty() || !values[0] ? p : Params{host_values(values[0])};
}

TensorSpecs ReshapeLike::infer(const Params&, Specs in) {
    if (!can_be_equal(name, in[0].shape.elements(), in[1].shape.elements()))
        throw_user(name, text("cannot give ", in[0].shape, " the shape ", in[1].shape,
                              ": the numbers of elements differ"));
    return {{in[0].dtype, in[1].shape, {}}};
}

TensorSpecs Flatten::infer(const Params& p, Specs in) {
    auto& shape = in[0].shape;
    if (shape.rank() == 0) return {{in[0].dtype, {1}, {}}};
    int start = normalize_axis(name, p.start, shape.rank()), end = normalize_axis(name, p.end, shape.rank());
    if (start > end)
        throw_value_error(name, "start ", p.start, " is after end ", p.end, " for rank ", shape.rank());
    Shape flat;
    for (int i = 0; i < start; ++i) flat.push_back(shape.extent(i));
    Extent joined = 1;
    for (int i = start; i <= end; ++i) joined *= shape.extent(i);
    flat.push_back(joined);
    for (int i = end + 1; i < shape.rank(); ++i) flat.push_back(shape.extent(i));
    return {{in[0].dtype, flat, {}}};
}

TensorSpecs AddAxis::infer(const Params& p, Specs in) {
    Shape shape = in[0].shape;
    for (int axis : sorted_axes(name, p.axes, shape.rank() + int(p.axes.size()))) shape.insert(axis, 1);
    return {{in[0].dtype, shape, {}}};
}

TensorSpecs RemoveAxis::infer(const Params& p, Specs in) {
    Shape shape = in[0].shape;
    auto axes = sorted_axes(name, p.axes, shape.rank());
    for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
        if (!can_be_equal(name, shape.extent(*axis), 1))
            throw_value_error(name, "axis ", *axis, " of ", in[0].shape, " has size ", shape.extent(*axis),
                              ", not 1");
        shape.erase(*axis);
    }
    return {{in[0].dtype, shape, {}}};
}

Tensors Reshape::gradient(const GradientContext<Params>& g) { return reshaped_back(g); }
Tensors ReshapeLike::gradient(const GradientContext<Params>& g) { return reshaped_back(g); }
Tensors Flatten::gradient(const GradientContext<Params>& g) { return reshaped_back(g); }
Tensors AddAxis::gradient(const GradientContext<Params>& g) { return reshaped_back(g); }
Tensors RemoveAxis::gradient(const GradientContext<Params>& g) { return reshaped_back(g); }

}  // namespace mge::ops
