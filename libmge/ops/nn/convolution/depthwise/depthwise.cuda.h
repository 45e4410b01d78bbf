// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/activation_enum.h"
#include "libmge/kernel/cuda/types.h"
#include "libmge/ops/nn/convolution/conv_extents.cuda.h"

namespace mge::cuda {

// A convolution whose groups have one channel and one filter each: a thread computes a few rows of a column.
inline constexpr int depthwise_rows = 4;
inline constexpr int depthwise_threads = 256;
// Channels of a thread, if they are contiguous: more of them, or of the rows, would need so many registers
// that too few threads fit in a multiprocessor.
inline constexpr int depthwise_pack = 4;

// Images with their channels last: a block has the windows of a few channels in shared memory, and a thread
// one pack of these.
struct DepthwiseBlocks {
    int packs;     // that threads of a block have beside each other
    int channels;  // packs of them, the distance of two elements of a window in shared memory
    int chunks;    // blocks beside each other that have all channels
    int rounds;    // per block, each with as many columns as it has threads
};

struct DepthwiseArguments {
    const void *x, *weight, *bias, *residual;
    void* y;
    ConvExtents conv;
    Divisor row_groups;  // number of groups of depthwise_rows
    int64_t of_plane;    // groups of rows in all columns
    Activation activation;
    DepthwiseBlocks blocks;  // no packs: the images are plain
    int pack;                // channels that a thread has: depthwise_pack or 1
};

// `type`: of floats only. Packs want x, y and residual aligned for them.
void run_depthwise(Stream stream, int type, const DepthwiseArguments& arguments);

}  // namespace mge::cuda
