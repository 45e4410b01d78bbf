// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/optimize/adadelta_step.h"

#include "libmge/ops/optimize/one_pass.cpu.h"

namespace mge::ops {
namespace {

struct Method {
    using Op = AdadeltaStep;
    static constexpr int count_in = 4, count_out = 3;

    template <class Visit>
    static void with_formula(const Op::Params& p, const Launch& launch, float, Visit&& visit) {
        visit(cpu::functor::AdadeltaStep{.lr = launch.in<float>(5)[0],
                                         .rho = float(p.rho),
                                         .rest = float(1 - p.rho),
                                         .epsilon = float(p.epsilon),
                                         .weight_decay = float(p.weight_decay)});
    }
};

}  // namespace

KernelList kernels(Cpu, AdadeltaStep) { return one_pass_kernels<Method>(); }

}  // namespace mge::ops
