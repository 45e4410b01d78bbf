// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/quantize/quantized_add.h"

#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/cpu/rows/quantise_rows.h"
#include "libmge/kernel/cpu/rows/step_rows.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/quantize/quantisation.h"

namespace mge::ops {
namespace {

struct State {
    int64_t count;
    DType a, b;
    StepRange range;
    bool relu;
    StepRounding rounding;
    bool rounds_shortly;
};

Prepared prepare(const PrepareContext& context) {
    auto& problem = context.problem;
    auto& p = problem.as<QuantizedAdd::Params>();
    constexpr size_t y_scale = 4;
    auto* scale =
        problem.is_constant(y_scale) ? static_cast<const float*>(context.constants[y_scale]) : nullptr;
    return Prepared::make(
        State{problem.inputs[0].shape.numel(), problem.inputs[0].dtype, problem.inputs[1].dtype,
              step_range(QuantizedAdd::name, p.dtype, p.lower, p.upper), p.relu, p.rounding,
              p.rounding == StepRounding::half_even && scale && cpu::rounds_shortly(*scale)});
}

cpu::StepSum sum_of(const State& s, const Launch& launch) {
    auto zero = [&](size_t i) {
        return i < launch.inputs.size() && launch.inputs[i] ? float(*launch.in<int32_t>(i)) : 0.f;
    };
    return {.a_scale = *launch.in<float>(2),
            .b_scale = *launch.in<float>(3),
            .y_scale = *launch.in<float>(4),
            .a_zero = zero(5),
            .b_zero = zero(6),
            .y_zero = zero(7),
            .lower = float(s.range.lower),
            .upper = float(s.range.upper),
            .is_a_signed = s.a == DType::i8,
            .is_b_signed = s.b == DType::i8,
            .relu = s.relu,
            .is_even = s.rounding == StepRounding::half_even,
            .is_short = s.rounds_shortly};
}

void run_reference(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    auto sum = sum_of(s, launch);
    auto at = [&](size_t input, bool is_signed, int64_t i) {
        return is_signed ? int32_t(launch.in<int8_t>(input)[i]) : int32_t(launch.in<uint8_t>(input)[i]);
    };
    for (int64_t i = 0; i < s.count; ++i) {
        float x = to_real(at(0, sum.is_a_signed, i), sum.a_zero, sum.a_scale) +
                  to_real(at(1, sum.is_b_signed, i), sum.b_zero, sum.b_scale);
        if (sum.relu) x = x > 0 ? x : 0;
        launch.out<uint8_t>(0)[i] = uint8_t(to_step(s.rounding, x, sum.y_scale, sum.y_zero, s.range));
    }
}

void run_rows(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    auto sum = sum_of(s, launch);
    par_for(launch.threads, s.count, parallel_grain, [&](int64_t begin, int64_t end) {
        cpu::quantise_rows().add(launch.in<uint8_t>(0) + begin, launch.in<uint8_t>(1) + begin,
                                 launch.out<uint8_t>(0) + begin, end - begin, sum);
    });
}

}  // namespace

KernelList kernels(Cpu, QuantizedAdd) {
    static constexpr Algorithm list[] = {
        {"rows", plain_layouts, prepare, run_rows},
        {"reference", plain_layouts, prepare, run_reference, {.naive = true}}};
    return list;
}

}  // namespace mge::ops
