// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "libmge/kernel/cpu/rows/rows.h"
#include "libmge/tensor/dtype.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge::cpu {

using HalfTypes = Types<Half, BFloat16>;

// The conversions of one instruction set.
struct HalfConversions {
    void (*f16_to_f32)(const Half*, float*, int64_t);
    void (*bf16_to_f32)(const BFloat16*, float*, int64_t);
    void (*f32_to_f16)(const float*, Half*, int64_t);
    void (*f32_to_bf16)(const float*, BFloat16*, int64_t);
};

// Vectorised conversions, rounding to nearest even as the scalar ones of tensor/dtype.h.
void halves_to_floats(const Half* from, float* to, int64_t n);
void halves_to_floats(const BFloat16* from, float* to, int64_t n);
void floats_to_halves(const float* from, Half* to, int64_t n);
void floats_to_halves(const float* from, BFloat16* to, int64_t n);

// Elementwise computation on half precision: blocks that fit the first cache are converted, handed to the
// same computation in f32 (Rows::inner), and its result converted back unless it is bool.
RowsFn half_rows(DType half, DType result);

}  // namespace mge::cpu
