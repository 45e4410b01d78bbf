// SPDX-License-Identifier: Apache-2.0
#pragma once
// 1×1 convolutions of one image: a matrix product of pixels × input channels with input × output channels.
// Images are in blocks of channels, (channels / block, pixels, block), weights in (oc / block, ic, block);
// zeros fill the last blocks. Layers with few pixels are bound by their weights: so while one panel of
// weights is used, each tile prefetches its part of the next. The pixels are divided into even tiles, 49 into
// nine, without a small rest. Activations are computed for some tiles at a time.
//
// A sum over more channels than the caches can hold for the pixels is divided into several: then weights have
// more input channels than x, and the previous sum is the residual, in y's own memory. Such pixels fit in the
// caches: they are one strip.

#include <cstdint>

#include "libmge/kernel/activation.h"

namespace mge::cpu {

struct Pointwise {
    int64_t ic, oc, pixels;
    Activation activation = Activation::none;
    int64_t weight_ic = ic;     // input channels of the weight, which include those of x
    int64_t y_pixels = pixels;  // pixels of the image y, which include those of x

    int64_t items() const;  // independent parts of the work
};
struct PointwiseData {
    const float *x, *weight;       // the weight of the first channel of x
    const float *bias, *residual;  // may be null
    float* y;
};

// Parts [first, last) of the work.
void pointwise(const Pointwise& shape, const PointwiseData& data, int64_t first, int64_t last);

// Functions compiled once per instruction set.
struct PointwiseFunctions {
    int64_t (*count_items)(const Pointwise&);
    void (*compute_items)(const Pointwise&, const PointwiseData&, int64_t, int64_t);
};

}  // namespace mge::cpu
