// SPDX-License-Identifier: Apache-2.0
#pragma once
// Convolutions of one image by windows of one pixel: a product of pixels × input channels with input × output
// channels. Images lie in blocks of channels, (channels / block, pixels, block), weights in
// (oc / block, ic, block); zeros fill the last blocks. Layers of few pixels wait for their weights, so while
// the pixels pass by one panel of them, each tile fetches its part of the next; and the pixels are cut into
// even tiles, 49 into nine, with no small rest. Activations are computed some tiles at a time.
//
// A sum over more channels than caches hold pixels of is made of several: then weights have more input
// channels than x, and what was summed before is the residual, in y's own memory. Such pixels fit the caches:
// they are one strip.

#include <cstdint>

#include "libmge/kernel/activation.h"

namespace mge::cpu {

struct Pointwise {
    int64_t ic, oc, pixels;
    Activation activation = Activation::none;
    int64_t weight_ic = ic;  // of which those of x are some

    int64_t items() const;  // independent parts of the work
};
struct PointwiseData {
    const float *x, *weight;       // the weight of the first channel of x
    const float *bias, *residual;  // may be null
    float* y;
};

// Parts [first, last) of the work.
void pointwise(const Pointwise& shape, const PointwiseData& data, int64_t first, int64_t last);

// What is compiled once per instruction set.
struct PointwiseFunctions {
    int64_t (*count_items)(const Pointwise&);
    void (*compute_items)(const Pointwise&, const PointwiseData&, int64_t, int64_t);
};

}  // namespace mge::cpu
