// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/copy/nest.h"
#include "libmge/kernel/cuda/types.h"

namespace mge::cuda {

struct StepArguments {
    const void *x, *zeros;  // zeros: null where all are 0
    const float* scale;
    void* y;
    int64_t numel, lower, upper;
    Nest scales;           // offsets of the scale and the zero point of an element
    bool is_even = false;  // whether halves go to the even step
};

// To steps and from them. `type`: of steps, uint8_t, int8_t or int32_t; zeros are int32_t.
void quantize(Stream stream, int type, const StepArguments& arguments);
void dequantize(Stream stream, int type, const StepArguments& arguments);
// Zeros are floats.
void fake_quantize(Stream stream, const StepArguments& arguments, bool is_shifted_first);

struct StepSumArguments {
    const uint8_t *a, *b;
    const float *a_scale, *b_scale, *y_scale;
    const int32_t *a_zero, *b_zero, *y_zero;  // null: 0
    uint8_t* y;
    int64_t numel, lower, upper;
    bool is_a_signed, is_b_signed, relu, is_even;
};
void add_steps(Stream stream, const StepSumArguments& arguments);

}  // namespace mge::cuda
