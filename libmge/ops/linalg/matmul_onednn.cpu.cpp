// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/linalg/matmul_algorithms.h"

#include "libmge/kernel/cpu/onednn/call.h"
#include "libmge/kernel/cpu/onednn/implementations.h"
#include "libmge/kernel/select.h"
#include "libmge/ops/linalg/matmul_geometry.h"

namespace mge::ops {
namespace {

using namespace onednn;

enum Input : size_t { a, b, bias, residual };

struct Descs {
    MemoryDesc a, b, bias, y;
};

MemoryDesc matrices(const Shape& batch, int64_t rows, int64_t columns, int64_t row_stride,
                    int64_t column_stride, dnnl_data_type_t type) {
    IntList dims(batch.begin(), batch.end()), strides(dims.size());
    int64_t stride = rows * columns;
    for (size_t i = dims.size(); i-- > 0;) {
        strides[i] = stride;
        stride *= dims[i];
    }
    dims.insert(dims.end(), {rows, columns});
    strides.insert(strides.end(), {row_stride, column_stride});
    return strided(dims, strides, type);
}

Descs describe(const Problem& p) {
    auto g = matmul_geometry(p.as<Matmul::Params>(), p.inputs[a].shape, p.inputs[b].shape);
    auto type = *data_type(p.inputs[a].dtype), wide = *data_type(p.outputs[0].dtype);
    Shape ones;
    while (ones.rank() < g.batch.rank()) ones.push_back(1);
    return {matrices(g.a_batch, g.m, g.k, g.a_stride_m, g.a_stride_k, type),
            matrices(g.b_batch, g.k, g.n, g.b_stride_k, g.b_stride_n, type),
            matrices(ones, 1, g.n, g.n, 1, wide), matrices(g.batch, g.m, g.n, g.n, 1, wide)};
}

// With the layout of b that each wants.
std::vector<Implementation> ways(const Problem& p) {
    Descs d = describe(p);
    auto attr = attributes(p.has_input(residual), p.as<Matmul::Params>().activation);
    std::vector<Implementation> result;
    auto add = [&](const MemoryDesc& weights) {
        MatmulDesc operation{d.a, weights, p.has_input(bias) ? d.bias : MemoryDesc(), d.y};
        for (auto& way : implementations(operation, attr)) {
            MemoryDesc used = memory_of(way.desc.get(), DNNL_ARG_WEIGHTS);
            way.name = text("onednn:", way.name, '/', layout_name(d.a), ',', layout_name(used), ',',
                            layout_name(d.y));
            result.push_back(std::move(way));
        }
    };
    if (p.is_constant(b)) add(any_layout(d.b));
    add(d.b);
    return result;
}

// To multiply one row by a matrix is to read the matrix, which loops of our own do as fast as memory gives it
// (`row`, `small`). The library first generates all kernels of its products for that, which takes longer than
// to start a small network.
bool is_row_of_f32(const Problem& p) {
    if (p.inputs[a].dtype != DType::f32) return false;
    auto g = matmul_geometry(p.as<Matmul::Params>(), p.inputs[a].shape, p.inputs[b].shape);
    return g.m == 1 && g.batches() == 1;
}

Support supports(const Problem& p) {
    if (!computes_in(p.inputs[a].dtype)) return {not_computed};
    for (auto specs : {p.inputs, p.outputs})
        for (auto& spec : specs) {
            if (!spec.layout.is_plain()) return {"plain layouts only"};
            if (!spec.is_absent() && spec.numel() == 0) return {"an empty operand"};
        }
    if (is_row_of_f32(p)) return {"one row is bound by reading the matrix"};
    return has_dtypes_of_product(p);
}

Prepared prepare(const PrepareContext& context) {
    auto& p = context.problem;
    ThreadScope scope(p.threads);
    Descs d = describe(p);
    const void* constant = context.constants.size() > b ? context.constants[b] : nullptr;
    std::vector<Operand> operands{input(DNNL_ARG_SRC, a, d.a), input(DNNL_ARG_WEIGHTS, b, d.b, constant),
                                  output(DNNL_ARG_DST, 0, d.y)};
    if (p.has_input(bias)) operands.push_back(input(DNNL_ARG_BIAS, bias, d.bias));
    Operand added = input(DNNL_ARG_DST, residual, d.y);
    return prepared(CallState{
        Call(take_way(ways(p), context.candidate.name), operands, p.has_input(residual) ? &added : nullptr,
             packing_of(context), p.as<Matmul::Params>().activation),
        p.threads});
}

}  // namespace

Algorithm onednn_matmul() { return {"onednn", supports, prepare, run_call, {}, candidates<ways>}; }

}  // namespace mge::ops
