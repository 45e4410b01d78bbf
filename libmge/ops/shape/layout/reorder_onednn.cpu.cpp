// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/layout/reorder_onednn.h"

#include <string_view>

#include "libmge/kernel/cpu/onednn/call.h"
#include "libmge/kernel/cpu/onednn/implementations.h"

namespace mge::ops {
namespace {

onednn::PrimitiveDesc describe(const Problem& p) {
    auto from = onednn::memory_desc(p.inputs[0]), to = onednn::memory_desc(p.outputs[0]);
    if (!from || !to || p.inputs[0].numel() == 0) return nullptr;
    return onednn::reorder_desc(*from, *to, onednn::attributes(false, Activation::none));
}

Support supports(const Problem& p) {
    onednn::ThreadScope scope(p.threads);
    auto desc = describe(p);
    if (!desc) return {"not among oneDNN's reorders"};
    // If it generates no code for a dtype (f16; bf16 without AVX-512) an element takes it 60 ns.
    bool is_generated = std::string_view(onednn::implementation_name(desc.get())) != "simple:any";
    return is_generated ? supported : Support{"no generated code for this dtype and layout"};
}

Prepared prepare(const PrepareContext& context) {
    auto& p = context.problem;
    onednn::ThreadScope scope(p.threads);
    onednn::Call call(describe(p), {onednn::input(DNNL_ARG_FROM, 0, *onednn::memory_desc(p.inputs[0])),
                                    onednn::output(DNNL_ARG_TO, 0, *onednn::memory_desc(p.outputs[0]))});
    return onednn::prepared(onednn::CallState{std::move(call), p.threads});
}

}  // namespace

Algorithm onednn_reorder() { return {"onednn", supports, prepare, onednn::run_call}; }

}  // namespace mge::ops
