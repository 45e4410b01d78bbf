// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace mge::cpu {

// y[m][n] = sum over k of a[m][k] * b[k][n], f32, for sizes where calling a library costs more than the work.
// y is dense; b is contiguous along n (b_stride_n == 1) or along k, and a along k in the second case.
struct SmallMatmul {
    int64_t m, n, k;
    int64_t a_stride_m, a_stride_k, b_stride_k, b_stride_n;
    bool fits() const { return b_stride_n == 1 || (b_stride_k == 1 && a_stride_k == 1); }
};
// Columns [first, last) of y; started from bias and residual where they are not null.
struct SmallMatmulData {
    const float *a, *b, *bias, *residual;
    float* y;
};
void small_matmul(const SmallMatmul& shape, const SmallMatmulData& data, int64_t first, int64_t last);

}  // namespace mge::cpu
