// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/convolution/gathered_windows.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include <cstring>
#include <vector>

#include "hwy/highway.h"
#include "libmge/kernel/cpu/convolution/gathered_windows.h"
#include "libmge/kernel/cpu/highway_targets.h"
#include "libmge/kernel/cpu/rows/channel_vectors-inl.h"
#include "libmge/kernel/cpu/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {

HWY_INLINE void copy_block(const float* from, float* to) { std::memcpy(to, from, block * sizeof(float)); }

// A block of input channels of the window that begins at (top, left), one element after the other.
void read_window(const GatheredWindows& s, const float* plane, int64_t top, int64_t left, float* seen) {
    for (int64_t h = 0, row = top; h < s.kernel[0]; ++h, row += s.dilation[0])
        for (int64_t w = 0, column = left; w < s.kernel[1]; ++w, column += s.dilation[1], seen += block) {
            const bool is_inside = row >= 0 && row < s.in[0] && column >= 0 && column < s.in[1];
            if (is_inside)
                copy_block(plane + (row * s.in[1] + column) * block, seen);
            else
                std::memset(seen, 0, block * sizeof(float));
        }
}

void gather(const GatheredWindows& s, const float* x, float* y, int64_t first, int64_t last) {
    const int64_t elements = s.elements(), pixels = s.pixels();
    std::vector<float> seen(size_t(elements * block)), turned(seen.size());
    for (int64_t b = first; b < last; ++b) {
        const float* plane = x + b * s.in[0] * s.in[1] * block;
        float* to = y + b * elements * pixels * block;
        for (int64_t h = s.first_row; h < s.first_row + s.rows; ++h)
            for (int64_t w = 0; w < s.out[1]; ++w, to += block) {
                const int64_t top = h * s.stride[0] - s.padding[0], left = w * s.stride[1] - s.padding[1];
                read_window(s, plane, top, left, elements == 1 ? to : seen.data());
                if (elements == 1) continue;
                transpose_rows(seen.data(), block, elements, block, turned.data(), elements);
                for (int64_t i = 0; i < elements; ++i)
                    copy_block(turned.data() + i * block, to + i * pixels * block);
            }
    }
}

}  // namespace

GatherWindows gather_windows_of_target() { return gather; }

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mge::cpu {
namespace {

HWY_EXPORT(gather_windows_of_target);

}  // namespace

void gather_windows(const GatheredWindows& shape, const float* x, float* y, int64_t first, int64_t last) {
    static const auto best = (limit_highway_targets(), HWY_DYNAMIC_DISPATCH(gather_windows_of_target)());
    best(shape, x, y, first, last);
}

}  // namespace mge::cpu
#endif
