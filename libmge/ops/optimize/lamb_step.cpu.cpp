// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/optimize/lamb_step.h"

#include <algorithm>
#include <cmath>

#include "libmge/base/numbers/ceil_div.h"
#include "libmge/ops/optimize/mean_weights.cpu.h"
#include "libmge/ops/optimize/one_pass.cpu.h"

namespace mge::ops {
namespace {

// Squares are summed in blocks of this size and the blocks in their order, so that the number of threads does
// not show.
constexpr int64_t block_elements = 4096;

int64_t block_count(int64_t elements) { return ceil_div(elements, block_elements); }

cpu::functor::LambDirection direction_of(const LambStep::Params& p, float count) {
    auto weights = [&](double beta) {
        auto all = mean_weights(beta, count);
        if (!p.bias_correction) all.correction = 1;
        return all;
    };
    return {.mean = weights(p.beta1),
            .square = weights(p.beta2),
            .epsilon = float(p.epsilon),
            .weight_decay = float(p.weight_decay)};
}

// The operator's operands, and its results with nothing in the place of the direction.
struct Arrays {
    const float* operands[4];
    float* results[3];

    explicit Arrays(const Launch& launch)
        : operands{launch.in<float>(0), launch.in<float>(1), launch.in<float>(2), launch.in<float>(3)},
          results{nullptr, launch.out<float>(1), launch.out<float>(2)} {}
};

cpu::StepSquares squares_by_elements(const void* formula, const float* const* operands, float* const* results,
                                     int64_t begin, int64_t end) {
    auto& apply = *static_cast<const cpu::functor::LambDirection*>(formula);
    cpu::StepSquares sums;
    for (int64_t i = begin; i < end; ++i) {
        cpu::Scalar<float> x[4], y[3];
        for (int k = 0; k < 4; ++k) x[k].v = operands[k][i];
        apply(x, y);
        sums.param += double(x[0].v) * double(x[0].v);
        sums.direction += double(y[0].v) * double(y[0].v);
        results[1][i] = y[1].v;
        results[2][i] = y[2].v;
    }
    return sums;
}

// By how much the step is made longer.
float trust_ratio(const LambStep::Params& p, std::span<const cpu::StepSquares> blocks) {
    if (p.weight_decay == 0 && !p.always_adapt) return 1;
    cpu::StepSquares sums;
    for (auto& block : blocks) {
        sums.param += block.param;
        sums.direction += block.direction;
    }
    return sums.param > 0 && sums.direction > 0 ? float(std::sqrt(sums.param / sums.direction)) : 1;
}

Prepared prepare_step(const PrepareContext& context) {
    ProblemState<LambStep::Params> problem(context.problem);
    size_t workspace = size_t(block_count(problem.inputs[0].numel())) * sizeof(cpu::StepSquares);
    return Prepared::make(std::move(problem), workspace);
}

template <bool by_vectors>
void run_step(const Prepared& prepared, const Launch& launch) {
    auto& problem = prepared.state<ProblemState<LambStep::Params>>();
    int64_t elements = problem.inputs[0].numel(), blocks = block_count(elements);
    int threads = by_vectors ? launch.threads : 1;
    float count = launch.in<float>(4)[0] + 1;
    auto direction = direction_of(problem.params, count);
    Arrays arrays(launch);
    cpu::LambSquares sum = by_vectors ? cpu::lamb_squares() : squares_by_elements;
    auto* squares = static_cast<cpu::StepSquares*>(launch.workspace);
    par_for(threads, blocks, step_grain / block_elements, [&](int64_t begin, int64_t end) {
        for (int64_t b = begin; b < end; ++b)
            squares[b] = sum(&direction, arrays.operands, arrays.results, b * block_elements,
                             std::min(elements, (b + 1) * block_elements));
    });
    float rate = launch.in<float>(5)[0] * trust_ratio(problem.params, {squares, size_t(blocks)});
    cpu::functor::LambMove move{direction, rate};
    const float* operands[] = {arrays.operands[0], arrays.results[1], arrays.results[2]};
    float* results[] = {launch.out<float>(0)};
    using Move = cpu::functor::LambMove;
    cpu::StepRange range = by_vectors ? cpu::vector_step<Move>() : cpu::scalar_step<Move>;
    par_for(threads, elements, step_grain,
            [&](int64_t begin, int64_t end) { range(&move, operands, results, begin, end); });
    launch.out<float>(3)[0] = count;
}

}  // namespace

KernelList kernels(Cpu, LambStep) {
    static constexpr Algorithm list[] = {
        {"two_passes", plain_layouts, prepare_step, run_step<true>},
        {"reference", plain_layouts, prepare_step, run_step<false>, {.naive = true}}};
    return list;
}

}  // namespace mge::ops
