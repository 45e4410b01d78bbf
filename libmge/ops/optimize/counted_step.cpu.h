// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the kernels of optimizers that count their steps have in common: every element of the parameter and
// of its state is computed by itself, with factors that are the same for all, and the count goes up by one.
//
//     struct Method {
//         using Op = AdamStep;
//         static constexpr int count_in = 4, count_out = 3;  // which input and output hold the count
//         static constexpr int64_t nanoseconds = 2;          // that an element takes, about
//         static Factors factors(const Op::Params&, const Launch&, float count);  // `count`: the new one
//         static StepPart<Factors> part(const Op::Params&);
//     };

#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/plain_layouts.h"

namespace mge::ops {

// The elements from `begin` up to `end`.
template <class Factors>
using StepPart = void (*)(const Factors&, const Launch&, int64_t begin, int64_t end);

template <class Method>
void run_counted_step(const Prepared& prepared, const Launch& launch) {
    auto& problem = prepared.state<ProblemState<typename Method::Op::Params>>();
    float count = launch.in<float>(Method::count_in)[0] + 1;
    auto factors = Method::factors(problem.params, launch, count);
    auto* part = Method::part(problem.params);
    par_for(launch.threads, problem.inputs[0].numel(), parallel_grain / Method::nanoseconds,
            [&](int64_t begin, int64_t end) { part(factors, launch, begin, end); });
    launch.out<float>(Method::count_out)[0] = count;
}

template <class Method>
KernelList counted_step_kernels() {
    static constexpr Algorithm list[] = {
        {"one_pass", plain_layouts, copy_problem<typename Method::Op::Params>, run_counted_step<Method>}};
    return list;
}

}  // namespace mge::ops
