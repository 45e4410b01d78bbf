// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cuda/copy/strided_copy.h"

#include "libmge/kernel/cuda/index_space.cuh"
#include "libmge/kernel/cuda/launch.cuh"

namespace mge::cuda {
namespace {

// Packs of a thread whose loads overlap, and the number of packs from which threads have several.
constexpr int packs_at_once = 4;
constexpr int64_t many_packs = int64_t(1) << 19;

template <class Unit, int size, class Index>
__global__ void store_packs(const Unit* __restrict__ source, Unit* __restrict__ target, CopyPacks copy) {
    for (int64_t first = first_piece(); first < copy.packs.numel; first += packs_at_once * piece_step()) {
        Pack<Unit, size> packs[packs_at_once] = {};
        Index place[packs_at_once] = {};
#pragma unroll
        for (int each = 0; each < packs_at_once; ++each) {
            int64_t i = first + each * piece_step();
            if (i >= copy.packs.numel) break;
            Index at[2];
            find_places(copy.packs, Index(i), at);
            const Unit* from = source + at[0];
            Pack<Unit, size>& pack = packs[each];
            pack.v[0] = *from;
#pragma unroll
            for (int k = 1; k < size; ++k)
                pack.v[k] = copy.source_step ? from[k * copy.source_step] : pack.v[0];
            place[each] = at[1];
        }
#pragma unroll
        for (int each = 0; each < packs_at_once; ++each)
            if (first + each * piece_step() < copy.packs.numel)
                *reinterpret_cast<Pack<Unit, size>*>(target + place[each]) = packs[each];
    }
}

template <class Unit>
inline constexpr int tile_units = 1 << tile_bits(sizeof(Unit), 1);

// Limits registers so that several blocks fit: a thread has many positions, which are cheaper to recompute
// than to keep.
template <class Unit>
inline constexpr int blocks_of_packs = sizeof(Unit) == 1 ? 3 : 4;

template <class Unit, class Index>
__global__ void __launch_bounds__(block_threads, 4)
    store_tiles(const Unit* __restrict__ source, Unit* __restrict__ target, CopyTiles copy) {
    constexpr int units = tile_units<Unit>, mine = units / block_threads;
    // Rows are a bank apart from a multiple of all banks; the shortest ones are of two units.
    constexpr int gap = sizeof(Unit) < 4 ? 4 / int(sizeof(Unit)) : 1;
    __shared__ Unit tile[units / 2 * (2 + gap)];
    int run_mask = (1 << copy.run_bits) - 1, row_mask = (1 << copy.row_bits) - 1;
    int pitch = run_mask + 1 + gap;
    for (int64_t number = blockIdx.x; number < copy.tiles.numel; number += gridDim.x) {
        Index at[4];
        find_places(copy.tiles, Index(number), at);
        Index runs = Index(copy.run) - at[2], rows = Index(copy.row) - at[3];
        Unit held[mine] = {};
#pragma unroll
        for (int k = 0; k < mine; ++k) {
            int i = k * block_threads + int(threadIdx.x), run = i & run_mask, row = i >> copy.run_bits;
            if (run < runs && row < rows)
                held[k] =
                    source[at[0] + run * Index(copy.source_run_stride) + row * Index(copy.source_row_stride)];
        }
#pragma unroll
        for (int k = 0; k < mine; ++k) {
            int i = k * block_threads + int(threadIdx.x), run = i & run_mask, row = i >> copy.run_bits;
            if (run < runs && row < rows) tile[row * pitch + run] = held[k];
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < mine; ++k) {
            int i = k * block_threads + int(threadIdx.x), row = i & row_mask, run = i >> copy.row_bits;
            if (run < runs && row < rows)
                target[at[1] + run * Index(copy.target_run_stride) + row] = tile[row * pitch + run];
        }
        __syncthreads();
    }
}

template <class Unit>
inline constexpr int tile_side = tile_pack(sizeof(Unit));
template <class Unit>
inline constexpr int packs_of_tile = (1 << tile_bits(sizeof(Unit), tile_side<Unit>)) / tile_side<Unit>;

// Tiles as above, of squares of side * side units: a thread loads one by packs along the run and stores it by
// packs along the row. Shared memory contains packs along the row; those of neighbouring squares along the
// run are an odd number of packs apart, in other banks.
template <class Unit, class Index>
__global__ void __launch_bounds__(block_threads, blocks_of_packs<Unit>)
    store_tiles_of_packs(const Unit* __restrict__ source, Unit* __restrict__ target, CopyTiles copy) {
    constexpr int side = tile_side<Unit>, bits = side == 4 ? 2 : 1;
    constexpr int packs = packs_of_tile<Unit>, squares = packs / side;
    constexpr int mine = squares / block_threads;
    using Units = Pack<Unit, side>;
    // As many rows of packs as the tile is long, each with a gap of one; the shortest have two.
    __shared__ Units tile[packs / 2 * 3];
    int run_bits = copy.run_bits - bits, row_bits = copy.row_bits - bits, pitch = (1 << row_bits) + 1;
    for (int64_t number = blockIdx.x; number < copy.tiles.numel; number += gridDim.x) {
        Index at[4];
        find_places(copy.tiles, Index(number), at);
        Index runs = (Index(copy.run) - at[2]) / side, rows = (Index(copy.row) - at[3]) / side;
        Units held[mine][side] = {};
#pragma unroll
        for (int k = 0; k < mine; ++k) {
            int i = k * block_threads + int(threadIdx.x), run = i & ((1 << run_bits) - 1),
                row = i >> run_bits;
            const Unit* from =
                source + at[0] + Index(run * side) + Index(row * side) * Index(copy.source_row_stride);
            if (run < runs && row < rows)
#pragma unroll
                for (int j = 0; j < side; ++j)
                    held[k][j] =
                        *reinterpret_cast<const Units*>(from + Index(j) * Index(copy.source_row_stride));
        }
#pragma unroll
        for (int k = 0; k < mine; ++k) {
            int i = k * block_threads + int(threadIdx.x), run = i & ((1 << run_bits) - 1),
                row = i >> run_bits;
#pragma unroll
            for (int j = 0; j < side; ++j) {
                Units turned;
#pragma unroll
                for (int along = 0; along < side; ++along) turned.v[along] = held[k][along].v[j];
                tile[((j << run_bits) + run) * pitch + row] = turned;
            }
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < mine * side; ++k) {
            int i = k * block_threads + int(threadIdx.x), row = i & ((1 << row_bits) - 1),
                run = i >> row_bits;
            // Neighbours in the target belong to one square.
            int square = run >> bits, within = run & (side - 1);
            if (square < runs && row < rows)
                *reinterpret_cast<Units*>(target + at[1] + Index(run) * Index(copy.target_run_stride) +
                                          Index(row * side)) =
                    tile[((within << run_bits) + square) * pitch + row];
        }
        __syncthreads();
    }
}

template <class Unit, int size>
void launch_packs(Stream stream, const void* source, void* target, const CopyPacks& copy) {
    auto* kernel = copy.packs.is_small ? store_packs<Unit, size, int32_t> : store_packs<Unit, size, int64_t>;
    int64_t n = copy.packs.numel, threads = n < many_packs ? n : (n + packs_at_once - 1) / packs_at_once;
    launch(kernel, grid_for(threads), block_threads, 0, stream, static_cast<const Unit*>(source),
           static_cast<Unit*>(target), copy);
}

template <class Unit>
auto* tiles_kernel(const CopyTiles& copy) {
    if constexpr (tile_side < Unit >> 1)
        if (copy.pack > 1)
            return copy.tiles.is_small ? store_tiles_of_packs<Unit, int32_t>
                                       : store_tiles_of_packs<Unit, int64_t>;
    return copy.tiles.is_small ? store_tiles<Unit, int32_t> : store_tiles<Unit, int64_t>;
}
template <class Unit>
void launch_tiles(Stream stream, const void* source, void* target, const CopyTiles& copy) {
    auto* kernel = tiles_kernel<Unit>(copy);
    launch(kernel, grid_for(copy.tiles.numel * block_threads), block_threads, 0, stream,
           static_cast<const Unit*>(source), static_cast<Unit*>(target), copy);
}

template <class Unit>
void launch_packs_of(Stream stream, const void* source, void* target, const CopyPacks& copy) {
    constexpr int most = copied_pack_bytes[0] / int(sizeof(Unit));
    constexpr int some = copied_pack_bytes[1] / int(sizeof(Unit));
    if (copy.pack == 1) return launch_packs<Unit, 1>(stream, source, target, copy);
    if constexpr (some > 1)
        if (copy.pack == some) return launch_packs<Unit, some>(stream, source, target, copy);
    if constexpr (most > 1) launch_packs<Unit, most>(stream, source, target, copy);
}

}  // namespace

void copy_packs(Stream stream, int unit, const void* source, void* target, const CopyPacks& copy) {
    if (unit == 1) return launch_packs_of<uint8_t>(stream, source, target, copy);
    if (unit == 2) return launch_packs_of<uint16_t>(stream, source, target, copy);
    if (unit == 4) return launch_packs_of<uint32_t>(stream, source, target, copy);
    if (unit == 8) return launch_packs_of<uint64_t>(stream, source, target, copy);
    launch_packs_of<uint4>(stream, source, target, copy);
}

void copy_tiles(Stream stream, int unit, const void* source, void* target, const CopyTiles& copy) {
    if (unit == 1) return launch_tiles<uint8_t>(stream, source, target, copy);
    if (unit == 2) return launch_tiles<uint16_t>(stream, source, target, copy);
    if (unit == 4) return launch_tiles<uint32_t>(stream, source, target, copy);
    if (unit == 8) return launch_tiles<uint64_t>(stream, source, target, copy);
    launch_tiles<uint4>(stream, source, target, copy);
}

}  // namespace mge::cuda
