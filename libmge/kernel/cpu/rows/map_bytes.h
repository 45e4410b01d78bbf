// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions of bytes as tables of 256 elements.

#include <cstdint>

namespace mge::cpu {

// True if the processor permutes 128 bytes by one instruction (AVX-512 VBMI), and MGE_ISA permits it.
bool permutes_bytes();
// y = table[x], where permutes_bytes().
void map_by_permutes(const uint8_t* x, uint8_t* y, int64_t n, const uint8_t* table);

}  // namespace mge::cpu
