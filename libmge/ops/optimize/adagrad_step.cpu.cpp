// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/optimize/adagrad_step.h"

#include "libmge/ops/optimize/one_pass.cpu.h"

namespace mge::ops {
namespace {

struct Method {
    using Op = AdagradStep;
    static constexpr int count_in = 3, count_out = 2;

    template <class Visit>
    static void with_formula(const Op::Params& p, const Launch& launch, float count, Visit&& visit) {
        float rate = launch.in<float>(4)[0] / (1 + (count - 1) * float(p.lr_decay));
        visit(cpu::functor::AdagradStep{
            .rate = rate, .epsilon = float(p.epsilon), .weight_decay = float(p.weight_decay)});
    }
};

}  // namespace

KernelList kernels(Cpu, AdagradStep) { return one_pass_kernels<Method>(); }

}  // namespace mge::ops
