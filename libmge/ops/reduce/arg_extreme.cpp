// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/reduce/arg_extreme.h"

#include "libmge/op/int32_places.h"
#include "libmge/ops/reduce/reduce.h"

namespace mge::ops {

TensorSpecs infer_arg(std::string_view name, const ArgParams& params, const TensorSpec& x) {
    if (!x.shape.is_known()) return {{DType::i32, Shape::unknown(), {}}};
    auto reduced = reduced_axes(name, {params.axis}, x.shape.rank());
    require_elements(name, x.shape, reduced);
    require_int32_places(name, x.shape.extent(normalize_axis(name, params.axis, x.shape.rank())).lower());
    return {{DType::i32, reduced_shape(x.shape, reduced, params.keepdims), {}}};
}

}  // namespace mge::ops
