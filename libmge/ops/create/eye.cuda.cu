// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/create/eye.cuda.h"

#include "libmge/kernel/cuda/launch.cuh"

namespace mge::cuda {
namespace {

template <class T>
__global__ void store_diagonal(T* target, int64_t count, int64_t step, T element) {
    for (int64_t i = first_piece(); i < count; i += piece_step()) target[i * step] = element;
}

template <class T>
void fill_as(Stream stream, void* target, int64_t count, int64_t step, uint64_t element) {
    launch(store_diagonal<T>, grid_for(count), block_threads, 0, stream, static_cast<T*>(target), count, step,
           T(element));
}

}  // namespace

void fill_diagonal(Stream stream, void* target, int64_t count, int64_t step, int size, uint64_t element) {
    if (size == 1) return fill_as<uint8_t>(stream, target, count, step, element);
    if (size == 2) return fill_as<uint16_t>(stream, target, count, step, element);
    if (size == 4) return fill_as<uint32_t>(stream, target, count, step, element);
    fill_as<uint64_t>(stream, target, count, step, element);
}

}  // namespace mge::cuda
