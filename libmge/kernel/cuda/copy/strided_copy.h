// SPDX-License-Identifier: Apache-2.0
#pragma once
// A StridedCopy as its kernels see it. copy_plan.h makes it.

#include "libmge/kernel/cuda/index_space.h"

namespace mge::cuda {

// A unit is moved in one piece: an element, or several that are contiguous in the source and in the target.
struct CopyPacks {
    int pack = 1;             // units that a thread stores at once
    int64_t source_step = 0;  // between the units of a pack in the source, in units
    IndexSpace<2> packs;      // offsets of source and target, in units
};

// For two transposed axes: the source is contiguous along one, the target along the other. Tiles go through
// shared memory, so that loads and stores are coalesced.
struct CopyTiles {
    int run_bits = 0, row_bits = 0;  // log2 of a tile's sizes along the source's run and the target's
    int64_t run = 0, row = 0;        // the axes' sizes
    int64_t source_run_stride = 1, source_row_stride = 0, target_run_stride = 0;  // in units
    // Offsets of source and target, in units; then the tile's first positions along the two axes.
    IndexSpace<4> tiles;
    int pack = 1;  // units that a thread moves at once: one, or tile_pack of them
};

// log2 of the units of a tile: up to 8 KiB, so that enough loads are under way, and 16 KiB where threads move
// packs.
constexpr int tile_bits(int unit, int pack) {
    if (pack > 1) return unit == 1 ? 14 : unit == 2 ? 13 : 12;
    return unit <= 2 ? 12 : unit <= 8 ? 10 : 9;
}
// Squares of so many units are turned in registers.
constexpr int tile_pack(int unit) { return unit <= 2 ? 4 : unit == 4 ? 2 : 1; }

// A pack is one unit or has one of these sizes.
inline constexpr int copied_pack_bytes[] = {pack_bytes, 4};

// `unit` is 1, 2, 4, 8 or 16 bytes; addresses are multiples of it, those of targets multiples of the pack.
void copy_packs(Stream stream, int unit, const void* source, void* target, const CopyPacks& copy);
void copy_tiles(Stream stream, int unit, const void* source, void* target, const CopyTiles& copy);

}  // namespace mge::cuda
