// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/linalg/matmul_algorithms.h"

#include "libmge/device/cpu/cpu_device.h"
#include "libmge/kernel/cpu/onednn/packed_weight.h"
#include "libmge/kernel/cpu/product/half_parts.h"
#include "libmge/kernel/select.h"
#include "libmge/ops/linalg/constant_matrix.h"

namespace mge::ops {
namespace {

// Fewer columns leave most of a panel empty.
constexpr int64_t enough_columns = cpu::HalfProduct::panel_columns / 2;

struct State {
    cpu::HalfProduct shape;
    DType dtype;
    std::shared_ptr<const onednn::PackedWeight> weight;
};

Support supports(const Problem& p) {
    if (Support plain = plain_layouts(p); !plain) return plain;
    const DType dtype = p.inputs[0].dtype;
    if (!is_half(dtype)) return {"f16 and bf16 only"};
    for (auto specs : {p.inputs, p.outputs})
        for (auto& spec : specs)
            if (!spec.is_absent() && spec.dtype != dtype) return {"one dtype for all operands"};
    if (!p.is_constant(1)) return {"constant matrices only"};
    if (dtype == DType::f16 && cpu_isa() == Isa::sse4) return {"no instructions that widen f16"};
    auto g = geometry_of(p);
    if (g.batches() != 1 || g.a_stride_k != 1 || g.a_stride_m != g.k) return {"dense rows only"};
    if (g.m == 0 || g.k == 0) return {"an empty operand"};
    if (g.n < enough_columns) return {"few columns, most of a panel would be empty"};
    return supported;
}

// Packing only moves values, so f16 has the data type that oneDNN can move: bf16.
onednn::MemoryDesc panels(const MatmulGeometry& g) {
    return onednn::tagged({g.k, g.n}, dnnl_BA16a32b, dnnl_bf16);
}

Prepared prepare(const PrepareContext& context) {
    auto& p = context.problem;
    auto g = geometry_of(p);
    const int64_t dims[]{g.k, g.n}, strides[]{g.b_stride_k, g.b_stride_n};
    auto used = panels(g);
    State state{{g.m, g.n, g.k, 0, p.as<Matmul::Params>().activation},
                p.inputs[0].dtype,
                onednn::pack_weight(onednn::strided(dims, strides, dnnl_bf16), used, context.constants[1],
                                    p.threads, packing_of(context))};
    state.shape.panel = int64_t(used.bytes() / sizeof(uint16_t)) / state.shape.panels();
    PackedInputs packed{{{state.weight->data(), used.bytes()}}, 1u << 1};
    return Prepared::make(std::move(state), 0, std::move(packed));
}

void run(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    cpu::run_half_product(s.shape, s.dtype, s.weight->data(), launch);
}

}  // namespace

Algorithm half_matmul() { return {"packed_halves", supports, prepare, run}; }

}  // namespace mge::ops
