// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/quantize/quantized_add.h"

#include "libmge/ops/quantize/quantisation.h"

namespace mge::ops {

TensorSpecs QuantizedAdd::infer(const Params& p, Specs in) {
    if (!is_byte(in[0].dtype) || !is_byte(in[1].dtype) || !is_byte(p.dtype))
        throw_type_error(name, "takes and returns quantised values of uint8 or int8, got ", in[0].dtype, ", ",
                         in[1].dtype, " and ", p.dtype);
    if (!can_be_same(name, in[0].shape, in[1].shape))
        throw_user(name, text("a and b must have the same shape, got ", in[0].shape, " and ", in[1].shape));
    for (size_t i = 2; i < in.size(); ++i) {
        if (in[i].is_absent()) continue;
        DType wanted = i < 5 ? DType::f32 : DType::i32;
        if (in[i].dtype != wanted || in[i].shape.numel() != 1)
            throw_user(name, text("its ", inputs[i].name, " must be one number of ", wanted, ", got ",
                                  in[i].dtype, " of shape ", in[i].shape));
    }
    step_range(name, p.dtype, p.lower, p.upper);
    return {{p.dtype, in[0].shape, {}}};
}

}  // namespace mge::ops
