// SPDX-License-Identifier: Apache-2.0
// What one small operator costs from C++.
#include <benchmark/benchmark.h>

#include <vector>

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

}  // namespace

BENCHMARK_MAIN();
