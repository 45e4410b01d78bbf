// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace mge::cpu {

// `rounds` rounds of fused multiply-adds on registers alone, with the widest vectors of the instruction set;
// returns how many operations that were (two per multiply-add).
double multiply_adds(int64_t rounds);

// The same of products of bytes that are exact in int32, by the instruction that kernels use: on matrices
// (AMX), of four bytes (AVX-512 VNNI), or of two numbers of 16 bits.
double multiply_bytes(int64_t rounds);
double multiply_pairs(int64_t rounds);

// y = y * 0.5 + x over n floats. Moves 12 bytes per float: x and y are read, y is written.
void stream_triad(const float* x, float* y, int64_t n);

}  // namespace mge::cpu
