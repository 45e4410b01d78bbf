// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/algorithm.h"
#include "libmge/kernel/cpu/product/product_epilogue.h"
#include "libmge/ops/quantize/compressed/compressed_product.h"

namespace mge::ops {

// The state that the kernels of compressed_matmul share.
struct CompressedProduct {
    enum Input : size_t { x, steps, scale, zero_point, bias, residual };

    CompressedWeight weight;
    int64_t rows;  // rows of x
    Activation activation;

    void finish(const Launch& launch, const cpu::ProductPart& part) const {
        cpu::finish({launch.in_if_given<float>(bias), launch.in_if_given<float>(residual), activation,
                     weight.rows, launch.out<float>(0)},
                    part);
    }
};
inline CompressedProduct compressed_product(const Problem& p) {
    auto& params = p.as<CompressedMatmul::Params>();
    return {compressed_weight(params, p.inputs), rows_of_x(p), params.activation};
}

// Many rows of x: a block of weights after the other as floats, each multiplied by oneDNN.
Algorithm compressed_blocks();

}  // namespace mge::ops
