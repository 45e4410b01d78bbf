// SPDX-License-Identifier: Apache-2.0
// The cost of one small operator from C++.
#include <benchmark/benchmark.h>

#include <vector>

#include "libmge/eager/tape.h"
#include "libmge/mge.h"

namespace {

mge::Tensor ones(mge::Shape shape) {
    mge::TensorSpec spec{mge::DType::f32, shape, {}};
    return mge::tensor_from_host(spec, std::vector<float>(size_t(spec.numel()), 1.0F).data());
}

void add(benchmark::State& state) {
    mge::Tensor a = ones({state.range(0), state.range(0)});
    mge::Tensor b = ones({state.range(0), state.range(0)});
    for (auto _ : state) benchmark::DoNotOptimize(mge::ops::add(a, b));
}
BENCHMARK(add)->Arg(4)->Arg(64);

void reshape(benchmark::State& state) {
    mge::Tensor x = ones({4, 4});
    for (auto _ : state) benchmark::DoNotOptimize(mge::ops::reshape(x, {.shape = {16}}));
}
BENCHMARK(reshape);

// Records a chain of adds, sums it up and goes back; the counter says the time of one operator, forward and
// backward.
void add_and_backward(benchmark::State& state) {
    constexpr int chain = 16;
    mge::Tensor b = ones({4, 4}), value = ones({4, 4});
    for (auto _ : state) {
        mge::Tape tape;
        mge::Tensor x = tape.attach(value);
        tape.start();
        for (int i = 0; i < chain; ++i) x = mge::ops::add(x, b);
        mge::Tensor y = mge::ops::sum(x);
        mge::Tensor dy;
        benchmark::DoNotOptimize(tape.backward({&y, 1}, {&dy, 1}));
    }
    state.counters["per_operator"] = benchmark::Counter(
        double(state.iterations()) * (chain + 1), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(add_and_backward);

}  // namespace

BENCHMARK_MAIN();
