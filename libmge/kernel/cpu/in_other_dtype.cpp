// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cpu/in_other_dtype.h"

#include <algorithm>
#include <array>

#include "libmge/base/error.h"
#include "libmge/base/numbers/ceil_div.h"
#include "libmge/device/device.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/cpu/rows/half.h"

namespace mge::cpu {
namespace {

// A candidate's id: which algorithm of the list, and that one's own id below.
constexpr int algorithm_shift = 32;
constexpr uint64_t own_id = (uint64_t(1) << algorithm_shift) - 1;

constexpr size_t alignment = 64;
size_t aligned(size_t bytes) { return round_up(bytes, alignment); }

// More operands than any operator has that uses this.
constexpr size_t max_operands = 12;

// About this many conversions take as long as one element of other loops.
constexpr int64_t conversions_per_element = 8;

constexpr size_t factors = 2;

// The same problem with the dtypes inside.
struct Inside {
    Inside(const OtherDType& way, const Problem& p)
        : inputs(p.inputs.begin(), p.inputs.end()), outputs(p.outputs.begin(), p.outputs.end()), problem(p) {
        for (size_t i = 0; i < inputs.size(); ++i) inputs[i].dtype = way.inside(inputs[i].dtype, i < factors);
        for (auto& spec : outputs) spec.dtype = way.inside(spec.dtype, false);
        problem.inputs = inputs;
        problem.outputs = outputs;
        problem.precision = Precision::strict;  // so that families are not nested
    }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

    TensorSpecs inputs, outputs;
    Problem problem;
};

// One operand, with an outer and an inner dtype. Not converted if they are equal.
struct Operand {
    DType outside = DType::none, inside = DType::none;
    int64_t elements = 0;  // padding of blocked layouts included
    size_t offset = 0;     // offset of the converted values in the workspace
    bool is_constant = false;
    const void* constant = nullptr;  // also null if the inner algorithm has its own copy

    bool is_converted() const { return outside != inside; }
    size_t bytes() const { return size_t(elements) * size_of(inside); }
};

struct State {
    const Algorithm* algorithm = nullptr;
    Prepared inner;
    std::vector<Operand> inputs, outputs;
    std::vector<StorageRef> constants;  // by input; null for those that are not converted ahead
    size_t inner_workspace = 0;         // offset
};

Operand operand_of(const TensorSpec& outside, const TensorSpec& inside) {
    if (outside.dtype == inside.dtype) return {};
    return {outside.dtype, inside.dtype, int64_t(outside.bytes() / size_of(outside.dtype))};
}

template <class H>
void widen(int threads, int64_t n, const void* from, void* to) {
    auto* halves = static_cast<const H*>(from);
    auto* floats = static_cast<float*>(to);
    par_for(threads, n, conversions_per_element * parallel_grain, [&](int64_t begin, int64_t end) {
        halves_to_floats(halves + begin, floats + begin, end - begin);
    });
}
template <class H>
void narrow(int threads, int64_t n, const void* from, void* to) {
    auto* floats = static_cast<const float*>(from);
    auto* halves = static_cast<H*>(to);
    par_for(threads, n, conversions_per_element * parallel_grain, [&](int64_t begin, int64_t end) {
        floats_to_halves(floats + begin, halves + begin, end - begin);
    });
}

// One of the two is f32.
void convert(DType from_dtype, DType to_dtype, int64_t n, int threads, const void* from, void* to) {
    if (to_dtype == DType::f32)
        (from_dtype == DType::f16 ? widen<Half> : widen<BFloat16>)(threads, n, from, to);
    else
        (to_dtype == DType::f16 ? narrow<Half> : narrow<BFloat16>)(threads, n, from, to);
}
void enter(const Operand& o, int threads, const void* from, void* to) {
    convert(o.outside, o.inside, o.elements, threads, from, to);
}
void leave(const Operand& o, int threads, const void* from, void* to) {
    convert(o.inside, o.outside, o.elements, threads, from, to);
}

// Converts copies of the constants; returns the values that the inner algorithm gets for each input.
std::vector<const void*> convert_constants(State& state, const PrepareContext& context) {
    std::vector<const void*> given(context.constants.begin(), context.constants.end());
    for (size_t i = 0; i < given.size() && i < state.inputs.size(); ++i) {
        Operand& operand = state.inputs[i];
        if (!given[i] || !operand.is_converted()) continue;
        state.constants[i] = queue_of(host_device).allocate(operand.bytes());
        void* values = state.constants[i]->data;
        enter(operand, context.problem.threads, given[i], values);
        operand.is_constant = true;
        given[i] = operand.constant = values;
    }
    return given;
}

// Converted values are freed if the inner algorithm made its own copy of them.
PackedInputs packed_inputs(State& state) {
    PackedInputs packed = state.inner.packed();
    for (size_t i = 0; i < state.inputs.size(); ++i) {
        Operand& operand = state.inputs[i];
        if (packed.inputs >> i & 1) {
            state.constants[i] = {};
            operand.constant = nullptr;
        }
        if (!operand.constant) continue;
        packed.pieces.push_back({operand.constant, operand.bytes()});
        packed.inputs |= 1u << i;
    }
    return packed;
}

// Assigns positions in the workspace to the converted values of a run; returns the end.
size_t place_operands(State& state) {
    size_t end = 0;
    for (auto* operands : {&state.inputs, &state.outputs})
        for (auto& operand : *operands) {
            operand.offset = end;
            if (!operand.is_constant) end += aligned(operand.bytes());
        }
    return end;
}

}  // namespace

const OtherDType in_wide{"f32:", [](DType outside, bool) { return is_half(outside) ? DType::f32 : outside; }};
const OtherDType in_rounded{"bf16:", [](DType outside, bool is_factor) {
                                return is_factor && outside == DType::f32 ? DType::bf16 : outside;
                            }};

Support allows_bf16(const Problem& problem, Bf16Unit unit) {
    if (problem.precision == Precision::strict) return {"strict f32 only"};
    bool has_tiles = cpu_isa() >= Isa::amx;
    if (cpu_isa() < Isa::avx512_bf16) return {"no instructions for bf16"};
    return has_tiles == (unit == Bf16Unit::tiles) ? supported : Support{"another unit computes bf16"};
}

std::vector<Candidate> with_unit(std::vector<Candidate> candidates, Bf16Unit unit) {
    if (unit == Bf16Unit::tiles)
        std::erase_if(candidates, [](auto& c) { return c.name.find("amx") == std::string::npos; });
    return candidates;
}

Support supports_in(const OtherDType& way, const Problem& problem, KernelList list) {
    Inside inside(way, problem);
    auto same = [](auto& a, auto& b) { return a.dtype == b.dtype; };
    if (std::ranges::equal(problem.inputs, inside.inputs, same) &&
        std::ranges::equal(problem.outputs, inside.outputs, same))
        return {"no operand to convert"};
    for (auto& algorithm : list)
        if (!algorithm.attributes.naive && algorithm.supports(inside.problem)) return supported;
    return {"no algorithm but the reference computes it in that dtype"};
}

std::vector<Candidate> candidates_in(const OtherDType& way, const Problem& problem, KernelList list) {
    Inside inside(way, problem);
    std::vector<Candidate> result;
    for (size_t i = 0; i < list.size(); ++i) {
        auto& algorithm = list[i];
        if (algorithm.attributes.naive || !algorithm.supports(inside.problem)) continue;
        std::vector<Candidate> members{{algorithm.name, 0, algorithm.attributes}};
        if (algorithm.candidates) members = algorithm.candidates(inside.problem);
        for (auto& member : members)
            result.push_back({std::string(way.prefix) + member.name,
                              uint64_t(i) << algorithm_shift | member.id, member.attributes});
    }
    return result;
}

Prepared prepare_in(const OtherDType& way, const PrepareContext& context, KernelList list) {
    auto& p = context.problem;
    MGE_CHECK(p.inputs.size() <= max_operands && p.outputs.size() <= max_operands, "too many operands");
    Inside inside(way, p);
    State state;
    state.algorithm = &list[context.candidate.id >> algorithm_shift];
    for (size_t i = 0; i < p.inputs.size(); ++i)
        state.inputs.push_back(operand_of(p.inputs[i], inside.inputs[i]));
    for (size_t i = 0; i < p.outputs.size(); ++i)
        state.outputs.push_back(operand_of(p.outputs[i], inside.outputs[i]));
    state.constants.resize(state.inputs.size());
    auto constants = convert_constants(state, context);
    Candidate inner{context.candidate.name.substr(way.prefix.size()), context.candidate.id & own_id,
                    context.candidate.attributes};
    state.inner = state.algorithm->prepare({inside.problem, inner, constants, context.select});
    PackedInputs packed = packed_inputs(state);
    state.inner_workspace = place_operands(state);
    size_t workspace = state.inner_workspace + state.inner.workspace();
    auto code = state.inner.code();
    return Prepared::make(std::move(state), workspace, std::move(packed)).with_code(std::move(code));
}

void run_in_other_dtype(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    auto* workspace = static_cast<char*>(launch.workspace);
    std::array<const void*, max_operands> inputs;
    std::array<void*, max_operands> outputs;
    for (size_t i = 0; i < launch.inputs.size(); ++i) {
        auto& operand = s.inputs[i];
        inputs[i] = operand.is_constant ? operand.constant : launch.inputs[i];
        if (operand.is_constant || !operand.is_converted() || !inputs[i]) continue;
        enter(operand, launch.threads, inputs[i], workspace + operand.offset);
        inputs[i] = workspace + operand.offset;
    }
    for (size_t i = 0; i < launch.outputs.size(); ++i)
        outputs[i] = s.outputs[i].is_converted() ? workspace + s.outputs[i].offset : launch.outputs[i];
    s.algorithm->run(s.inner, {{inputs.data(), launch.inputs.size()},
                               {outputs.data(), launch.outputs.size()},
                               workspace + s.inner_workspace,
                               launch.threads});
    for (size_t i = 0; i < launch.outputs.size(); ++i)
        if (s.outputs[i].is_converted()) leave(s.outputs[i], launch.threads, outputs[i], launch.outputs[i]);
}

}  // namespace mge::cpu
