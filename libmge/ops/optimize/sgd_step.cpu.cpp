// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/optimize/sgd_step.h"

#include "libmge/ops/optimize/one_pass.cpu.h"

namespace mge::ops {
namespace {

struct Method {
    using Op = SgdStep;
    static constexpr int count_in = no_count;

    template <class Visit>
    static void with_formula(const Op::Params& p, const Launch& launch, float, Visit&& visit) {
        auto lr = launch.in<float>(3)[0], momentum = float(p.momentum), decay = float(p.weight_decay);
        if (p.momentum == 0) return visit(cpu::functor::SgdStep{.lr = lr, .weight_decay = decay});
        bool has_velocity = launch.inputs[2] != nullptr;
        if (p.nesterov && has_velocity) visit(cpu::functor::MomentumStep<true, true>{lr, momentum, decay});
        if (p.nesterov && !has_velocity) visit(cpu::functor::MomentumStep<false, true>{lr, momentum, decay});
        if (!p.nesterov && has_velocity) visit(cpu::functor::MomentumStep<true, false>{lr, momentum, decay});
        if (!p.nesterov && !has_velocity)
            visit(cpu::functor::MomentumStep<false, false>{lr, momentum, decay});
    }
};

}  // namespace

KernelList kernels(Cpu, SgdStep) { return one_pass_kernels<Method>(); }

}  // namespace mge::ops
