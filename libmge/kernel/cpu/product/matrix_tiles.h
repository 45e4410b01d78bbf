// SPDX-License-Identifier: Apache-2.0
#pragma once
// The matrix registers of a processor (AMX): eight tiles, here always of 16 rows of 64 bytes.

#include <cstdint>

namespace mge::cpu {

inline constexpr int64_t tile_rows = 16, tile_row_bytes = 64, tile_bytes = tile_rows * tile_row_bytes;

// The processor has them, MGE_ISA allows them, and the system lets threads keep them.
bool has_matrix_tiles();
// A thread uses them between the two.
void begin_tiles();
// Tiles 0, 1 and 4 of so many rows, and 2, 3 and 5 of `later_rows`. The rows of 4 and 5 have so many bytes,
// which are multiplied with as many words of 6 and 7.
void begin_tiles(int64_t rows, int64_t later_rows, int64_t row_bytes = tile_row_bytes);
void end_tiles();

}  // namespace mge::cpu
