// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cpu/in_f32.h"

#include <algorithm>
#include <array>

#include "libmge/base/error.h"
#include "libmge/device/device.h"
#include "libmge/kernel/cpu/half.h"
#include "libmge/kernel/cpu/parallel.h"

namespace mge::cpu {
namespace {

constexpr std::string_view prefix = "f32:";
// A candidate's id: which algorithm of the list, and that one's own id below.
constexpr int algorithm_shift = 32;
constexpr uint64_t own_id = (uint64_t(1) << algorithm_shift) - 1;

constexpr size_t alignment = 64;
size_t aligned(size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

// More operands than any operator has that uses this.
constexpr size_t max_operands = 12;

// About this many conversions take as long as one element of other loops.
constexpr int64_t conversions_per_element = 8;

bool is_half(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

// The same problem with f32 in place of half precision.
struct Widened {
    explicit Widened(const Problem& p)
        : inputs(p.inputs.begin(), p.inputs.end()), outputs(p.outputs.begin(), p.outputs.end()), problem(p) {
        for (auto* specs : {&inputs, &outputs})
            for (auto& spec : *specs)
                if (is_half(spec.dtype)) spec.dtype = DType::f32;
        problem.inputs = inputs;
        problem.outputs = outputs;
    }
    Widened(const Widened&) = delete;
    Widened& operator=(const Widened&) = delete;

    TensorSpecs inputs, outputs;
    Problem problem;
};

// One operand: half precision outside, f32 inside. Kept as it is when `half` is none.
struct Operand {
    DType half = DType::none;
    int64_t elements = 0;  // padding of blocked layouts included
    size_t offset = 0;     // of the f32 values in the workspace
    bool is_constant = false;
    const float* constant = nullptr;  // null too when the algorithm inside has its own copy
};

struct State {
    const Algorithm* algorithm = nullptr;
    Prepared inner;
    std::vector<Operand> inputs, outputs;
    std::vector<StorageRef> constants;  // by input; null for those that are not widened ahead
    size_t inner_workspace = 0;         // offset
};

Operand operand_of(const TensorSpec& spec) {
    if (!is_half(spec.dtype)) return {};
    return {spec.dtype, int64_t(spec.bytes() / size_of(spec.dtype))};
}

template <class H>
void convert(int threads, int64_t n, const H* from, float* to) {
    par_for(threads, n, conversions_per_element * parallel_grain,
            [&](int64_t begin, int64_t end) { halves_to_floats(from + begin, to + begin, end - begin); });
}
template <class H>
void convert(int threads, int64_t n, const float* from, H* to) {
    par_for(threads, n, conversions_per_element * parallel_grain,
            [&](int64_t begin, int64_t end) { floats_to_halves(from + begin, to + begin, end - begin); });
}

void widen(const Operand& operand, int threads, const void* from, float* to) {
    if (operand.half == DType::f16)
        convert(threads, operand.elements, static_cast<const Half*>(from), to);
    else
        convert(threads, operand.elements, static_cast<const BFloat16*>(from), to);
}
void narrow(const Operand& operand, int threads, const float* from, void* to) {
    if (operand.half == DType::f16)
        convert(threads, operand.elements, from, static_cast<Half*>(to));
    else
        convert(threads, operand.elements, from, static_cast<BFloat16*>(to));
}

// Widened copies of the constants; returns what the algorithm inside is given for each input.
std::vector<const void*> widen_constants(State& state, const PrepareContext& context) {
    std::vector<const void*> given(context.constants.begin(), context.constants.end());
    for (size_t i = 0; i < given.size() && i < state.inputs.size(); ++i) {
        Operand& operand = state.inputs[i];
        if (!given[i] || operand.half == DType::none) continue;
        state.constants[i] = queue_of(host_device).allocate(size_t(operand.elements) * sizeof(float));
        auto* values = static_cast<float*>(state.constants[i]->data);
        widen(operand, context.problem.threads, given[i], values);
        operand.is_constant = true;
        given[i] = operand.constant = values;
    }
    return given;
}

// Widened values are given up when the algorithm inside made its own copy of them.
PackedInputs packed_inputs(State& state) {
    PackedInputs packed = state.inner.packed();
    for (size_t i = 0; i < state.inputs.size(); ++i) {
        Operand& operand = state.inputs[i];
        if (packed.inputs >> i & 1) {
            state.constants[i] = {};
            operand.constant = nullptr;
        }
        if (!operand.constant) continue;
        packed.pieces.push_back({operand.constant, size_t(operand.elements) * sizeof(float)});
        packed.inputs |= 1u << i;
    }
    return packed;
}

// Where the f32 values lie in the workspace that come and go with each run; returns the end.
size_t place_operands(State& state) {
    size_t end = 0;
    for (auto* operands : {&state.inputs, &state.outputs})
        for (auto& operand : *operands) {
            operand.offset = end;
            if (!operand.is_constant) end += aligned(size_t(operand.elements) * sizeof(float));
        }
    return end;
}

}  // namespace

Support supports_in_f32(const Problem& problem, KernelList list) {
    bool any = false;
    for (auto specs : {problem.inputs, problem.outputs})
        for (auto& spec : specs) any = any || is_half(spec.dtype);
    if (!any) return {"f16 and bf16 only"};
    Widened widened(problem);
    for (auto& algorithm : list)
        if (!algorithm.attributes.naive && algorithm.supports(widened.problem)) return supported;
    return {"no algorithm but the reference computes it in f32"};
}

std::vector<Candidate> candidates_in_f32(const Problem& problem, KernelList list) {
    Widened widened(problem);
    std::vector<Candidate> result;
    for (size_t i = 0; i < list.size(); ++i) {
        auto& algorithm = list[i];
        if (algorithm.attributes.naive || !algorithm.supports(widened.problem)) continue;
        std::vector<Candidate> members{{algorithm.name, 0, algorithm.attributes}};
        if (algorithm.candidates) members = algorithm.candidates(widened.problem);
        for (auto& member : members)
            result.push_back({std::string(prefix) + member.name, uint64_t(i) << algorithm_shift | member.id,
                              member.attributes});
    }
    return result;
}

Prepared prepare_in_f32(const PrepareContext& context, KernelList list) {
    auto& p = context.problem;
    MGE_CHECK(p.inputs.size() <= max_operands && p.outputs.size() <= max_operands, "too many operands");
    Widened widened(p);
    State state;
    state.algorithm = &list[context.candidate.id >> algorithm_shift];
    for (auto& spec : p.inputs) state.inputs.push_back(operand_of(spec));
    for (auto& spec : p.outputs) state.outputs.push_back(operand_of(spec));
    state.constants.resize(state.inputs.size());
    auto constants = widen_constants(state, context);
    Candidate inner{context.candidate.name.substr(prefix.size()), context.candidate.id & own_id,
                    context.candidate.attributes};
    state.inner = state.algorithm->prepare({widened.problem, inner, constants});
    PackedInputs packed = packed_inputs(state);
    state.inner_workspace = place_operands(state);
    size_t workspace = state.inner_workspace + state.inner.workspace();
    return Prepared::make(std::move(state), workspace, std::move(packed));
}

void run_in_f32(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    auto* workspace = static_cast<char*>(launch.workspace);
    std::array<const void*, max_operands> inputs;
    std::array<void*, max_operands> outputs;
    for (size_t i = 0; i < launch.inputs.size(); ++i) {
        auto& operand = s.inputs[i];
        inputs[i] = operand.is_constant ? operand.constant : launch.inputs[i];
        if (operand.is_constant || operand.half == DType::none || !inputs[i]) continue;
        widen(operand, launch.threads, inputs[i], reinterpret_cast<float*>(workspace + operand.offset));
        inputs[i] = workspace + operand.offset;
    }
    for (size_t i = 0; i < launch.outputs.size(); ++i)
        outputs[i] = s.outputs[i].half == DType::none ? launch.outputs[i] : workspace + s.outputs[i].offset;
    s.algorithm->run(s.inner, {{inputs.data(), launch.inputs.size()},
                               {outputs.data(), launch.outputs.size()},
                               workspace + s.inner_workspace,
                               launch.threads});
    for (size_t i = 0; i < launch.outputs.size(); ++i)
        if (s.outputs[i].half != DType::none)
            narrow(s.outputs[i], launch.threads, static_cast<const float*>(outputs[i]), launch.outputs[i]);
}

}  // namespace mge::cpu
