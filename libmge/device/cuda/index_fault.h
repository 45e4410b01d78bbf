// SPDX-License-Identifier: Apache-2.0
#pragma once
// The first out-of-range index that a kernel of a queue found. It is in host memory that kernels can write
// and that wait() inspects. So launches need no synchronisation, and checks are free until one fails.

#include <cstdint>

namespace mge::cuda {

struct IndexFault {
    enum State : int { none, written, complete };

    int state;
    int axis, index;
    int64_t extent;
    const char* op;  // static string on the host
};

}  // namespace mge::cuda
