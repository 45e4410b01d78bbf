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

// Each for f16, bf16 and float, the maximum for uint8_t and int8_t, too. The gradients are gathered, so
// nothing is added atomically.
template <class T>
void max_pool(Stream stream, const Pooling& pooling, const T* x, T* y);
template <class T>
void average_pool(Stream stream, const Pooling& pooling, const T* x, T* y);
template <class T>
void max_pool_backward(Stream stream, const Pooling& pooling, const T* x, const T* y, const T* dy, T* dx);
template <class T>
void average_pool_backward(Stream stream, const Pooling& pooling, const T* dy, T* dx);
// The sum of v over the elements of each window that are its largest.
template <class T>
void max_pool_select(Stream stream, const Pooling& pooling, const T* x, const T* y, const T* v, T* z);

}  // namespace mge::cuda
