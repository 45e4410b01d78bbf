// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/batch_norm/batch_norm_algorithms.h"

#include "libmge/kernel/cpu/onednn/call.h"
#include "libmge/kernel/cpu/onednn/implementations.h"
#include "libmge/ops/nn/batch_norm/running_statistics.h"

namespace mge::ops {
namespace {

using namespace onednn;

enum Input : size_t { x, scale, bias, running_mean, running_var };
enum Output : size_t { y, new_mean, new_var, saved_mean, saved_inv_std };

struct State : CallState {
    RunningStatistics statistics;
    int64_t channels;
};

// Plain tensors of any rank are images of one row.
MemoryDesc image(const TensorSpec& spec) {
    if (!spec.layout.is_plain()) return *memory_desc(spec);
    Shape shape{spec.shape[0], spec.shape[1], 1, 1};
    for (int i = 2; i < spec.shape.rank(); ++i) shape[3] *= spec.shape[i];
    return *memory_desc({spec.dtype, shape, {}});
}

template <bool Plain>
Support supports(const Problem& p) {
    auto &from = p.inputs[x], &to = p.outputs[y];
    if (from.dtype != DType::f32 && from.dtype != DType::bf16) return {"f32 and bf16 only"};
    if (from.layout.is_plain() != Plain) return {Plain ? "plain layouts only" : "other layouts only"};
    if (from.layout != to.layout) return {"x and y must have the same layout"};
    if (!memory_desc(from)) return {"a layout that oneDNN does not have"};
    if (from.numel() == 0) return {"an empty tensor"};
    for (size_t i = scale; i < p.inputs.size(); ++i)
        if (!p.inputs[i].layout.is_plain() || !p.outputs[i].layout.is_plain())
            return {"factors and statistics are plain"};
    return supported;
}

std::vector<Implementation> ways(const Problem& p) {
    auto& params = p.as<BatchNorm::Params>();
    MemoryDesc data = image(p.inputs[x]);
    unsigned flags = dnnl_use_scale | dnnl_use_shift;
    if (!params.training) flags |= dnnl_use_global_stats;
    auto direction = params.training ? dnnl_forward_training : dnnl_forward_inference;
    return normalisations(BatchNormDesc{direction, data, float(params.epsilon), flags}, data);
}

Prepared prepare(const PrepareContext& context) {
    auto& p = context.problem;
    ThreadScope scope(p.threads);
    auto& spec = p.inputs[x];
    MemoryDesc data = image(spec), per_channel = *memory_desc({DType::f32, {spec.shape[1]}, {}});
    bool training = p.as<BatchNorm::Params>().training;
    // The variance of the batch waits where its reciprocal root will be.
    Call call(take_way(ways(p), context.candidate.name),
              {input(DNNL_ARG_SRC, x, data), output(DNNL_ARG_DST, y, data),
               input(DNNL_ARG_SCALE, scale, per_channel), input(DNNL_ARG_SHIFT, bias, per_channel),
               training ? output(DNNL_ARG_MEAN, saved_mean, per_channel)
                        : input(DNNL_ARG_MEAN, running_mean, per_channel),
               training ? output(DNNL_ARG_VARIANCE, saved_inv_std, per_channel)
                        : input(DNNL_ARG_VARIANCE, running_var, per_channel)});
    RunningStatistics statistics(p.as<BatchNorm::Params>(), spec.numel() / spec.shape[1]);
    return prepared(State{{std::move(call), p.threads}, statistics, spec.shape[1]});
}

void run(const Prepared& prepared, const Launch& launch) {
    run_call(prepared, launch);
    auto& s = prepared.state<State>();
    for (int64_t c = 0; c < s.channels; ++c)
        s.statistics.store(launch, c,
                           {launch.out<float>(saved_mean)[c], launch.out<float>(saved_inv_std)[c]});
}

}  // namespace

Algorithm onednn_batch_norm() { return {"onednn", supports<false>, prepare, run, {}, candidates<ways>}; }
Algorithm onednn_batch_norm_plain() { return {"onednn", supports<true>, prepare, run, {}, candidates<ways>}; }

}  // namespace mge::ops
