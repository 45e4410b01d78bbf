// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/quantize/quantize.h"

#include "libmge/ops/quantize/quantisation.h"

namespace mge::ops {
namespace {

TensorSpec zero_point_of(Specs in) { return in.size() > 2 ? in[2] : TensorSpec{}; }

}  // namespace

TensorSpecs Quantize::infer(const Params& p, Specs in) {
    if (in[0].dtype != DType::f32) throw_type_error(name, "x must be float32, got ", in[0].dtype);
    step_range(name, p.dtype, p.lower, p.upper);
    check_scale(name, in[0].shape, in[1], zero_point_of(in));
    return {{p.dtype, in[0].shape, {}}};
}

TensorSpecs Dequantize::infer(const Params&, Specs in) {
    if (!holds_steps(in[0].dtype))
        throw_type_error(name, "x must be quantised values of uint8, int8 or int32, got ", in[0].dtype);
    check_scale(name, in[0].shape, in[1], zero_point_of(in));
    return {{DType::f32, in[0].shape, {}}};
}

}  // namespace mge::ops
