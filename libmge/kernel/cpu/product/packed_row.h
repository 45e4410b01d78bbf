// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "libmge/base/numbers/ceil_div.h"

namespace mge::cpu {

// A row times a matrix: y[n] = sum over k of x[k] * b[k][n], f32. The matrix is packed into panels of
// columns, so that it is read once, from front to back, and no sum goes across a vector.
inline constexpr int64_t panel_columns = 64;

struct PackedRow {
    int64_t n, k;
    int64_t panel;  // floats from panel to panel
    int64_t panels() const { return ceil_div(n, panel_columns); }
};
// Started from bias and residual where they are not null. The columns behind n that the last panel has are
// zeros.
struct PackedRowData {
    const float *x, *b, *bias, *residual;
    float* y;
};
// The columns of panels [first, last).
void packed_row(const PackedRow& shape, const PackedRowData& data, int64_t first, int64_t last);

}  // namespace mge::cpu
