// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/quantize/quantize.h"

#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/quantize/quantisation.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge::ops {
namespace {

using StepTypes = Types<uint8_t, int8_t, int32_t>;

struct Conversion {
    DType steps;
    Channels channels;
    StepRange range{};
};

Prepared prepare_quantize(const PrepareContext& context) {
    auto& problem = context.problem;
    auto& p = problem.as<Quantize::Params>();
    return Prepared::make(Conversion{p.dtype, channels_of(problem.inputs[0].shape, problem.inputs[1].shape),
                                     step_range(Quantize::name, p.dtype, p.lower, p.upper)});
}

Prepared prepare_dequantize(const PrepareContext& context) {
    auto inputs = context.problem.inputs;
    return Prepared::make(Conversion{inputs[0].dtype, channels_of(inputs[0].shape, inputs[1].shape)});
}

// Calls fn(begin, end, scale, zero point) for parts of the tensor that lie in one channel.
template <class Fn>
void for_channels(const Channels& channels, const Launch& launch, Fn&& fn) {
    auto* scales = launch.in<float>(1);
    auto* zeros = launch.inputs.size() > 2 ? launch.in<int32_t>(2) : nullptr;
    auto zero = [&](int64_t c) { return zeros ? float(zeros[c]) : 0.f; };
    if (channels.outer * channels.count == 1)
        return par_for(launch.threads, channels.inner, parallel_grain,
                       [&](int64_t begin, int64_t end) { fn(begin, end, scales[0], zero(0)); });
    int64_t grain = std::max<int64_t>(1, parallel_grain / std::max<int64_t>(1, channels.inner));
    par_for(launch.threads, channels.outer * channels.count, grain, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
            int64_t c = row % channels.count;
            fn(row * channels.inner, (row + 1) * channels.inner, scales[c], zero(c));
        }
    });
}

void run_quantize(const Prepared& prepared, const Launch& launch) {
    auto& c = prepared.state<Conversion>();
    dispatch_dtype(c.steps, StepTypes{}, [&](auto type) {
        using T = typename decltype(type)::type;
        for_channels(c.channels, launch, [&](int64_t begin, int64_t end, float scale, float zero) {
            auto* x = launch.in<float>(0);
            float inverse = 1 / scale;
            for (int64_t i = begin; i < end; ++i)
                launch.out<T>(0)[i] = T(to_step(x[i], inverse, zero, c.range));
        });
    });
}

void run_dequantize(const Prepared& prepared, const Launch& launch) {
    auto& c = prepared.state<Conversion>();
    dispatch_dtype(c.steps, StepTypes{}, [&](auto type) {
        using T = typename decltype(type)::type;
        for_channels(c.channels, launch, [&](int64_t begin, int64_t end, float scale, float zero) {
            auto* x = launch.in<T>(0);
            for (int64_t i = begin; i < end; ++i) launch.out<float>(0)[i] = to_real(x[i], zero, scale);
        });
    });
}

}  // namespace

KernelList kernels(Cpu, Quantize) {
    static constexpr Algorithm list[] = {{"reference", plain_layouts, prepare_quantize, run_quantize}};
    return list;
}
KernelList kernels(Cpu, Dequantize) {
    static constexpr Algorithm list[] = {{"reference", plain_layouts, prepare_dequantize, run_dequantize}};
    return list;
}

}  // namespace mge::ops
