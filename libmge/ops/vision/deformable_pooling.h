// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>

#include "libmge/base/api.h"

namespace mge {

struct Problem;

// A problem of deformable_roi_pool2d, for hosts and GPUs.
struct DeformablePooling {
    int64_t images, channels, height, width;  // those of x
    int64_t regions, parts;                   // parts: 0 without offsets
    int64_t rows, columns, samples;           // those of a region, and along each axis of a cell
    float scale, offset_scale;
};

namespace ops {
// For the operator or its gradient; `offsets`: index of that input.
MGE_API DeformablePooling deformable_pooling(const Problem& problem, size_t offsets);
}  // namespace ops

}  // namespace mge
