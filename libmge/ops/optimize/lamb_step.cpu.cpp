// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/optimize/lamb_step.h"

#include <algorithm>
#include <cmath>

#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/plain_layouts.h"

namespace mge::ops {
namespace {

constexpr int64_t nanoseconds_per_element = 2;
// Squares are summed in blocks of this size and the blocks in their order, so that the number of threads does
// not show.
constexpr int64_t block_elements = 4096;

struct Squares {
    double param = 0, step = 0;
};

int64_t block_count(int64_t elements) { return (elements + block_elements - 1) / block_elements; }

// The step of Adam with decoupled decay, and its means.
class Direction {
public:
    Direction(const LambStep::Params& p, const Launch& launch, float count)
        : beta1_(float(p.beta1)),
          beta2_(float(p.beta2)),
          epsilon_(float(p.epsilon)),
          weight_decay_(float(p.weight_decay)),
          correction1_(p.bias_correction ? float(1 / (1 - std::pow(p.beta1, double(count)))) : 1),
          correction2_(p.bias_correction ? float(1 / (1 - std::pow(p.beta2, double(count)))) : 1),
          param_(launch.in<float>(0)),
          grad_(launch.in<float>(1)),
          mean_(launch.in<float>(2)),
          square_(launch.in<float>(3)),
          new_mean_(launch.out<float>(1)),
          new_square_(launch.out<float>(2)) {}

    void update_means(int64_t i) const {
        new_mean_[i] = beta1_ * mean_[i] + (1 - beta1_) * grad_[i];
        new_square_[i] = beta2_ * square_[i] + (1 - beta2_) * grad_[i] * grad_[i];
    }
    // Reads the new means.
    float operator[](int64_t i) const {
        return new_mean_[i] * correction1_ / (std::sqrt(new_square_[i] * correction2_) + epsilon_) +
               weight_decay_ * param_[i];
    }
    float param(int64_t i) const { return param_[i]; }

private:
    float beta1_, beta2_, epsilon_, weight_decay_, correction1_, correction2_;
    const float *param_, *grad_, *mean_, *square_;
    float *new_mean_, *new_square_;
};

Squares update_block(const Direction& direction, int64_t begin, int64_t end) {
    Squares sums;
    for (int64_t i = begin; i < end; ++i) {
        direction.update_means(i);
        double p = direction.param(i), step = direction[i];
        sums.param += p * p;
        sums.step += step * step;
    }
    return sums;
}

// By how much the step is made longer.
float trust_ratio(const LambStep::Params& p, std::span<const Squares> blocks) {
    if (p.weight_decay == 0 && !p.always_adapt) return 1;
    Squares sums;
    for (auto& block : blocks) {
        sums.param += block.param;
        sums.step += block.step;
    }
    return sums.param > 0 && sums.step > 0 ? float(std::sqrt(sums.param / sums.step)) : 1;
}

Prepared prepare_step(const PrepareContext& context) {
    ProblemState<LambStep::Params> problem(context.problem);
    size_t workspace = size_t(block_count(problem.inputs[0].numel())) * sizeof(Squares);
    return Prepared::make(std::move(problem), workspace);
}

void run_step(const Prepared& prepared, const Launch& launch) {
    auto& problem = prepared.state<ProblemState<LambStep::Params>>();
    int64_t elements = problem.inputs[0].numel(), blocks = block_count(elements);
    float count = launch.in<float>(4)[0] + 1;
    Direction direction(problem.params, launch, count);
    auto* squares = static_cast<Squares*>(launch.workspace);
    par_for(launch.threads, blocks, std::max<int64_t>(1, parallel_grain / block_elements),
            [&](int64_t begin, int64_t end) {
                for (int64_t b = begin; b < end; ++b)
                    squares[b] = update_block(direction, b * block_elements,
                                              std::min(elements, (b + 1) * block_elements));
            });
    float rate = launch.in<float>(5)[0] * trust_ratio(problem.params, {squares, size_t(blocks)});
    float* y = launch.out<float>(0);
    par_for(launch.threads, elements, parallel_grain / nanoseconds_per_element,
            [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) y[i] = direction.param(i) - rate * direction[i];
            });
    launch.out<float>(3)[0] = count;
}

}  // namespace

KernelList kernels(Cpu, LambStep) {
    static constexpr Algorithm list[] = {{"two_passes", plain_layouts, prepare_step, run_step}};
    return list;
}

}  // namespace mge::ops
