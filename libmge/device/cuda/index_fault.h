// SPDX-License-Identifier: Apache-2.0
#pragma once
// An index outside of its axis that a kernel found. Each queue has one, in memory of the host that kernels
// write too: who waits for the queue looks there, so that a launch waits for nothing and checks cost nothing
// until one fails. The first one stays.

#include <cstdint>

namespace mge::cuda {

struct IndexFault {
    enum State : int { none, written, complete };

    int state;
    int axis, index;
    int64_t extent;
    const char* op;  // of the host; ends with 0 and stays for ever
};

}  // namespace mge::cuda
