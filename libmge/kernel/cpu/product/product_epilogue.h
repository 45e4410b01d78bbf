// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "libmge/kernel/activation.h"

namespace mge::cpu {

// What comes behind a product of matrices: y = activation(y + bias + residual), f32, in rows that lie one
// behind the other.
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
