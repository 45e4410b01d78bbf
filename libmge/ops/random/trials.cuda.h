// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numbers of distributions that are made by trial.

#include "libmge/kernel/cuda/types.h"

namespace mge::cuda {

struct TrialArguments {
    const int32_t* state;
    unsigned random_stream;
    int64_t count;
    const float *a, *b;  // parameters of each number; b: of those that have two
    float* y;
};
void draw_gamma(Stream stream, const TrialArguments& arguments);
void draw_beta(Stream stream, const TrialArguments& arguments);
void draw_poisson(Stream stream, const TrialArguments& arguments);

}  // namespace mge::cuda
