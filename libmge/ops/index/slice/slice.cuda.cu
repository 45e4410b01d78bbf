// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/index/slice/slice.cuda.h"

#include "libmge/kernel/cuda/index_space.cuh"
#include "libmge/kernel/cuda/launch.cuh"
#include "libmge/kernel/cuda/scalar.cuh"

namespace mge::cuda {
namespace {

// No two places are one.
template <class T, class Index>
__global__ void add_elements(const T* value, T* y, IndexSpace<2> places) {
    for (int64_t i = first_piece(); i < places.numel; i += piece_step()) {
        Index at[2];
        find_places(places, Index(i), at);
        y[at[1]] = stored<T>(load_scalar(y[at[1]]) + load_scalar(value[at[0]]));
    }
}

}  // namespace

void add_to_places(Stream stream, int type, const void* value, void* y, const IndexSpace<2>& places) {
    dispatch_type(type, NumberTypes{}, [&]<class T>(T*) {
        auto* kernel = places.is_small ? add_elements<T, int32_t> : add_elements<T, int64_t>;
        launch(kernel, grid_for(places.numel), block_threads, 0, stream, static_cast<const T*>(value),
               static_cast<T*>(y), places);
    });
}

}  // namespace mge::cuda
