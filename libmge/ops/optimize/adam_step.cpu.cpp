// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/optimize/adam_step.h"

#include "libmge/ops/optimize/mean_weights.cpu.h"
#include "libmge/ops/optimize/one_pass.cpu.h"

namespace mge::ops {
namespace {

struct Method {
    using Op = AdamStep;
    static constexpr int count_in = 4, count_out = 3;

    template <bool decoupled>
    static cpu::functor::AdamStep<decoupled> formula(const Op::Params& p, const Launch& launch, float count) {
        return {.mean = mean_weights(p.beta1, count),
                .square = mean_weights(p.beta2, count),
                .epsilon = float(p.epsilon),
                .weight_decay = float(p.weight_decay),
                .lr = launch.in<float>(5)[0]};
    }
    template <class Visit>
    static void with_formula(const Op::Params& p, const Launch& launch, float count, Visit&& visit) {
        if (p.decoupled)
            visit(formula<true>(p, launch, count));
        else
            visit(formula<false>(p, launch, count));
    }
};

}  // namespace

KernelList kernels(Cpu, AdamStep) { return one_pass_kernels<Method>(); }

}  // namespace mge::ops
