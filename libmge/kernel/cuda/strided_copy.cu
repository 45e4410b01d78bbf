// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cuda/strided_copy.h"

#include "libmge/kernel/cuda/index_space.cuh"
#include "libmge/kernel/cuda/launch.cuh"

namespace mge::cuda {
namespace {

template <class Unit, int size, class Index>
__global__ void store_packs(const Unit* source, Unit* target, CopyPacks copy) {
    for (int64_t i = first_piece(); i < copy.packs.numel; i += piece_step()) {
        Index at[2];
        find_places(copy.packs, Index(i), at);
        const Unit* from = source + at[0];
        Pack<Unit, size> pack;
        pack.v[0] = *from;
#pragma unroll
        for (int k = 1; k < size; ++k) pack.v[k] = copy.source_step ? from[k * copy.source_step] : pack.v[0];
        *reinterpret_cast<Pack<Unit, size>*>(target + at[1]) = pack;
    }
}

template <class Unit>
inline constexpr int tile_units = 1 << tile_bits(sizeof(Unit));

template <class Unit, class Index>
__global__ void store_tiles(const Unit* __restrict__ source, Unit* __restrict__ target, CopyTiles copy) {
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

template <class Unit, int size>
void launch_packs(Stream stream, const void* source, void* target, const CopyPacks& copy) {
    auto* kernel = copy.packs.is_small ? store_packs<Unit, size, int32_t> : store_packs<Unit, size, int64_t>;
    launch(kernel, grid_for(copy.packs.numel), block_threads, 0, stream, static_cast<const Unit*>(source),
           static_cast<Unit*>(target), copy);
}

template <class Unit>
void launch_tiles(Stream stream, const void* source, void* target, const CopyTiles& copy) {
    auto* kernel = copy.tiles.is_small ? store_tiles<Unit, int32_t> : store_tiles<Unit, int64_t>;
    launch(kernel, grid_for(copy.tiles.numel * block_threads), block_threads, 0, stream,
           static_cast<const Unit*>(source), static_cast<Unit*>(target), copy);
}

template <class Unit>
void launch_packs_of(Stream stream, const void* source, void* target, const CopyPacks& copy) {
    constexpr int most = pack_bytes[0] / int(sizeof(Unit)), some = pack_bytes[1] / int(sizeof(Unit));
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
