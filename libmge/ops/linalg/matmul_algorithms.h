// SPDX-License-Identifier: Apache-2.0
#pragma once
// The algorithms of matmul that have a source of their own.

#include "libmge/kernel/algorithm.h"

namespace mge::ops {

// One row times a constant matrix that fits a cache: linear layers of one item, steps of recurrences.
Algorithm row_matmul();

// Our own vector loops, for products so small that a call of oneDNN costs more than the work.
Algorithm small_matmul();

// Long sums of outer products, a transposed and b not: the gradient of a weight
// (kernel/cpu/product/outer_product.h).
Algorithm outer_matmul();

// Rows times a constant matrix, which is packed ahead (kernel/cpu/product/packed_product.h).
Algorithm packed_matmul();

// Rows of halves times a constant matrix of halves, both widened as they are read
// (kernel/cpu/product/half_product.h).
Algorithm half_matmul();

// Rows of bf16 times a constant matrix of bf16 by matrix instructions (kernel/cpu/product/bf16_tiles.h).
Algorithm tiles_matmul();

// f32 by matrix instructions of bf16, as accurate as by f32 (kernel/cpu/product/split_product.h).
Algorithm split_matmul();

// Products of integers of up to 16 bits in tiles, exact in int32.
Algorithm integer_matmul();

// oneDNN's matmul implementations with b as it is or, when b is constant, packed once.
Algorithm onednn_matmul();

// The algorithms of cuBLASLt's heuristic, with stable names: "cublaslt:" and the numbers of a configuration.
Algorithm cublaslt_matmul();

// Our own product on a GPU, for all dtypes and shapes.
Algorithm tiled_matmul();

}  // namespace mge::ops
