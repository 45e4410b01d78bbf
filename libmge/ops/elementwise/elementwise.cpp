// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/elementwise/elementwise.h"

#include <algorithm>

#include "libmge/device/device.h"
#include "libmge/op/recorded_shape.h"
#include "libmge/ops/shape/reduce_to_shape.h"

namespace mge::ops {
namespace {

constexpr std::string_view accepted_names[] = {"floats", "integers", "integers and floats", "bool", "all"};

bool is_accepted(DType dtype, Accepts accepts) {
    switch (accepts) {
        case Accepts::floats:
            return is_float(dtype);
        case Accepts::integers:
            return is_int(dtype);
        case Accepts::numbers:
            return is_int(dtype) || is_float(dtype);
        case Accepts::bools:
            return dtype == DType::boolean;
        case Accepts::all:
            return true;
    }
    return false;
}

// Equal shapes without extents of 1 will stay equal whatever the batch size; in a graph, an extent of 1 may
// be one that is broadcast when the shapes of the inputs change.
bool is_surely_unbroadcast(const Tensor& grad, const Tensor& input) {
    if (!input.shape().is_known() || !grad.shape().is_known() || !(grad.shape() == input.shape()))
        return false;
    if (!grad.is_symbolic() && !input.is_symbolic()) return true;
    Shape recorded = recorded_shape(input);
    return recorded.is_known() && recorded_shape(grad) == recorded &&
           std::ranges::find(recorded, 1) == recorded.end();
}

}  // namespace

TensorSpecs infer_elementwise(std::string_view name, Specs inputs, Accepts accepts, bool gives_bool) {
    TensorSpec out{gives_bool ? DType::boolean : inputs[0].dtype, inputs[0].shape, {}};
    for (auto& input : inputs) {
        if (!is_accepted(input.dtype, accepts))
            throw_user(name, text("dtype ", input.dtype, " is not allowed; it takes ",
                                  accepted_names[size_t(accepts)], ", convert with astype"));
        if (!input.shape.is_known() || !out.shape.is_known())
            out.shape = Shape::unknown();
        else
            out.shape = broadcast_shapes(name, out.shape, input.shape);
    }
    return {out};
}

Tensor constant_like(const Tensor& x, double value) { return scalar_tensor(value, x.dtype(), x.device()); }

Tensor unbroadcast(const Tensor& grad, const Tensor& input) {
    if (!grad || is_surely_unbroadcast(grad, input)) return grad;
    return reduce_to_shape(grad, input);
}

}  // namespace mge::ops
