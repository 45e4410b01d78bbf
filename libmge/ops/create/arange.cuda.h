// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/types.h"

namespace mge::cuda {

// value(i) = start + i * step, computed in f64.
void fill_line(Stream stream, void* y, int64_t count, int type, double start, double step);

// An end of a line: a number, or its address on the device, and its type.
struct LineEnd {
    double value;
    const void* address;
    int type;
};
// From start to stop, both included, in f32.
void fill_line_between(Stream stream, float* y, int64_t count, LineEnd start, LineEnd stop);

}  // namespace mge::cuda
