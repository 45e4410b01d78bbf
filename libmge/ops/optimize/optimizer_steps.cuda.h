// SPDX-License-Identifier: Apache-2.0
#pragma once
// The steps of all optimizers, by the formulas of kernel/scalar/optimizer.inc; each new tensor may be the one
// it replaces.

#include "libmge/kernel/cuda/types.h"

namespace mge::cuda {

// Operands and results in the order of the formula.
struct StepArrays {
    int64_t count;
    const float* operands[4];
    float* results[3];
    const float* lr;
    const float* step;  // none where steps are not counted
    float* new_step;
};

struct SgdFactors {
    float momentum, weight_decay;
    bool has_velocity, nesterov;  // has_velocity: this is not the first step
};
void sgd_step(Stream stream, const StepArrays& arrays, const SgdFactors& factors);

struct AdamFactors {
    double beta1, beta2;
    float epsilon, weight_decay;
    bool decoupled;
};
void adam_step(Stream stream, const StepArrays& arrays, const AdamFactors& factors);

struct AdagradFactors {
    float lr_decay, epsilon, weight_decay;
};
void adagrad_step(Stream stream, const StepArrays& arrays, const AdagradFactors& factors);

struct AdadeltaFactors {
    float rho, rest, epsilon, weight_decay;  // rest: 1 - rho
};
void adadelta_step(Stream stream, const StepArrays& arrays, const AdadeltaFactors& factors);

struct LambFactors {
    double beta1, beta2;
    float epsilon, weight_decay;
    bool bias_correction;
    bool is_fitted;  // the step's length to that of the parameter
};
size_t lamb_workspace(int64_t count);
// Operands and results as of Adam.
void lamb_step(Stream stream, const StepArrays& arrays, const LambFactors& factors, void* workspace);

}  // namespace mge::cuda
