// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/optimize/optimizer_steps.cuda.h"

#include "libmge/kernel/cuda/launch.cuh"

namespace mge::cuda {
namespace {

__global__ void sgd(SgdArguments x) {
    float lr = *x.lr;
    for (int64_t i = first_piece(); i < x.count; i += piece_step()) {
        float p = x.param[i], g = x.grad[i] + x.weight_decay * p, v = g;
        if (x.momentum != 0) {
            if (x.velocity) v = x.momentum * x.velocity[i] + g;
            x.new_velocity[i] = v;
            if (x.nesterov) v = g + x.momentum * v;
        }
        x.new_param[i] = p - lr * v;
    }
}

__global__ void adam(AdamArguments x) {
    // 1 / (1 - beta^step); powers in double are too dear for every thread.
    __shared__ float corrections[2];
    if (threadIdx.x == 0) {
        double step = double(*x.step + 1);
        corrections[0] = float(1 / (1 - ::pow(x.beta1, step)));
        corrections[1] = float(1 / (1 - ::pow(x.beta2, step)));
    }
    __syncthreads();
    float correction1 = corrections[0], correction2 = corrections[1], lr = *x.lr;
    auto beta1 = float(x.beta1), beta2 = float(x.beta2);
    for (int64_t i = first_piece(); i < x.count; i += piece_step()) {
        float p = x.param[i], g = x.decoupled ? x.grad[i] : x.grad[i] + x.weight_decay * p;
        float m = beta1 * x.mean[i] + (1 - beta1) * g;
        float s = beta2 * x.square[i] + (1 - beta2) * g * g;
        float delta = m * correction1 / (sqrtf(s * correction2) + x.epsilon);
        if (x.decoupled) delta += x.weight_decay * p;
        x.new_param[i] = p - lr * delta;
        x.new_mean[i] = m;
        x.new_square[i] = s;
    }
}

__global__ void adagrad(AdagradArguments x) {
    float rate = *x.lr / (1 + *x.step * x.lr_decay);
    for (int64_t i = first_piece(); i < x.count; i += piece_step()) {
        float p = x.param[i], g = x.grad[i] + p * x.weight_decay;
        float s = x.sum[i] + g * g;
        x.new_param[i] = p - rate * (g / sqrtf(s + x.epsilon));
        x.new_sum[i] = s;
    }
}

__global__ void adadelta(AdadeltaArguments x) {
    float lr = *x.lr;
    for (int64_t i = first_piece(); i < x.count; i += piece_step()) {
        float p = x.param[i], g = x.grad[i] + p * x.weight_decay, a = x.delta[i];
        float s = x.square[i] * x.rho + g * g * x.rest;
        float d = sqrtf(a + x.epsilon) / sqrtf(s + x.epsilon) * g;
        x.new_param[i] = p - lr * d;
        x.new_square[i] = s;
        x.new_delta[i] = a * x.rho + d * d * x.rest;
    }
}

__global__ void count_step(const float* step, float* new_step) { *new_step = *step + 1; }

// Enough blocks for any GPU: what each finds out once is then shared by many elements.
unsigned some_blocks(int64_t count) {
    unsigned blocks = grid_for(count);
    return blocks < 2048 ? blocks : 2048;
}

// The step may be counted in its place, so only when no block reads it any more.
template <class Arguments>
void launch_step(void (*kernel)(Arguments), Stream stream, const Arguments& x) {
    if (x.count) launch(kernel, some_blocks(x.count), block_threads, 0, stream, x);
    launch(count_step, 1, 1, 0, stream, x.step, x.new_step);
}

}  // namespace

void sgd_step(Stream stream, const SgdArguments& arguments) {
    if (arguments.count) launch(sgd, grid_for(arguments.count), block_threads, 0, stream, arguments);
}
void adam_step(Stream stream, const AdamArguments& arguments) { launch_step(adam, stream, arguments); }
void adagrad_step(Stream stream, const AdagradArguments& arguments) {
    launch_step(adagrad, stream, arguments);
}
void adadelta_step(Stream stream, const AdadeltaArguments& arguments) {
    launch_step(adadelta, stream, arguments);
}

}  // namespace mge::cuda
