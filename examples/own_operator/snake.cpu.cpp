// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "snake.h"

namespace example {

using namespace mge;

namespace {

// The state for runs. It is made once for each problem, not in every run.
struct State {
    int64_t elements;
    double alpha;
    DType dtype;
};

Prepared prepare(const PrepareContext& context) {
    auto& problem = context.problem;
    return Prepared::make(
        State{problem.inputs[0].numel(), problem.as<Snake::Params>().alpha, problem.inputs[0].dtype});
}

// The reference comes first: obvious, slow, for every dtype. Other kernels are compared with it.
void run_reference(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    dispatch_dtype(s.dtype, FloatTypes{}, [&](auto type) {
        using T = typename decltype(type)::type;
        for (int64_t i = 0; i < s.elements; ++i) {
            double x = float(launch.in<T>(0)[i]), sine = std::sin(s.alpha * x);
            launch.out<T>(0)[i] = T(float(x + sine * sine / s.alpha));
        }
    });
}

// Why an algorithm does not take a problem is shown by MGE_LOG=dispatch.
Support supports_f32(const Problem& problem) {
    if (problem.inputs[0].dtype != DType::f32) return {"only f32"};
    return plain_layouts(problem);
}

// sin²(a) = (1 − cos 2a) / 2, in single precision and on all threads. A sine costs about ten plain elements.
constexpr int64_t sine_cost = 10;

void run_parallel(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    const float* x = launch.in<float>(0);
    float* y = launch.out<float>(0);
    auto twice = float(2 * s.alpha), half = float(0.5 / s.alpha);
    par_for(launch.threads, s.elements, parallel_grain / sine_cost, [=](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) y[i] = x[i] + half * (1 - std::cos(twice * x[i]));
    });
}

}  // namespace

// In order of preference, the reference last. Fast-run measures those that are not naive and takes the
// fastest.
KernelList kernels(Cpu, Snake) {
    static constexpr Algorithm list[] = {
        {"snake_parallel", supports_f32, prepare, run_parallel},
        {"snake_reference", plain_layouts, prepare, run_reference},
    };
    return list;
}

}  // namespace example
