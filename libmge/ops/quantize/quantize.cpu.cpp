// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/quantize/quantize.h"

#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/quantize/convolution/channel_rows-inl.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge::ops {
namespace {

using StepTypes = Types<uint8_t, int8_t, int32_t>;

struct Conversion {
    DType steps;
    Channels channels;
    StepRange range{};
    StepRounding rounding{};
};

Prepared prepare_quantize(const PrepareContext& context) {
    auto& problem = context.problem;
    auto& p = problem.as<Quantize::Params>();
    return Prepared::make(Conversion{p.dtype, Channels(problem.inputs[0].shape, problem.inputs[1].shape),
                                     step_range(Quantize::name, p.dtype, p.lower, p.upper), p.rounding});
}

Prepared prepare_dequantize(const PrepareContext& context) {
    auto inputs = context.problem.inputs;
    return Prepared::make(Conversion{inputs[0].dtype, Channels(inputs[0].shape, inputs[1].shape)});
}

template <class Fn>
void for_parts(const Conversion& c, const Launch& launch, Fn&& fn) {
    auto* zeros = launch.in_if_given<int32_t>(2);
    for_channels(c.channels, launch.threads, launch.in<float>(1), zeros, c.range, fn);
}

void run_quantize(const Prepared& prepared, const Launch& launch) {
    auto& c = prepared.state<Conversion>();
    dispatch_dtype(c.steps, StepTypes{}, [&]<class T>(std::type_identity<T>) {
        for_parts(c, launch, [&](int64_t begin, int64_t end, const cpu::Steps& s) {
            auto* x = launch.in<float>(0);
            for (int64_t i = begin; i < end; ++i)
                launch.out<T>(0)[i] = T(to_step(c.rounding, x[i], s.scale, s.zero, c.range));
        });
    });
}

void run_dequantize(const Prepared& prepared, const Launch& launch) {
    auto& c = prepared.state<Conversion>();
    dispatch_dtype(c.steps, StepTypes{}, [&]<class T>(std::type_identity<T>) {
        for_parts(c, launch, [&](int64_t begin, int64_t end, const cpu::Steps& s) {
            auto* x = launch.in<T>(0);
            for (int64_t i = begin; i < end; ++i) launch.out<float>(0)[i] = to_real(x[i], s.zero, s.scale);
        });
    });
}

Support supports_rows(const Problem& problem) {
    if (problem.outputs[0].dtype == DType::i32) return {"steps of a byte only"};
    return plain_layouts(problem);
}

void run_quantize_rows(const Prepared& prepared, const Launch& launch) {
    auto& c = prepared.state<Conversion>();
    auto& rows = cpu::quantise_rows();
    bool is_even = c.rounding == StepRounding::half_even;
    auto* to_u8 = is_even ? rows.to_even_u8 : rows.to_u8;
    auto* to_i8 = is_even ? rows.to_even_i8 : rows.to_i8;
    for_parts(c, launch, [&](int64_t begin, int64_t end, const cpu::Steps& s) {
        auto* x = launch.in<float>(0) + begin;
        if (c.steps == DType::u8)
            to_u8(x, launch.out<uint8_t>(0) + begin, end - begin, s);
        else
            to_i8(x, launch.out<int8_t>(0) + begin, end - begin, s);
    });
}

void run_dequantize_rows(const Prepared& prepared, const Launch& launch) {
    auto& c = prepared.state<Conversion>();
    auto& rows = cpu::quantise_rows();
    for_parts(c, launch, [&](int64_t begin, int64_t end, const cpu::Steps& s) {
        float* y = launch.out<float>(0) + begin;
        if (c.steps == DType::u8)
            rows.from_u8(launch.in<uint8_t>(0) + begin, y, end - begin, s);
        else if (c.steps == DType::i8)
            rows.from_i8(launch.in<int8_t>(0) + begin, y, end - begin, s);
        else
            rows.from_i32(launch.in<int32_t>(0) + begin, y, end - begin, s);
    });
}

}  // namespace

KernelList kernels(Cpu, Quantize) {
    static constexpr Algorithm list[] = {
        {"rows", supports_rows, prepare_quantize, run_quantize_rows},
        {"reference", plain_layouts, prepare_quantize, run_quantize, {.naive = true}}};
    return list;
}
KernelList kernels(Cpu, Dequantize) {
    static constexpr Algorithm list[] = {
        {"rows", plain_layouts, prepare_dequantize, run_dequantize_rows},
        {"reference", plain_layouts, prepare_dequantize, run_dequantize, {.naive = true}}};
    return list;
}

}  // namespace mge::ops
