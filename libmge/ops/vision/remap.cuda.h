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

// For f16, bf16, float, uint8_t and int8_t.
template <class T>
void remap(Stream stream, const Remapping& r, const RemapPlaces& places, const T* x, T* y);
// For f16, bf16 and float.
template <class T>
void remap_backward_data(Stream stream, const Remapping& r, const RemapPlaces& places, const T* dy,
                         const FixedSums& sums, T* dx);
template <class T>
void remap_backward_map(Stream stream, const Remapping& r, const RemapPlaces& places, const T* x, const T* dy,
                        float* dmap);

}  // namespace mge::cuda
