// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/types.h"

namespace mge::cuda {

// A PoolGeometry; rows first. The channels of a plane are contiguous at each of its pixels: for plain images
// each channel is a plane, with channels last each image.
struct Pooling {
    int64_t planes, channels;
    int in[2], out[2], kernel[2], stride[2], padding[2];
    bool count_include_pad;
};

// The operands of one computation, of one type.
struct PoolTensors {
    const void* const* inputs;
    void* result;
};

// `type`: of floats only, for the maximum also of bytes. The gradients are gathered, so nothing is added
// atomically.
void max_pool(Stream stream, int type, const Pooling& pooling, PoolTensors x_to_y);
void average_pool(Stream stream, int type, const Pooling& pooling, PoolTensors x_to_y);
void max_pool_backward(Stream stream, int type, const Pooling& pooling, PoolTensors x_y_dy_to_dx);
void average_pool_backward(Stream stream, int type, const Pooling& pooling, PoolTensors x_dy_to_dx);
// The sum of v over the elements of each window that are its largest.
void max_pool_select(Stream stream, int type, const Pooling& pooling, PoolTensors x_y_v_to_z);

}  // namespace mge::cuda
