// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/quantize/convolution/convolution_epilogue.h"

#include "libmge/tensor/dtype_dispatch.h"

namespace mge::ops {

using Conv = QuantizedConv2d;

ConvEpilogue::ConvEpilogue(const Problem& problem)
    : is_exact(!problem.has_input(Conv::y_scale)),
      is_per_channel(problem.has_input(Conv::scale) && problem.inputs[Conv::scale].shape.numel() > 1),
      activation(without_nan(problem.as<Conv::Params>().activation)),
      range{},
      rounding(problem.as<Conv::Params>().rounding),
      dtype(problem.outputs[0].dtype),
      residual_dtype(problem.has_input(Conv::residual) ? problem.inputs[Conv::residual].dtype : DType::none),
      inner_dtype(problem.has_input(Conv::inner_scale) ? problem.as<Conv::Params>().inner_dtype
                                                       : DType::none) {
    auto& p = problem.as<Conv::Params>();
    if (!is_exact) range = step_range(Conv::name, p.dtype, p.lower, p.upper);
}

ConvScales::ConvScales(const Launch& launch) {
    auto at = [&]<class T>(size_t i, T fallback) {
        return i < launch.inputs.size() && launch.inputs[i] ? *launch.in<T>(i) : fallback;
    };
    if (launch.inputs.size() > Conv::scale) scale = launch.in<float>(Conv::scale);
    if (launch.inputs.size() > Conv::bias) bias = launch.in<int32_t>(Conv::bias);
    x_zero = at(Conv::x_zero, int32_t(0));
    weight_zero = at(Conv::weight_zero, int32_t(0));
    y_scale = at(Conv::y_scale, 1.f);
    y_zero = float(at(Conv::y_zero, int32_t(0)));
    residual_scale = at(Conv::residual_scale, 0.f);
    residual_zero = float(at(Conv::residual_zero, int32_t(0)));
    inner_scale = at(Conv::inner_scale, 1.f);
    inner_zero = float(at(Conv::inner_zero, int32_t(0)));
    shift = launch.in_if_given<float>(Conv::shift);
}

int32_t finished_step(const ConvEpilogue& e, const ConvScales& s, const Launch& launch, int32_t sum,
                      int64_t channel, int64_t place) {
    if (e.is_exact) return sum;
    float real = float(sum) * s.scale[e.is_per_channel ? channel : 0];
    if (e.inner_dtype != DType::none) {
        int step =
            to_step(StepRounding::half_even, real, s.inner_scale, s.inner_zero, full_range(e.inner_dtype));
        real = to_real(step, s.inner_zero, s.inner_scale);
    }
    if (s.shift) real += s.shift[channel];
    if (e.residual_dtype != DType::none)
        dispatch_dtype(e.residual_dtype, Types<uint8_t, int8_t, int32_t>{}, [&](auto type) {
            auto step = launch.in<typename decltype(type)::type>(Conv::residual)[place];
            real += to_real(step, s.residual_zero, s.residual_scale);
        });
    real = apply_activation(e.activation, real);
    return to_step(e.rounding, real, s.y_scale, s.y_zero, e.range);
}

}  // namespace mge::ops
