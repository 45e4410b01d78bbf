// SPDX-License-Identifier: Apache-2.0
// Attention by cuDNN: its engines keep the scores in registers and multiply by tensor cores. They compile
// their code while a plan is made, so workspace sizes are computed without making one. Our own kernel
// replaces an engine that cuDNN then refuses, or whose operands are not aligned.

#include <array>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

#include "libmge/base/error.h"
#include "libmge/base/log.h"
#include "libmge/kernel/cuda/launch.h"
#include "libmge/kernel/cuda/workspace.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/nn/attention/algorithms.cuda.h"
#include "libmge/ops/nn/attention/cudnn_operations.cuda.h"
#include "libmge/ops/nn/attention/geometry.h"

namespace mge::ops {
namespace {

using cuda::cudnn;

constexpr std::string_view prefix = "cudnn:";
// The first whose graphs were tried: older ones err for some counts of keys.
constexpr size_t oldest_version = 91900;
constexpr size_t most_candidates = 8;
// For the backward operator, after q, k, v, dy, y and log_sum_exp.
constexpr size_t backward_mask = 6, backward_dlog = 7;

bool is_backward(const Problem& p) { return p.op == AttentionBackward::name; }
AttentionShape shape_of(const Problem& p) {
    return attention_shape(p.op, p.as<AttentionParams>(), p.inputs, TensorSpec{});
}
cuda::CudnnDescriptor graph_of(const Problem& p, const cuda::CudnnTarget& target) {
    auto* graph = is_backward(p) ? attention_backward_graph : attention_graph;
    return graph(shape_of(p), p.inputs[0].dtype, target);
}

Support fits_engines(const Problem& p) {
    AttentionShape s = shape_of(p);
    const int64_t most_width = is_backward(p) ? 128 : 256;
    if (s.width % 8 || s.value_width % 8) return {"widths that 8 divides"};
    if (s.width > most_width || s.value_width > most_width) return {"too wide"};
    if (s.batch * s.heads * s.queries * s.keys * s.width * s.value_width == 0) return {"an empty operand"};
    if (s.is_causal && s.first_visible < 1) return {"a query that sees no key"};
    return supported;
}

Support supports(const Problem& p) {
    if (Support plain = plain_layouts(p); !plain) return plain;
    if (p.inputs[0].dtype != DType::f16 && p.inputs[0].dtype != DType::bf16) return {"f16 and bf16 alone"};
    // It does not say what a query gives whose keys are all hidden.
    if (p.has_input(is_backward(p) ? backward_mask : 3)) return {"no mask"};
    if (is_backward(p) && p.has_input(backward_dlog)) return {"no gradient of log_sum_exp"};
    if (Support fits = fits_engines(p); !fits) return fits;
    if (!cudnn().why_not.empty()) return {cudnn().why_not.c_str()};
    if (cudnn().version() < oldest_version) return {"cuDNN 9.19 or newer"};
    return supported;
}

// Empty if cuDNN refuses a graph: our own kernel does the work.
template <class T>
T unless_refused(const Problem& p, const std::function<T(const cuda::CudnnTarget&)>& call) {
    cuda::CudnnHandle handle(p.device.index);
    try {
        return call(handle);
    } catch (const DeviceError& error) {
        if (log_enabled(LogChannel::dispatch)) log_line(LogChannel::dispatch, text(p.op, ": ", error.what()));
        return {};
    }
}

std::vector<Candidate> candidates(const Problem& p) {
    auto engines = unless_refused<std::vector<cuda::CudnnEngine>>(
        p, [&](auto& target) { return cuda::cudnn_engines(graph_of(p, target), target); });
    std::vector<Candidate> result;
    for (auto& engine : engines) {
        if (result.size() == most_candidates) break;
        // Several blocks add to one dq, in any order.
        bool is_reproducible = !is_backward(p) && !engine.has(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
        result.push_back({text(prefix, engine.name),
                          0,
                          {.reproducible = is_reproducible,
                           .accuracy_depends_on_batch = true,
                           .usable_depends_on_shape = true}});
    }
    return result;
}

// Numbers that cuDNN reads from the host's memory when a plan is asked to run.
struct Values {
    float scale = 1, hidden = std::numeric_limits<float>::lowest(), one = 1;
    int32_t keys = 0, queries = 0;
};

struct State {
    std::optional<cuda::CudnnPlan> plan;
    bool is_backward = false, has_counts = false, is_causal = false;
    Values values;
    size_t sums_bytes = 0, rest_bytes = 0;  // parts of the gradient's workspace
    Algorithm otherwise{};
    Prepared own;  // prepared state of it
};

Prepared prepare(const PrepareContext& context) {
    auto& p = context.problem;
    AttentionShape s = shape_of(p);
    State state{.is_backward = is_backward(p),
                .has_counts = counts_from_the_last(s),
                .is_causal = s.is_causal,
                .values = {.scale = s.scale, .keys = int32_t(s.keys), .queries = int32_t(s.queries)}};
    auto name = std::string_view(context.candidate.name).substr(prefix.size());
    state.plan = unless_refused<std::optional<cuda::CudnnPlan>>(p, [&](auto& target) {
        return cuda::cudnn_plan(cuda::cudnn_config(graph_of(p, target), name, target), target);
    });
    if (!state.plan && log_enabled(LogChannel::dispatch))
        log_line(LogChannel::dispatch, text(p.op, ": cuDNN makes no plan of ", context.candidate.name));
    if (state.is_backward) {
        auto queries = size_t(s.batch * s.heads * s.queries);
        state.sums_bytes = cuda::workspace_part(queries * size_t(s.width) * sizeof(float));
        state.rest_bytes = cuda::workspace_part(queries * sizeof(float));
    }
    state.otherwise = state.is_backward ? tiled_attention_backward() : tiled_attention();
    state.own = state.otherwise.prepare(context);
    size_t needed = state.plan ? state.sums_bytes + state.rest_bytes + state.plan->workspace : 0;
    if (needed) needed += cuda::workspace_alignment;
    size_t workspace = std::max(needed, state.own.workspace());
    return Prepared::make(std::move(state), workspace);
}

// The tensors of a plan and their addresses.
class Addresses {
public:
    void add(AttentionTensor::Id id, const void* address) {
        ids_.at(count_) = id;
        at_.at(count_++) = address;
    }
    std::span<const int64_t> ids() const { return {ids_.data(), count_}; }
    std::span<const void* const> at() const { return {at_.data(), count_}; }
    bool are_aligned() const { return std::ranges::all_of(at(), cuda::is_aligned_for_cudnn); }

private:
    std::array<int64_t, 16> ids_{};
    std::array<const void*, 16> at_{};
    size_t count_ = 0;
};

Addresses operands_of(const State& s, const Launch& launch) {
    Addresses x;
    x.add(AttentionTensor::q, launch.inputs[0]);
    x.add(AttentionTensor::k, launch.inputs[1]);
    x.add(AttentionTensor::v, launch.inputs[2]);
    if (!s.is_backward) {
        x.add(AttentionTensor::y, launch.outputs[0]);
        x.add(AttentionTensor::log_sum_exp, launch.outputs[1]);
        return x;
    }
    x.add(AttentionTensor::dy, launch.inputs[3]);
    x.add(AttentionTensor::y, launch.inputs[4]);
    x.add(AttentionTensor::log_sum_exp, launch.inputs[5]);
    x.add(AttentionTensor::dq, launch.outputs[0]);
    x.add(AttentionTensor::dk, launch.outputs[1]);
    x.add(AttentionTensor::dv, launch.outputs[2]);
    return x;
}

void run(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    Addresses x = operands_of(s, launch);
    if (!s.plan || !x.are_aligned()) return s.otherwise.run(s.own, launch);
    auto* workspace = reinterpret_cast<char*>(cuda::workspace_part(uintptr_t(launch.workspace)));
    auto take = [&](size_t bytes) { return std::exchange(workspace, workspace + bytes); };
    x.add(AttentionTensor::scale, &s.values.scale);
    if (s.is_backward) {
        x.add(AttentionTensor::dq_sums, take(s.sums_bytes));
        x.add(AttentionTensor::rest, take(s.rest_bytes));
        x.add(AttentionTensor::one, &s.values.one);
    }
    if (s.is_causal) x.add(AttentionTensor::hidden, &s.values.hidden);
    if (s.has_counts) {
        x.add(AttentionTensor::keys, &s.values.keys);
        x.add(AttentionTensor::queries, &s.values.queries);
    }
    cuda::Stream stream = cuda::stream_of(launch);
    cuda::CudnnHandle handle(static_cast<cuda::CudaQueue&>(*launch.queue).device());
    cudnn().check(cudnn().set_stream(handle.get(), stream), "SetStream");
    cuda::run_cudnn_plan(*s.plan, handle, x.ids(), x.at(), workspace);
}

Algorithm family() { return {"cudnn", supports, prepare, run, {}, candidates}; }

}  // namespace

Algorithm cudnn_attention() { return family(); }
Algorithm cudnn_attention_backward() { return family(); }

}  // namespace mge::ops
