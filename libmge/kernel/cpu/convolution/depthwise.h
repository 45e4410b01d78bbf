// SPDX-License-Identifier: Apache-2.0
#pragma once
// Depthwise convolutions with 3×3 or 5×5 windows. Images are in blocks of channels, (items, channels / block,
// height, width, block), weights in (channels / block, height, width, block); zeros fill the last blocks.
// Some pixels of a row are summed in registers, and a column of x shared by several of them is read once; the
// border needs no copy, because its columns are skipped.
//
// Images of f16 and bf16 may be in such blocks, too, of 16 channels that are all there. Those of bf16 may
// also have their channels last: (items, height, width, channels), with whole vectors of channels. Two
// vectors are 32 channels, first those with even numbers, and in this order are the weights: (channels / 32,
// height, width, 32). The last 16 channels may be a block of their own.

#include <array>
#include <cstdint>

#include "libmge/kernel/activation.h"
#include "libmge/tensor/dtype.h"

namespace mge::cpu {

struct Depthwise {
    int64_t items, channels;
    std::array<int64_t, 2> in, out, padding;  // height, width
    int64_t window, stride;
    Activation activation = Activation::none;

    static bool has(int64_t window, int64_t stride);           // supported windows and strides
    int64_t rows() const;                                      // rows of y, which are independent work
    int64_t rows_of_pixels() const { return items * out[0]; }  // the same if channels are last
};
template <class T>
struct DepthwiseOperands {
    const T* x;
    const float* weight;
    const T *bias, *residual;  // may be null
    T* y;
};
using DepthwiseData = DepthwiseOperands<float>;
using DepthwiseHalves = DepthwiseOperands<BFloat16>;

// Rows [first, last) of y.
void depthwise(const Depthwise& shape, const DepthwiseData& data, int64_t first, int64_t last);
// Only with vectors of 512 bits.
void depthwise(const Depthwise& shape, const DepthwiseHalves& data, int64_t first, int64_t last);
inline constexpr int64_t depthwise_halves_block = 16;
// The same for images in blocks of `depthwise_halves_block` channels.
void depthwise_in_blocks(const Depthwise& shape, const DepthwiseHalves& data, int64_t first, int64_t last);
void depthwise_in_blocks(const Depthwise& shape, const DepthwiseOperands<Half>& data, int64_t first,
                         int64_t last);

// Functions compiled once per instruction set.
struct DepthwiseFunctions {
    int64_t (*count_rows)(const Depthwise&);
    void (*compute_rows)(const Depthwise&, const DepthwiseData&, int64_t, int64_t);
    void (*compute_halves)(const Depthwise&, const DepthwiseHalves&, int64_t, int64_t);
    void (*compute_bf16_blocks)(const Depthwise&, const DepthwiseHalves&, int64_t, int64_t);
    void (*compute_f16_blocks)(const Depthwise&, const DepthwiseOperands<Half>&, int64_t, int64_t);
};

}  // namespace mge::cpu
