// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/vision/class_nms.h"

namespace mge::ops {

TensorSpecs ClassNms::infer(const Params&, Specs in) {
    if (in[0].dtype != DType::f32 || in[1].dtype != DType::f32)
        throw_type_error(name, "boxes and scores must be float32, got ", in[0].dtype, " and ", in[1].dtype);
    auto &boxes = in[0].shape, &scores = in[1].shape;
    if (boxes.rank() != 3 || !can_be_equal(name, boxes.extent(2), 4))
        throw_value_error(name, "boxes must have shape (images, n, 4), got ", boxes);
    if (scores.rank() != 3 || !can_be_equal(name, scores.extent(0), boxes.extent(0)) ||
        !can_be_equal(name, scores.extent(2), boxes.extent(1)))
        throw_value_error(name, "scores must have shape (", boxes.extent(0), ", classes, ", boxes.extent(1),
                          "), got ", scores);
    for (size_t i = 2; i < in.size(); ++i) {
        if (in[i].is_absent()) continue;
        DType dtype = i == 2 ? DType::i64 : DType::f32;
        if (in[i].dtype != dtype || in[i].shape.numel() != 1)
            throw_type_error(name, info.inputs[i].name, " must be one number of ", dtype, ", got ", in[i]);
    }
    return {{DType::i64, Shape::unknown(), {}}};
}

}  // namespace mge::ops
