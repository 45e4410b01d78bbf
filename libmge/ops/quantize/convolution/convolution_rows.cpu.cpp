// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/quantize/convolution/convolution_rows.h"

#include <algorithm>
#include <array>

#include "libmge/kernel/cpu/rows/step_rows.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge::ops {
namespace {

using StepTypes = Types<uint8_t, int8_t, int32_t>;
static_assert(longest_row <= cpu::longest_block);

bool has_vector_form(const ConvEpilogue& e) {
    return !e.is_exact && is_byte(e.dtype) && cpu::has_step_rows(e.activation) &&
           (e.residual_dtype == DType::none || is_byte(e.residual_dtype));
}

void finish_bytes(const ConvEpilogue& e, const ConvScales& s, const Launch& launch, const SumBlock& b) {
    // Whole vectors, however long, are read where they are.
    constexpr int64_t longest_vector = 16;
    std::array<float, longest_row> copied, copied_shift;
    const float *scale = s.scale + b.first_channel, *shift = s.shift ? s.shift + b.first_channel : nullptr;
    if (!e.is_per_channel || b.channels % longest_vector != 0) {
        copied.fill(0);
        for (int64_t c = 0; c < b.channels; ++c)
            copied[size_t(c)] = s.scale[e.is_per_channel ? b.first_channel + c : 0];
        scale = copied.data();
    }
    if (shift && b.channels % longest_vector != 0) {
        copied_shift.fill(0);
        std::copy_n(shift, b.channels, copied_shift.data());
        shift = copied_shift.data();
    }
    cpu::StepMaking making{e.activation,
                           e.rounding == StepRounding::half_even,
                           s.y_scale,
                           s.y_zero,
                           float(e.range.lower),
                           float(e.range.upper),
                           e.dtype == DType::i8,
                           e.residual_dtype == DType::i8,
                           s.residual_scale,
                           s.residual_zero,
                           e.inner_dtype != DType::none,
                           {s.inner_scale, s.inner_zero, e.inner_dtype == DType::i8},
                           e.y_may_be_short};
    bool has_residual = e.residual_dtype != DType::none;
    auto* residual = has_residual ? launch.in<uint8_t>(QuantizedConv2d::residual) + b.first : nullptr;
    auto* y = launch.out<uint8_t>(0) + b.first;
    auto& kernels = cpu::step_kernels();
    if (b.step != 1)
        kernels.rows(making,
                     {b.sums, b.stride, b.pixels, b.channels, b.start, scale, shift, residual, y, b.step});
    else
        kernels.planes(making,
                       {b.sums, b.stride, b.pixels, b.channels, b.start, scale, shift, residual, y, b.plane});
}

void finish_any(const ConvEpilogue& e, const ConvScales& s, const Launch& launch, const SumBlock& b) {
    dispatch_dtype(e.dtype, StepTypes{}, [&](auto type) {
        using T = typename decltype(type)::type;
        for (int64_t c = 0; c < b.channels; ++c)
            for (int64_t i = 0; i < b.pixels; ++i) {
                int64_t at = b.first + c * b.plane + i * b.step;
                int32_t sum = b.sums[i * b.stride + c] + b.start[c];
                launch.out<T>(0)[at] = T(finished_step(e, s, launch, sum, b.first_channel + c, at));
            }
    });
}

}  // namespace

void finish_block(const ConvEpilogue& epilogue, const ConvScales& scales, const Launch& launch,
                  const SumBlock& block) {
    auto* finish = has_vector_form(epilogue) ? finish_bytes : finish_any;
    finish(epilogue, scales, launch, block);
}

}  // namespace mge::ops
