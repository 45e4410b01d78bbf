// SPDX-License-Identifier: Apache-2.0
#pragma once
// Depthwise windows of byte images by sums of four products (AVX-512 VNNI), exact in int32. First the lines
// of an image are interleaved: an entry holds the bytes of four neighbouring pixels, those of a channel side
// by side; entries are two pixels apart. A window then takes an entry for each four pixels of a line, and an
// entry serves all windows over it: those that begin at its first pixel, and with weights that are moved by
// one, at its second.

#include <cstdint>
#include <span>

#include "libmge/kernel/cpu/product/quad_product.h"

namespace mge::cpu {

inline constexpr int64_t window_channels = 64, entry_pixels = 4, entry_step = 2;
inline constexpr int64_t entry_bytes = entry_pixels * window_channels;

// How a block of channels fills an entry: it has those of 1, 2 or 4 pixels that are far apart.
struct EntryFilling {
    int64_t channels, pixels;

    explicit EntryFilling(int64_t channels);
    int64_t channels_of_pixel() const { return window_channels / pixels; }
};
// The channel of a place of the arrays over sums, and the position of its weight for a tap among the
// entry_bytes weights of an entry.
int64_t channel_of_sum(const EntryFilling& filling, int64_t place);
int64_t place_of_weight(int64_t sum, int64_t tap);

struct QuadLine {
    const uint8_t* x;  // the first channel of the block in the first pixel of a line of the image
    int64_t width, pixel_bytes;
    int64_t first;  // the first entry's first pixel, which may be outside of the line
    int64_t entries;
    int64_t apart;    // distance of the pixels in an entry that are far apart
    bool is_signed;   // 128 is added to the factors
    uint8_t outside;  // the factor outside of the line
};
void interleave_line(const EntryFilling& filling, const QuadLine& line, uint8_t* to);

// A line of y in a block of channels.
struct QuadWindows {
    EntryFilling filling;
    std::span<const uint8_t* const> entries;  // under the first window: line after line, those of a line
                                              // two entries apart
    int64_t step, count;                      // pixels of x between windows; windows
    // Entry after entry, for windows that begin at its first pixel, and the same at its second, so far away.
    const int8_t* weight;
    int64_t weight_of_second;
    const int32_t* start;  // added to the sums
    const float* scale;
    uint8_t* y;
    int64_t y_stride;  // bytes between pixels
    int64_t apart;     // pixels of y that are far apart
    int64_t width;     // pixels of the line of y, of which those beyond are not stored
};
void multiply_windows(const QuadWindows& windows, const QuadSteps& steps);
// sums[i * window_channels + c] of pixel i instead of y, c counting the channels of all pixels of an entry.
void multiply_windows(const QuadWindows& windows, int32_t* sums);

}  // namespace mge::cpu
