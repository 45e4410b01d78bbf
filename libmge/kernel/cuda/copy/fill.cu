// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cuda/copy/fill.h"

#include "libmge/kernel/cuda/launch.cuh"

namespace mge::cuda {
namespace {

// Fills memory from `begin` to `end`, in pieces of 16 bytes, the first and last of which may be partial. Byte
// i of eight is for addresses i above a multiple of eight.
__global__ void fill_pieces(uint64_t begin, uint64_t end, uint64_t eight) {
    uint64_t first = begin / 16;
    auto pieces = int64_t((end + 15) / 16 - first);
    for (int64_t i = first_piece(); i < pieces; i += piece_step()) {
        uint64_t at = (first + uint64_t(i)) * 16;
        if (at >= begin && at + 16 <= end) {
            *reinterpret_cast<Pack<uint64_t, 2>*>(at) = {{eight, eight}};
            continue;
        }
        for (uint64_t byte = at < begin ? begin : at; byte < end && byte < at + 16; ++byte)
            *reinterpret_cast<uint8_t*>(byte) = uint8_t(eight >> (byte % 8 * 8));
    }
}

}  // namespace

void fill_elements(Stream stream, void* target, int64_t count, int size, uint64_t element) {
    if (count == 0) return;
    for (int bytes = size; bytes < 8; bytes *= 2) element |= element << (bytes * 8);
    auto begin = reinterpret_cast<uint64_t>(target), end = begin + uint64_t(count) * uint64_t(size);
    launch(fill_pieces, grid_for(int64_t((end + 15) / 16 - begin / 16)), block_threads, 0, stream, begin, end,
           element);
}

}  // namespace mge::cuda
