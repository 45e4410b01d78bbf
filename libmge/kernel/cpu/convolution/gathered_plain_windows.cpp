// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <vector>

#include "libmge/base/numbers/ceil_div.h"
#include "libmge/kernel/cpu/convolution/gathered_windows.h"

namespace mge::cpu {
namespace {

// Elements that are gathered together, and of which blocks have a multiple.
constexpr int64_t together = 8;

// An element of windows: the plane of x, and the row and column for the first window. A padding channel has
// no plane.
struct Element {
    const float* plane;
    int64_t row, column;
};
using Elements = std::array<Element, together>;

Element element_of(const GatheredWindows& s, const float* x, int64_t channel) {
    const int64_t tap = channel % s.elements(), plane = channel / s.elements();
    return {plane < s.ic ? x + plane * s.in[0] * s.in[1] : nullptr,
            tap / s.kernel[1] * s.dilation[0] - s.padding[0],
            tap % s.kernel[1] * s.dilation[1] - s.padding[1]};
}

// The same for the windows of one line of y: lines of x, and columns for the first window.
struct Lines {
    std::array<const float*, together> line;
    std::array<int64_t, together> column;

    Lines(const GatheredWindows& s, const Elements& elements, int64_t h, const float* outside) {
        for (size_t i = 0; i < together; ++i) {
            const Element& e = elements[i];
            const int64_t row = h * s.stride[0] + e.row;
            line[i] = e.plane && row >= 0 && row < s.in[0] ? e.plane + row * s.in[1] : outside;
            column[i] = e.column;
        }
    }
};

// The windows of a line of y whose columns are all inside the image.
struct Inside {
    int64_t begin, end;

    explicit Inside(const GatheredWindows& s) {
        const int64_t last = s.in[1] - 1 + s.padding[1] - (s.kernel[1] - 1) * s.dilation[1];
        begin = std::min(s.out[1], ceil_div(s.padding[1], s.stride[1]));
        end = std::clamp(last < 0 ? 0 : last / s.stride[1] + 1, begin, s.out[1]);
    }
};

void gather_at_border(const GatheredWindows& s, int64_t block, const Lines& lines, int64_t begin, int64_t end,
                      float* to) {
    for (int64_t w = begin; w < end; ++w)
        for (size_t i = 0; i < together; ++i) {
            const int64_t column = lines.column[i] + w * s.stride[1];
            to[w * block + int64_t(i)] = column >= 0 && column < s.in[1] ? lines.line[i][column] : 0;
        }
}

void gather_inside(int64_t stride, int64_t block, const Lines& lines, int64_t begin, int64_t end, float* to) {
    const float* from[together];
    for (size_t i = 0; i < together; ++i) from[i] = lines.line[i] + lines.column[i] + begin * stride;
    float* at = to + begin * block;
    for (int64_t w = begin, column = 0; w < end; ++w, column += stride, at += block)
#pragma GCC unroll 8
        for (int i = 0; i < together; ++i) at[i] = from[i][column];
}

}  // namespace

void gather_plain_windows(const GatheredWindows& s, int64_t block, const float* x, float* y, int64_t first,
                          int64_t last) {
    const int64_t width = s.out[1];
    const Inside inside(s);
    const std::vector<float> outside(size_t(s.in[1]));
    for (int64_t channel = first * block; channel < last * block; channel += together) {
        Elements elements;
        for (int64_t i = 0; i < together; ++i) elements[size_t(i)] = element_of(s, x, channel + i);
        float* to = y + channel / block * s.pixels() * block + channel % block;
        for (int64_t h = s.first_row; h < s.first_row + s.rows; ++h, to += width * block) {
            const Lines lines(s, elements, h, outside.data());
            gather_at_border(s, block, lines, 0, inside.begin, to);
            gather_inside(s.stride[1], block, lines, inside.begin, inside.end, to);
            gather_at_border(s, block, lines, inside.end, width, to);
        }
    }
}

}  // namespace mge::cpu
