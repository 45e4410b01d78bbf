// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/reduce/fixed_sums.h"

namespace mge::cuda {

// As in remap.h.
enum class Border : int { constant, replicate, reflect, reflect_101, wrap };

struct Remapping {
    int64_t images, channels, maps, pixels;  // pixels: of a map
    int height, width;                       // those of x
    Border border;
    bool is_nearest;
    float value;  // outside
};
struct RemapPlaces {
    const float* map;
    const int32_t* image;  // which one each map is of; null: that at its own place
};

// `type`: of floats and bytes only.
void remap(Stream stream, int type, const Remapping& r, const RemapPlaces& places, const void* x, void* y);
// `type`: of floats only.
void remap_backward_data(Stream stream, int type, const Remapping& r, const RemapPlaces& places,
                         const void* dy, const FixedSums& sums, void* dx);
void remap_backward_map(Stream stream, int type, const Remapping& r, const RemapPlaces& places, const void* x,
                        const void* dy, float* dmap);

}  // namespace mge::cuda
