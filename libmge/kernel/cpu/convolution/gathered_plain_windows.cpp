// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "libmge/kernel/cpu/convolution/gathered_windows.h"

namespace mge::cpu {
namespace {

// One element of all windows, `block` numbers from one to the next.
void gather_element(const GatheredWindows& s, int64_t block, const float* plane, int64_t element, float* to) {
    const int64_t top = element / s.kernel[1] * s.dilation[0] - s.padding[0];
    const int64_t left = element % s.kernel[1] * s.dilation[1] - s.padding[1];
    for (int64_t h = 0, row = top; h < s.out[0]; ++h, row += s.stride[0]) {
        const bool is_inside = row >= 0 && row < s.in[0];
        const float* from = plane + (is_inside ? row : 0) * s.in[1];
        for (int64_t w = 0, column = left; w < s.out[1]; ++w, column += s.stride[1], to += block)
            *to = is_inside && column >= 0 && column < s.in[1] ? from[column] : 0;
    }
}

}  // namespace

void gather_plain_windows(const GatheredWindows& s, int64_t block, const float* x, float* y, int64_t first,
                          int64_t last) {
    const int64_t all = s.ic * s.elements(), pixels = s.out[0] * s.out[1];
    for (int64_t b = first; b < last; ++b)
        for (int64_t i = 0; i < block; ++i) {
            const int64_t channel = b * block + i;
            float* to = y + b * pixels * block + i;
            if (channel < all)
                gather_element(s, block, x + channel / s.elements() * s.in[0] * s.in[1],
                               channel % s.elements(), to);
            else
                for (int64_t p = 0; p < pixels; ++p) to[p * block] = 0;
        }
}

}  // namespace mge::cpu
