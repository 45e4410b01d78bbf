// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/random/distribution.h"

#include <cmath>

#include "libmge/kernel/cuda/launch.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/random/distribution.cuda.h"
#include "libmge/ops/random/random_state.h"

namespace mge::ops {
namespace {

struct UniformNumbers {
    int64_t count;
    cuda::UniformRange range;
};

Prepared prepare_uniform(const PrepareContext& context) {
    auto& p = context.problem.as<Uniform::Params>();
    float low = float(p.low), high = float(p.high);
    return Prepared::make(
        UniformNumbers{context.problem.outputs[0].numel(), {low, high - low, std::nextafter(high, low)}});
}

void run_uniform(const Prepared& prepared, const Launch& launch) {
    auto& [count, range] = prepared.state<UniformNumbers>();
    if (count == 0) return;
    cuda::fill_uniform(cuda::stream_of(launch), launch.in<int32_t>(0), unsigned(RandomStream::uniform), count,
                       range, launch.out<float>(0));
}

struct NormalNumbers {
    int64_t count;
    float mean, deviation;
};

Prepared prepare_normal(const PrepareContext& context) {
    auto& p = context.problem.as<Normal::Params>();
    return Prepared::make(NormalNumbers{context.problem.outputs[0].numel(), float(p.mean), float(p.std)});
}

void run_normal(const Prepared& prepared, const Launch& launch) {
    auto& [count, mean, deviation] = prepared.state<NormalNumbers>();
    if (count == 0) return;
    cuda::fill_normal(cuda::stream_of(launch), launch.in<int32_t>(0), unsigned(RandomStream::normal), count,
                      mean, deviation, launch.out<float>(0));
}

}  // namespace

KernelList kernels(Cuda, Uniform) { return one_algorithm<prepare_uniform, run_uniform>("philox"); }
KernelList kernels(Cuda, Normal) { return one_algorithm<prepare_normal, run_normal>("philox"); }

}  // namespace mge::ops
