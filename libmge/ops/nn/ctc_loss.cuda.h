// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/types.h"

namespace mge::cuda {

struct Ctc {
    int64_t steps, samples, classes;  // those of x
    int64_t labels, label_row;        // all of them; of a sample where they are padded, otherwise 0
    int64_t blank;

    // States of all samples: a blank before, between and after the labels of each.
    int64_t states() const { return 2 * labels + samples; }
    // A place for each state at each step, and four rows of states.
    size_t backward_workspace() const { return size_t((steps + 4) * states()) * sizeof(double); }
    size_t forward_workspace() const { return size_t(2 * states()) * sizeof(double); }
};
struct CtcInputs {
    const float* x;
    const int32_t *lengths, *labels, *label_lengths;
};

// Samples with a length or label out of its range have the loss NaN and no gradient.
void ctc_loss(Stream stream, const Ctc& ctc, const CtcInputs& in, float* loss, double* workspace);
// Adds to dx, which begins as zeros.
void ctc_loss_backward(Stream stream, const Ctc& ctc, const CtcInputs& in, const float* dloss, float* dx,
                       double* workspace);

}  // namespace mge::cuda
