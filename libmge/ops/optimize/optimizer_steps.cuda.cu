// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/optimize/optimizer_steps.cuda.h"

#include "libmge/kernel/cuda/launch.cuh"
#include "libmge/kernel/cuda/together.cuh"

namespace mge::cuda {
namespace {

namespace formula {
#define operator __device__ __forceinline__ operator
#include "libmge/kernel/scalar/optimizer.inc"
#undef operator
}  // namespace formula

// Makes a formula from factors and values that only the GPU has: the learning rate and the count of steps.

struct Sgd {
    using Formula = formula::SgdStep;
    SgdFactors f;
    MGE_DEVICE Formula operator()(const StepArrays& arrays) const { return {*arrays.lr, f.weight_decay}; }
};

template <bool has_velocity, bool nesterov>
struct Momentum {
    using Formula = formula::MomentumStep<has_velocity, nesterov>;
    SgdFactors f;
    MGE_DEVICE Formula operator()(const StepArrays& arrays) const {
        return {*arrays.lr, f.momentum, f.weight_decay};
    }
};

MGE_DEVICE formula::MeanWeights mean_weights(double beta, const StepArrays& arrays) {
    return {float(beta), float(1 - beta), float(1 / (1 - ::pow(beta, double(*arrays.step + 1))))};
}

template <bool decoupled>
struct Adam {
    using Formula = formula::AdamStep<decoupled>;
    AdamFactors f;
    MGE_DEVICE Formula operator()(const StepArrays& arrays) const {
        return {mean_weights(f.beta1, arrays), mean_weights(f.beta2, arrays), f.epsilon, f.weight_decay,
                *arrays.lr};
    }
};

struct Adagrad {
    using Formula = formula::AdagradStep;
    AdagradFactors f;
    MGE_DEVICE Formula operator()(const StepArrays& arrays) const {
        return {*arrays.lr / (1 + *arrays.step * f.lr_decay), f.epsilon, f.weight_decay};
    }
};

struct Adadelta {
    using Formula = formula::AdadeltaStep;
    AdadeltaFactors f;
    MGE_DEVICE Formula operator()(const StepArrays& arrays) const {
        return {*arrays.lr, f.rho, f.rest, f.epsilon, f.weight_decay};
    }
};

struct Lamb {
    using Formula = formula::LambDirection;
    LambFactors f;
    MGE_DEVICE Formula operator()(const StepArrays& arrays) const {
        Formula direction{mean_weights(f.beta1, arrays), mean_weights(f.beta2, arrays), f.epsilon,
                          f.weight_decay};
        if (!f.bias_correction) direction.mean.correction = direction.square.correction = 1;
        return direction;
    }
};

template <class Formula>
MGE_DEVICE void results_at(const Formula& apply, const StepArrays& arrays, int64_t i, ScalarFloat* y) {
    ScalarFloat x[Formula::operands];
    for (int k = 0; k < Formula::operands; ++k) x[k] = ScalarFloat::of(arrays.operands[k][i]);
    apply(x, y);
}

template <class Make>
__global__ void step(StepArrays arrays, Make make) {
    using Formula = typename Make::Formula;
    __shared__ Formula apply;  // powers in double are too dear for every thread
    if (threadIdx.x == 0) apply = make(arrays);
    __syncthreads();
    for (int64_t i = first_piece(); i < arrays.count; i += piece_step()) {
        ScalarFloat y[Formula::results];
        results_at(apply, arrays, i, y);
        for (int k = 0; k < Formula::results; ++k) arrays.results[k][i] = y[k].v;
    }
}

__global__ void count_step(const float* step, float* new_step) { *new_step = *step + 1; }

// Enough blocks for any GPU: what each finds out once is then shared by many elements.
unsigned some_blocks(int64_t count) {
    unsigned blocks = grid_for(count);
    return blocks < 2048 ? blocks : 2048;
}

// The step may be counted in its place, so only when no block reads it any more.
void count(Stream stream, const StepArrays& arrays) {
    if (arrays.step) launch(count_step, 1, 1, 0, stream, arrays.step, arrays.new_step);
}

template <class Make>
void launch_step(Stream stream, const StepArrays& arrays, const Make& make) {
    if (arrays.count) launch(step<Make>, some_blocks(arrays.count), block_threads, 0, stream, arrays, make);
    count(stream, arrays);
}

// --- LAMB: lengths first, in the same order whatever the GPU is ---

using Squares = Both<double>;  // those of the parameter and of the direction
struct Sum {
    MGE_DEVICE Squares operator()(Squares a, Squares b) const { return a + b; }
};

constexpr int64_t part = 4096;
int64_t lamb_parts(int64_t count) { return (count + part - 1) / part; }

// In the workspace.
struct LambSpace {
    Squares* squares;  // sums of each part of the elements
    float* rate;
};

__global__ void lamb_lengths(StepArrays arrays, Lamb make, LambSpace space) {
    __shared__ formula::LambDirection apply;
    if (threadIdx.x == 0) apply = make(arrays);
    __syncthreads();
    for (int64_t begin = int64_t(blockIdx.x) * part; begin < arrays.count;
         begin += int64_t(gridDim.x) * part) {
        Squares sums{0, 0};
        for (int64_t i = begin + threadIdx.x; i < begin + part && i < arrays.count; i += blockDim.x) {
            ScalarFloat y[3];
            double param = arrays.operands[0][i];
            results_at(apply, arrays, i, y);
            arrays.results[1][i] = y[1].v;
            arrays.results[2][i] = y[2].v;
            sums = sums + Squares{param * param, double(y[0].v) * double(y[0].v)};
        }
        sums = across_block(sums, Sum());
        if (threadIdx.x == 0) space.squares[begin / part] = sums;
    }
}

__global__ void lamb_rate(StepArrays arrays, bool is_fitted, int64_t parts, LambSpace space) {
    Squares sums{0, 0};
    for (int64_t i = threadIdx.x; i < parts; i += blockDim.x) sums = sums + space.squares[i];
    sums = across_block(sums, Sum());
    if (threadIdx.x != 0) return;
    bool has_lengths = is_fitted && sums.a > 0 && sums.b > 0;
    *space.rate = *arrays.lr * (has_lengths ? float(::sqrt(sums.a / sums.b)) : 1);
}

__global__ void lamb_move(StepArrays arrays, Lamb make, LambSpace space) {
    __shared__ formula::LambMove apply;
    if (threadIdx.x == 0) apply = {make(arrays), *space.rate};
    __syncthreads();
    StepArrays moved{arrays.count, {arrays.operands[0], arrays.results[1], arrays.results[2]}};
    for (int64_t i = first_piece(); i < arrays.count; i += piece_step()) {
        ScalarFloat y;
        results_at(apply, moved, i, &y);
        arrays.results[0][i] = y.v;
    }
}

}  // namespace

void sgd_step(Stream stream, const StepArrays& arrays, const SgdFactors& f) {
    if (f.momentum == 0)
        launch_step(stream, arrays, Sgd{f});
    else if (f.has_velocity && f.nesterov)
        launch_step(stream, arrays, Momentum<true, true>{f});
    else if (f.has_velocity)
        launch_step(stream, arrays, Momentum<true, false>{f});
    else if (f.nesterov)
        launch_step(stream, arrays, Momentum<false, true>{f});
    else
        launch_step(stream, arrays, Momentum<false, false>{f});
}

void adam_step(Stream stream, const StepArrays& arrays, const AdamFactors& f) {
    if (f.decoupled)
        launch_step(stream, arrays, Adam<true>{f});
    else
        launch_step(stream, arrays, Adam<false>{f});
}

void adagrad_step(Stream stream, const StepArrays& arrays, const AdagradFactors& f) {
    launch_step(stream, arrays, Adagrad{f});
}

void adadelta_step(Stream stream, const StepArrays& arrays, const AdadeltaFactors& f) {
    launch_step(stream, arrays, Adadelta{f});
}

size_t lamb_workspace(int64_t count) { return size_t(lamb_parts(count)) * sizeof(Squares) + sizeof(float); }

void lamb_step(Stream stream, const StepArrays& arrays, const LambFactors& f, void* workspace) {
    int64_t parts = lamb_parts(arrays.count);
    auto* squares = static_cast<Squares*>(workspace);
    LambSpace space{squares, reinterpret_cast<float*>(squares + parts)};
    if (parts) {
        launch(lamb_lengths, bounded_blocks(parts), block_threads, 0, stream, arrays, Lamb{f}, space);
        launch(lamb_rate, 1, block_threads, 0, stream, arrays, f.is_fitted, parts, space);
        launch(lamb_move, some_blocks(arrays.count), block_threads, 0, stream, arrays, Lamb{f}, space);
    }
    count(stream, arrays);
}

}  // namespace mge::cuda
