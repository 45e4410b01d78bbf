// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/quantize/fake_quantize.h"

#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/quantize/convolution/channel_rows-inl.h"

namespace mge::ops {
namespace {

struct State {
    Channels channels;
    StepRange range;
    bool is_shifted_first;
};

Prepared prepare(const PrepareContext& context) {
    auto& problem = context.problem;
    auto& p = problem.as<FakeQuantize::Params>();
    return Prepared::make(State{Channels(problem.inputs[0].shape, problem.inputs[1].shape),
                                {p.lower, p.upper},
                                p.learning != ScaleLearning::none});
}

template <class Fn>
void for_parts(const State& s, const Launch& launch, Fn&& fn) {
    auto* zeros = launch.in_if_given<float>(2);
    for_channels(s.channels, launch.threads, launch.in<float>(1), zeros, s.range, fn);
}

void run_reference(const Prepared& prepared, const Launch& launch) {
    auto& state = prepared.state<State>();
    for_parts(state, launch, [&](int64_t begin, int64_t end, const cpu::Steps& s) {
        for (int64_t i = begin; i < end; ++i)
            launch.out<float>(0)[i] =
                as_of_step(launch.in<float>(0)[i], s.scale, s.zero, state.range, state.is_shifted_first);
    });
}

void run_rows(const Prepared& prepared, const Launch& launch) {
    auto& state = prepared.state<State>();
    auto how =
        state.is_shifted_first ? cpu::FakeSteps::shifted_then_rounded : cpu::FakeSteps::rounded_then_shifted;
    for_parts(state, launch, [&](int64_t begin, int64_t end, const cpu::Steps& s) {
        cpu::quantise_rows().fake(launch.in<float>(0) + begin, launch.out<float>(0) + begin, end - begin, s,
                                  how);
    });
}

}  // namespace

KernelList kernels(Cpu, FakeQuantize) {
    static constexpr Algorithm list[] = {
        {"rows", plain_layouts, prepare, run_rows},
        {"reference", plain_layouts, prepare, run_reference, {.naive = true}}};
    return list;
}

}  // namespace mge::ops
