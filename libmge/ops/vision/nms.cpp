// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/vision/nms.h"

#include "libmge/op/int32_places.h"

namespace mge::ops {

TensorSpecs Nms::infer(const Params& p, Specs in) {
    if (in[0].dtype != DType::f32 || in[1].dtype != DType::f32)
        throw_type_error(name, "boxes and scores must be float32, got ", in[0].dtype, " and ", in[1].dtype);
    if (in[0].shape.rank() != 2 || in[0].shape[1] != 4)
        throw_user(name, text("boxes must have shape (N, 4), got ", in[0].shape), ErrorClass::assertion);
    if (in[1].shape != Shape{in[0].shape[0]})
        throw_user(name, text("scores must have shape ", Shape{in[0].shape[0]}, ", got ", in[1].shape),
                   ErrorClass::assertion);
    if (p.max_output < -1)
        throw_value_error(name, "max_output must be at least 0, or -1 for all, got ", p.max_output);
    require_int32_places(name, in[0].shape[0]);
    return {{DType::i32, Shape::unknown(), {}}};
}

}  // namespace mge::ops
