// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/reorder.h"

#include <cstring>

#include "libmge/kernel/cpu/onednn/call.h"
#include "libmge/kernel/cpu/onednn/implementations.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge::ops {
namespace {

using Coordinates = std::array<int64_t, max_rank>;

// Where the element at `at` lies, in elements. From the innermost digit outwards: a block takes the remainder
// of its axis, the digit without a block what is left of it.
int64_t offset_of(const TensorSpec& spec, Coordinates at) {
    int64_t offset = 0, stride = 1;
    if (spec.layout.is_plain()) {
        for (int axis = spec.shape.rank(); axis-- > 0; stride *= spec.shape[axis])
            offset += at[axis] * stride;
        return offset;
    }
    Coordinates extent{};
    for (int i = 0; i < spec.shape.rank(); ++i) extent[i] = spec.shape[i];
    for (int i = spec.layout.size(); i-- > 0;) {
        auto [axis, block] = spec.layout[i];
        int64_t size = block ? block : extent[axis];
        offset += (block ? at[axis] % block : at[axis]) * stride;
        stride *= size;
        if (!block) continue;
        at[axis] /= block;
        extent[axis] = (extent[axis] + block - 1) / block;
    }
    return offset;
}

void run_reference(const Prepared& prepared, const Launch& launch) {
    auto& problem = prepared.state<OwnedProblem>();
    const TensorSpec &from = problem.inputs[0], &to = problem.outputs[0];
    std::memset(launch.outputs[0], 0, to.bytes());
    dispatch_size(from.dtype, [&](auto type) {
        using T = typename decltype(type)::type;
        Coordinates at{};
        for (int64_t i = 0, n = from.numel(); i < n; ++i) {
            launch.out<T>(0)[offset_of(to, at)] = launch.in<T>(0)[offset_of(from, at)];
            for (int axis = from.shape.rank(); axis-- > 0;) {
                if (++at[axis] < from.shape[axis]) break;
                at[axis] = 0;
            }
        }
    });
}

onednn::PrimitiveDesc describe(const Problem& p) {
    auto from = onednn::memory_desc(p.inputs[0]), to = onednn::memory_desc(p.outputs[0]);
    if (!from || !to || p.inputs[0].numel() == 0) return nullptr;
    auto attr = onednn::attributes(false, Activation::none);
    dnnl_primitive_desc_t made = nullptr;
    if (dnnl_reorder_primitive_desc_create(&made, &*from, onednn::engine(), &*to, onednn::engine(),
                                           attr.get()))
        return nullptr;
    return onednn::PrimitiveDesc(made);
}

Support supports_onednn(const Problem& p) {
    onednn::ThreadScope scope(p.threads);
    return describe(p) ? supported : Support{"not among oneDNN's reorders"};
}

Prepared prepare_onednn(const PrepareContext& context) {
    auto& p = context.problem;
    onednn::ThreadScope scope(p.threads);
    return onednn::prepared(
        onednn::Call(describe(p), {onednn::input(DNNL_ARG_FROM, 0, *onednn::memory_desc(p.inputs[0])),
                                   onednn::output(DNNL_ARG_TO, 0, *onednn::memory_desc(p.outputs[0]))}));
}

Prepared prepare_reference(const PrepareContext& context) {
    return Prepared::make(OwnedProblem(context.problem));
}

}  // namespace

KernelList kernels(Cpu, Reorder) {
    static constexpr Algorithm list[] = {
        {"onednn", supports_onednn, prepare_onednn, onednn::run_call},
        {"reference", always, prepare_reference, run_reference, {.naive = true}}};
    return list;
}

}  // namespace mge::ops
