// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/optimize/adam_step.h"

#include <cmath>

#include "libmge/ops/optimize/one_pass.cpu.h"

namespace mge::ops {
namespace {

struct Method {
    using Op = AdamStep;
    static constexpr int count_in = 4, count_out = 3;

    template <bool decoupled>
    static cpu::functor::AdamStep<decoupled> formula(const Op::Params& p, const Launch& launch, float count) {
        return {.beta1 = float(p.beta1),
                .beta2 = float(p.beta2),
                .epsilon = float(p.epsilon),
                .weight_decay = float(p.weight_decay),
                .lr = launch.in<float>(5)[0],
                .correction1 = float(1 / (1 - std::pow(p.beta1, double(count)))),
                .correction2 = float(1 / (1 - std::pow(p.beta2, double(count))))};
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
