// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/convolution/small_weight_gradient.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "hwy/highway.h"
#include "libmge/base/numbers/ceil_div.h"
#include "libmge/kernel/cpu/convolution/small_weight_gradient.h"
#include "libmge/kernel/cpu/highway_targets.h"
#include "libmge/kernel/cpu/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {

using F32 = hn::CappedTag<float, 16>;
using Vec = hn::Vec<F32>;
constexpr int64_t block = hn::MaxLanes(F32());

// Sums of so many elements, by vectors, with an address for each, fill the registers.
constexpr int most_elements(int vectors) { return vectors == 2 ? 6 : 8; }

// Elements of the weight, by where they begin in the padded image.
struct Elements {
    const SmallConvolution& s;

    int64_t offset(int64_t i) const {
        const int64_t column = i % s.kernel_width, row = i / s.kernel_width % s.kernel_height;
        return i / (s.kernel_width * s.kernel_height) * s.plane() + row * s.dilation_height * s.pitch() +
               column * s.dilation_width;
    }
};

// Elements [first, first + E) of V blocks of channels, `step` floats from pixel to pixel of dy.
template <int V, int E>
void add_elements(const SmallConvolution& s, const float* padded, const float* dy, int64_t step,
                  int64_t first, float* sums, int64_t sums_of_block) {
    const F32 f;
    const float* x[E];
#pragma GCC unroll 8
    for (int e = 0; e < E; ++e) x[e] = padded + Elements{s}.offset(first + e);
    Vec sum[E][V];
#pragma GCC unroll 8
    for (int e = 0; e < E; ++e)
#pragma GCC unroll 2
        for (int v = 0; v < V; ++v) sum[e][v] = hn::Zero(f);
    for (int64_t row = 0; row < s.height; ++row) {
        for (int64_t i = row * s.pitch(); i < row * s.pitch() + s.width; ++i, dy += step) {
            Vec d[V];
#pragma GCC unroll 2
            for (int v = 0; v < V; ++v) d[v] = hn::LoadU(f, dy + v * block);
#pragma GCC unroll 8
            for (int e = 0; e < E; ++e) {
                const Vec number = hn::Set(f, x[e][i]);
#pragma GCC unroll 2
                for (int v = 0; v < V; ++v) sum[e][v] = hn::MulAdd(number, d[v], sum[e][v]);
            }
        }
    }
#pragma GCC unroll 8
    for (int e = 0; e < E; ++e)
#pragma GCC unroll 2
        for (int v = 0; v < V; ++v) {
            float* to = sums + v * sums_of_block + (first + e) * block;
            hn::StoreU(hn::Add(hn::LoadU(f, to), sum[e][v]), f, to);
        }
}

using AddElements = void (*)(const SmallConvolution&, const float*, const float*, int64_t, int64_t, float*,
                             int64_t);
template <int V, int... E>
constexpr std::array<AddElements, sizeof...(E)> by_elements(std::integer_sequence<int, E...>) {
    return {add_elements<V, E + 1>...};
}
template <int V>
constexpr auto adds = by_elements<V>(std::make_integer_sequence<int, most_elements(V)>());

template <int V>
void add_blocks(const SmallWeightGradient& w, const float* padded, const float* dy, float* sums) {
    const int64_t count = w.elements(), groups = ceil_div(count, most_elements(V));
    for (int64_t i = 0; i < groups; ++i) {
        const int64_t first = count * i / groups, last = count * (i + 1) / groups;
        adds<V>[size_t(last - first - 1)](w.image, padded, dy, w.channels(), first, sums, count * block);
    }
}

void add(const SmallWeightGradient& w, const float* padded, const float* dy, float* sums) {
    int64_t left = w.channels() / block;
    for (; left > 1; left -= 2, dy += 2 * block, sums += 2 * w.elements() * block)
        add_blocks<2>(w, padded, dy, sums);
    if (left) add_blocks<1>(w, padded, dy, sums);
}

// Four planes at a time; the last four overlap those before them.
void pack_planes(const SmallWeightGradient& w, const float* dy, float* packed) {
    constexpr int64_t together = 4;
    const int64_t pixels = w.image.height * w.image.width, oc = w.image.oc, all = w.channels();
    if (oc < together) return transpose_rows(dy, pixels, oc, pixels, packed, all);
    for (int64_t c = 0; c < oc; c += together) {
        const int64_t first = std::min(c, oc - together);
        transpose_rows(dy + first * pixels, pixels, together, pixels, packed + first, all);
    }
}

// Whole vectors, which include numbers of the next pixel in unused lanes.
void pack_pixels(const SmallWeightGradient& w, const float* dy, float* packed) {
    const F32 f;
    const int64_t pixels = w.image.height * w.image.width, oc = w.image.oc, all = w.channels();
    const int64_t whole = std::max<int64_t>(0, pixels - ceil_div(all, oc) + 1);
    for (int64_t i = 0; i < whole; ++i)
        for (int64_t c = 0; c < all; c += block)
            hn::StoreU(hn::LoadU(f, dy + i * oc + c), f, packed + i * all + c);
    for (int64_t i = whole; i < pixels; ++i) std::copy_n(dy + i * oc, oc, packed + i * all);
}

void pack(const SmallWeightGradient& w, const float* dy, PixelOrder order, float* packed) {
    order == PixelOrder::planes ? pack_planes(w, dy, packed) : pack_pixels(w, dy, packed);
}

}  // namespace

SmallWeightFunctions small_weight_functions() { return {block, pack, add}; }

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mge::cpu {
namespace {

HWY_EXPORT(small_weight_functions);
const SmallWeightFunctions& functions() {
    static const auto best = (limit_highway_targets(), HWY_DYNAMIC_DISPATCH(small_weight_functions)());
    return best;
}

}  // namespace

int64_t SmallWeightGradient::lanes() const { return functions().lanes; }
int64_t SmallWeightGradient::channels() const { return round_up(image.oc, lanes()); }
int64_t SmallWeightGradient::dy_floats() const { return image.height * image.width * channels(); }

void pack_small_gradient(const SmallWeightGradient& w, const float* dy, PixelOrder order, float* packed) {
    functions().pack(w, dy, order, packed);
}

void pad_pixels(const SmallConvolution& s, const float* x, float* padded) {
    std::memset(padded, 0, size_t(s.workspace_floats()) * sizeof(float));
    for (int64_t h = 0; h < s.in_height; ++h)
        for (int64_t c = 0; c < s.ic; ++c) {
            const float* from = x + h * s.in_width * s.ic + c;
            float* to = padded + c * s.plane() + (h + s.pad_height) * s.pitch() + s.pad_width;
            for (int64_t i = 0; i < s.in_width; ++i) to[i] = from[i * s.ic];
        }
}

void add_small_weight_gradient(const SmallWeightGradient& w, const float* padded, const float* packed,
                               float* sums) {
    functions().add(w, padded, packed, sums);
}

void unpack_small_weight(const SmallWeightGradient& w, const float* sums, float* dweight) {
    const int64_t lanes = w.lanes(), elements = w.elements();
    for (int64_t c = 0; c < w.image.oc; ++c, dweight += elements) {
        const float* from = sums + c / lanes * elements * lanes + c % lanes;
        for (int64_t e = 0; e < elements; ++e) dweight[e] = from[e * lanes];
    }
}

}  // namespace mge::cpu
#endif
