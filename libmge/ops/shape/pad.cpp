// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/pad.h"

#include <cstdint>

#include <algorithm>

namespace mge::ops {
namespace {

void check_margins(const char* who, const Pad::Params& p, int rank) {
    if (p.before.size() != size_t(rank) || p.after.size() != size_t(rank))
        throw_value_error(who, "needs one margin per axis: rank ", rank, ", ", p.before.size(), " before, ",
                          p.after.size(), " after");
    for (auto& margins : {p.before, p.after})
        for (int64_t margin : margins) {
            if (margin < 0) throw_value_error(who, "margin ", margin, " is negative");
            if (margin > INT32_MAX) throw_value_error(who, "margin ", margin, " is above ", INT32_MAX);
        }
}

void check_mode(std::string_view who, const Pad::Params& p, const Shape& x) {
    for (int i = 0; i < x.rank(); ++i) {
        int64_t margin = std::max(p.before[size_t(i)], p.after[size_t(i)]);
        Extent extent = x.extent(i);
        if (p.mode == PadMode::reflect && margin > 0 && !can_be_at_least(who, extent, margin + 1))
            throw_user(who,
                       text("margin ", margin, " of axis ", i, " is too large to mirror an axis of size ",
                            extent, ": at most ", max_of(0, extent - 1)));
        if (p.mode == PadMode::replicate && margin > 0 && !can_be_at_least(who, extent, 1))
            throw_user(who, text("axis ", i, " is empty: there is no edge to repeat"));
    }
}

}  // namespace

TensorSpecs Pad::infer(const Params& p, Specs in) {
    Shape shape = in[0].shape;
    check_margins(name, p, shape.rank());
    check_mode(name, p, shape);
    for (int i = 0; i < shape.rank(); ++i)
        shape.set(i, shape.extent(i) + p.before[size_t(i)] + p.after[size_t(i)]);
    return {{in[0].dtype, shape, {}}};
}

TensorSpecs PadBackward::infer(const Params& p, Specs in) {
    if (in[0].dtype == DType::boolean) throw_type_error(name, "bool has no gradient");
    Shape shape = in[0].shape;
    check_margins(name, p, shape.rank());
    for (int i = 0; i < shape.rank(); ++i) {
        shape.set(i, shape.extent(i) - p.before[size_t(i)] - p.after[size_t(i)]);
        if (!can_be_at_least(name, shape.extent(i), 0))
            throw_value_error(name, "the margins of axis ", i, " are larger than its size ",
                              in[0].shape.extent(i));
    }
    check_mode(name, p, shape);
    return {{in[0].dtype, shape, {}}};
}

Tensors Pad::gradient(const GradientContext<Params>& g) {
    return g.result({{"x", pad_backward(g.output_grad(), g.params)}});
}

// pad_backward is linear: its gradient pads, with zeros where the constant was.
Tensors PadBackward::gradient(const GradientContext<Params>& g) {
    Params p = g.params;
    p.value = 0;
    return g.result({{"dy", pad(g.output_grad(), p)}});
}

}  // namespace mge::ops
