// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/quantize/quantize.cuda.h"

#include "libmge/kernel/cuda/copy/nest.cuh"
#include "libmge/kernel/cuda/launch.cuh"
#include "libmge/kernel/cuda/steps.cuh"

namespace mge::cuda {
namespace {

struct ScaleAndZero {
    float scale, zero;
};
template <class Zero>
MGE_DEVICE ScaleAndZero scale_of(const StepArguments& x, int64_t element) {
    int64_t at = place_in(x.scales, element);
    return {x.scale[at], x.zeros ? float(static_cast<const Zero*>(x.zeros)[at]) : 0};
}

template <class T>
__global__ void to_steps(StepArguments x) {
    for (int64_t i = first_piece(); i < x.numel; i += piece_step()) {
        auto s = scale_of<int32_t>(x, i);
        float real = static_cast<const float*>(x.x)[i];
        steps::StepRange range{x.lower, x.upper};
        static_cast<T*>(x.y)[i] = T(steps::to_step(x.is_even, real, s.scale, s.zero, range));
    }
}

template <class T>
__global__ void to_reals(StepArguments x) {
    for (int64_t i = first_piece(); i < x.numel; i += piece_step()) {
        auto s = scale_of<int32_t>(x, i);
        static_cast<float*>(x.y)[i] = steps::to_real(static_cast<const T*>(x.x)[i], s.zero, s.scale);
    }
}

__global__ void as_of_steps(StepArguments x, bool is_shifted_first) {
    for (int64_t i = first_piece(); i < x.numel; i += piece_step()) {
        auto s = scale_of<float>(x, i);
        static_cast<float*>(x.y)[i] = steps::as_of_step(static_cast<const float*>(x.x)[i], s.scale, s.zero,
                                                        {x.lower, x.upper}, is_shifted_first);
    }
}

MGE_DEVICE float zero_in(const int32_t* zero) { return zero ? float(*zero) : 0; }

// Rounded sums: contracted with a product they would be other steps than the host's.
__global__ void add_real_numbers(StepSumArguments x) {
    float a_scale = *x.a_scale, b_scale = *x.b_scale, y_scale = *x.y_scale;
    steps::StepRange range{x.lower, x.upper};
    float a_zero = zero_in(x.a_zero), b_zero = zero_in(x.b_zero), y_zero = zero_in(x.y_zero);
    for (int64_t i = first_piece(); i < x.numel; i += piece_step()) {
        int a = x.is_a_signed ? int8_t(x.a[i]) : x.a[i], b = x.is_b_signed ? int8_t(x.b[i]) : x.b[i];
        float sum = __fadd_rn(steps::to_real(a, a_zero, a_scale), steps::to_real(b, b_zero, b_scale));
        if (x.relu) sum = sum > 0 ? sum : 0;
        x.y[i] = uint8_t(steps::to_step(x.is_even, sum, y_scale, y_zero, range));
    }
}

using StepTypes = Types<uint8_t, int8_t, int32_t>;

}  // namespace

void quantize(Stream stream, int type, const StepArguments& x) {
    dispatch_type(type, StepTypes{},
                  [&]<class T>(T*) { launch(to_steps<T>, grid_for(x.numel), block_threads, 0, stream, x); });
}
void dequantize(Stream stream, int type, const StepArguments& x) {
    dispatch_type(type, StepTypes{},
                  [&]<class T>(T*) { launch(to_reals<T>, grid_for(x.numel), block_threads, 0, stream, x); });
}

void fake_quantize(Stream stream, const StepArguments& x, bool is_shifted_first) {
    launch(as_of_steps, grid_for(x.numel), block_threads, 0, stream, x, is_shifted_first);
}

void add_steps(Stream stream, const StepSumArguments& x) {
    launch(add_real_numbers, grid_for(x.numel), block_threads, 0, stream, x);
}

}  // namespace mge::cuda
