// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "libmge/kernel/activation.h"

namespace mge::cpu {

// The epilogue of a matrix product: y = activation(y + bias + residual), f32, in contiguous rows.
struct ProductEpilogue {
    const float *bias, *residual;  // may be null; one bias for each column
    Activation activation;
    int64_t columns;
    float* y;
};

// A part of the result: rows and columns from the first of each to before the last.
struct ProductPart {
    int64_t first_row, last_row, first_column, last_column;
};

void finish(const ProductEpilogue& epilogue, const ProductPart& part);

}  // namespace mge::cpu
