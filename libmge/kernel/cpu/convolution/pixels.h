// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace mge::cpu {

// Interleaved images converted to planes: planes[c * plane + i] = (pixels[i * channels + c] - mean[c]) *
// scale[c].
struct PixelRange {
    const uint8_t* pixels;
    float* planes;
    int64_t count, plane;
    const float *mean, *scale;
};
struct PixelFunctions {
    void (*three)(const PixelRange&);
    void (*four)(const PixelRange&);
};
void split_three_colours(const PixelRange& range);
void split_four_colours(const PixelRange& range);

}  // namespace mge::cpu
