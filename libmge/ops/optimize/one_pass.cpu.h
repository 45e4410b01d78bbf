// SPDX-License-Identifier: Apache-2.0
#pragma once
// Common part of the kernels of most optimizers: every element of the parameter and of its state is computed
// independently, by a formula of kernel/scalar/optimizer.inc whose factors are the same for all.
//
//     struct Method {
//         using Op = AdamStep;
//         static constexpr int count_in = 4, count_out = 3;  // which input and output count the steps;
//         no_count
//         // Calls visit(formula) with that of this call; `count` is the new one.
//         template <class Visit>
//         static void with_formula(const Op::Params&, const Launch&, float count, Visit&& visit);
//     };

#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/cpu/rows/optimizer_steps.h"
#include "libmge/kernel/plain_layouts.h"

namespace mge::ops {

inline constexpr int no_count = -1;

// An element is some 20 bytes of traffic, about half a nanosecond.
inline constexpr int64_t step_grain = 2 * parallel_grain;

// The operands and results of a formula are the first ones of the operator.
template <class Formula>
struct StepArrays {
    const float* operands[Formula::operands];
    float* results[Formula::results];

    explicit StepArrays(const Launch& launch) {
        for (int k = 0; k < Formula::operands; ++k) operands[k] = launch.in<float>(k);
        for (int k = 0; k < Formula::results; ++k) results[k] = launch.out<float>(k);
    }
};

template <class Method, bool by_vectors>
void run_one_pass(const Prepared& prepared, const Launch& launch) {
    auto& problem = prepared.state<ProblemState<typename Method::Op::Params>>();
    constexpr bool has_count = Method::count_in != no_count;
    float count = 0;
    if constexpr (has_count) count = launch.in<float>(Method::count_in)[0] + 1;
    Method::with_formula(problem.params, launch, count, [&](auto formula) {
        using Formula = decltype(formula);
        StepArrays<Formula> arrays(launch);
        cpu::StepRange range = cpu::scalar_step<Formula>;
        if constexpr (by_vectors) range = cpu::vector_step<Formula>();
        int64_t elements = problem.inputs[0].numel();
        par_for(by_vectors ? launch.threads : 1, elements, step_grain, [&](int64_t begin, int64_t end) {
            range(&formula, arrays.operands, arrays.results, begin, end);
        });
    });
    if constexpr (has_count) launch.out<float>(Method::count_out)[0] = count;
}

template <class Method>
KernelList one_pass_kernels() {
    using Params = typename Method::Op::Params;
    static constexpr Algorithm list[] = {
        {"one_pass", plain_layouts, copy_problem<Params>, run_one_pass<Method, true>},
        {"reference", plain_layouts, copy_problem<Params>, run_one_pass<Method, false>, {.naive = true}}};
    return list;
}

}  // namespace mge::ops
