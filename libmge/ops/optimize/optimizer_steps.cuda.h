// SPDX-License-Identifier: Apache-2.0
#pragma once
// The steps of all optimizers; each new tensor may be the one it replaces.

#include "libmge/kernel/cuda/types.h"

namespace mge::cuda {

struct SgdArguments {
    int64_t count;
    const float *param, *grad, *velocity, *lr;  // no velocity: this is the first step
    float *new_param, *new_velocity;
    float momentum, weight_decay;
    bool nesterov;
};
void sgd_step(Stream stream, const SgdArguments& arguments);

struct AdamArguments {
    int64_t count;
    const float *param, *grad, *mean, *square, *step, *lr;
    float *new_param, *new_mean, *new_square, *new_step;
    double beta1, beta2;
    float epsilon, weight_decay;
    bool decoupled;
};
void adam_step(Stream stream, const AdamArguments& arguments);

struct AdagradArguments {
    int64_t count;
    const float *param, *grad, *sum, *step, *lr;
    float *new_param, *new_sum, *new_step;
    float lr_decay, epsilon, weight_decay;
};
void adagrad_step(Stream stream, const AdagradArguments& arguments);

struct AdadeltaArguments {
    int64_t count;
    const float *param, *grad, *square, *delta, *step, *lr;
    float *new_param, *new_square, *new_delta, *new_step;
    float rho, rest, epsilon, weight_decay;  // rest: 1 - rho
};
void adadelta_step(Stream stream, const AdadeltaArguments& arguments);

}  // namespace mge::cuda
