// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/types.h"

namespace mge::cuda {

// The operands of ops::ClassNms; its numbers are on the device, and null means absent.
struct ClassSuppression {
    const float *boxes, *scores;
    const int64_t* most;
    const float *overlap, *least_score;
    int64_t pairs, classes, n;  // pairs: of an image and a class
    bool is_centered;
    // For each box of each class of each image, as nms.cuda.h has them.
    int32_t *order, *is_out, *kept;
    int64_t* before;  // how many are kept before a pair; behind the last: of all
};
void suppress_classes(Stream stream, const ClassSuppression& s);
// Rows of image, class and box.
void write_selected(Stream stream, const ClassSuppression& s, int64_t* selected);

}  // namespace mge::cuda
