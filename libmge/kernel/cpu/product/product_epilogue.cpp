// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cpu/product/product_epilogue.h"

#include "libmge/kernel/cpu/activate.h"

namespace mge::cpu {

void finish(const ProductEpilogue& e, const ProductPart& part) {
    for (int64_t row = part.first_row; row < part.last_row; ++row) {
        float* y = e.y + row * e.columns;
        if (e.bias)
            for (int64_t n = part.first_column; n < part.last_column; ++n) y[n] += e.bias[n];
        if (e.residual)
            for (int64_t n = part.first_column; n < part.last_column; ++n)
                y[n] += e.residual[row * e.columns + n];
        activate(e.activation, y + part.first_column, part.last_column - part.first_column);
    }
}

}  // namespace mge::cpu
