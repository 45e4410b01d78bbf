// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/types.h"

namespace mge::cuda {

struct Suppression {
    int64_t boxes, max_output;  // max_output below 0: all
    double threshold;
};
// Workspace: for each box its place in the order of scores, then whether it is out, and the indices that are
// kept; and how many these are.
struct SuppressionWork {
    int32_t *order, *is_out, *kept, *count;

    static size_t bytes(int64_t boxes) { return size_t(3 * boxes + 1) * sizeof(int32_t); }
    static SuppressionWork in(void* workspace, int64_t boxes) {
        auto* first = static_cast<int32_t*>(workspace);
        return {first, first + boxes, first + 2 * boxes, first + 3 * boxes};
    }
};

void suppress(Stream stream, const Suppression& s, const float* boxes, const float* scores,
              const SuppressionWork& work);

}  // namespace mge::cuda
