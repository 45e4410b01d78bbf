// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/pooling/onednn.h"

#include "libmge/kernel/cpu/convolution/pool_kernels.h"
#include "libmge/kernel/cpu/onednn/call.h"
#include "libmge/kernel/cpu/onednn/implementations.h"
#include "libmge/kernel/cpu/parallel.h"

namespace mge::ops {
namespace {

using namespace onednn;

struct State : CallState {
    int64_t maxima;  // results to look through, see run
};

// The positions of x and y (or their gradients) among the operands of the Problem.
const TensorSpec& x_spec(const Problem& p, PoolKind kind) {
    return kind == PoolKind::average_backward ? p.outputs[0] : p.inputs[0];
}
const TensorSpec& y_spec(const Problem& p, PoolKind kind) {
    return kind == PoolKind::average_backward ? p.inputs[1] : p.outputs[0];
}

dnnl_alg_kind_t kind_of(const PoolGeometry& g, PoolKind kind) {
    if (kind == PoolKind::max) return dnnl_pooling_max;
    return g.count_include_pad ? dnnl_pooling_avg_include_padding : dnnl_pooling_avg_exclude_padding;
}

// The padding for the last window after the image; negative if it ends before.
Pair padding_after(const PoolGeometry& g) {
    Pair result;
    for (size_t i : {0, 1}) result[i] = (g.out[i] - 1) * g.stride[i] + g.kernel[i] - g.in[i] - g.padding[i];
    return result;
}

std::vector<Implementation> ways(const Problem& p, const PoolGeometry& g, PoolKind kind) {
    MemoryDesc x = *memory_desc(x_spec(p, kind)), y = *memory_desc(y_spec(p, kind));
    auto direction = kind == PoolKind::average_backward ? dnnl_backward_data : dnnl_forward_inference;
    auto list = implementations(
        PoolingDesc{direction, kind_of(g, kind), x, y, g.stride, g.kernel, g.padding, padding_after(g)},
        attributes(false, Activation::none));
    for (auto& way : list) way.name = text("onednn:", way.name, '/', layout_name(x), ',', layout_name(y));
    return list;
}

}  // namespace

Support supports_onednn_pool(const Problem& p, PoolKind kind) {
    auto &x = x_spec(p, kind), &y = y_spec(p, kind);
    if (x.dtype != DType::f32 && x.dtype != DType::bf16) return {"f32 and bf16 only"};
    if (x.dtype != y.dtype) return {"one dtype for all operands"};
    if (x.layout != y.layout) return {"x and y must have the same layout"};
    if (!memory_desc(x)) return {"a layout that oneDNN does not have"};
    if (x.numel() == 0 || y.numel() == 0) return {"an empty tensor"};
    return supported;
}

std::vector<Candidate> onednn_pool_candidates(const Problem& p, const PoolGeometry& g, PoolKind kind) {
    ThreadScope scope(p.threads);
    return candidates_of(ways(p, g, kind));
}

Prepared prepare_onednn_pool(const PrepareContext& context, const PoolGeometry& g, PoolKind kind) {
    auto& p = context.problem;
    ThreadScope scope(p.threads);
    MemoryDesc x = *memory_desc(x_spec(p, kind)), y = *memory_desc(y_spec(p, kind));
    std::vector<Operand> operands{input(DNNL_ARG_SRC, 0, x), output(DNNL_ARG_DST, 0, y)};
    if (kind == PoolKind::average_backward)
        operands = {input(DNNL_ARG_DIFF_DST, 1, y), output(DNNL_ARG_DIFF_SRC, 0, x)};
    Call call(take_way(ways(p, g, kind), context.candidate.name), operands);
    bool is_maximum = kind == PoolKind::max && p.outputs[0].dtype == DType::f32;
    int64_t maxima = is_maximum ? int64_t(p.outputs[0].bytes() / sizeof(float)) : 0;
    return prepared(State{{std::move(call), p.threads}, maxima});
}

// The maximum of nothing but -infinity is -infinity, which oneDNN (in f32) takes for the lowest finite
// number.
void run_onednn_pool(const Prepared& prepared, const Launch& launch) {
    run_call(prepared, launch);
    auto& s = prepared.state<State>();
    // Half of them are in another core's cache: they are better processed there.
    par_for(launch.threads, s.maxima, parallel_grain, [&](int64_t begin, int64_t end) {
        cpu::pool_kernels().lowest_to_infinity(launch.out<float>(0) + begin, end - begin);
    });
}

}  // namespace mge::ops
