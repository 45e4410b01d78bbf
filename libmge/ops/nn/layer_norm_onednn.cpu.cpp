// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/layer_norm_onednn.h"

#include <cmath>

#include "libmge/kernel/cpu/onednn/call.h"
#include "libmge/kernel/cpu/onednn/implementations.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/nn/layer_norm.h"
#include "libmge/ops/nn/row_norm-inl.h"

namespace mge::ops {
namespace {

using namespace onednn;

enum Input : size_t { x, weight, bias };
enum Output : size_t { y, mean, inv_std };

struct State : CallState {
    int64_t rows, row_size;
    float epsilon;
};

struct Descs {
    MemoryDesc data, per_row, per_column;
};

// x as a matrix whose rows are normalised.
Descs describe(const Problem& p) {
    auto& shape = p.inputs[x].shape;
    Shape matrix{1, 1};
    int split = shape.rank() - p.as<LayerNorm::Params>().axes;
    for (int i = 0; i < shape.rank(); ++i) matrix[i < split ? 0 : 1] *= shape[i];
    auto desc = [](const Shape& s) { return *memory_desc({DType::f32, s, {}}); };
    return {desc(matrix), desc({matrix[0]}), desc({matrix[1]})};
}

Support supports(const Problem& p) {
    if (p.inputs[x].dtype != DType::f32) return {"f32 only"};
    if (p.inputs[x].numel() == 0) return {"an empty tensor"};
    return plain_layouts(p);
}

std::vector<Implementation> ways(const Problem& p) {
    Descs d = describe(p);
    unsigned flags = dnnl_normalization_flags_none;
    if (p.has_input(weight)) flags |= dnnl_use_scale;
    if (p.has_input(bias)) flags |= dnnl_use_shift;
    auto epsilon = float(p.as<LayerNorm::Params>().epsilon);
    return normalisations(LayerNormDesc{d.data, d.per_row, epsilon, flags}, d.data);
}

Prepared prepare(const PrepareContext& context) {
    auto& p = context.problem;
    ThreadScope scope(p.threads);
    Descs d = describe(p);
    // The variance of a row waits where its reciprocal root will be.
    std::vector<Operand> operands{input(DNNL_ARG_SRC, x, d.data), output(DNNL_ARG_DST, y, d.data),
                                  output(DNNL_ARG_MEAN, mean, d.per_row),
                                  output(DNNL_ARG_VARIANCE, inv_std, d.per_row)};
    if (p.has_input(weight)) operands.push_back(input(DNNL_ARG_SCALE, weight, d.per_column));
    if (p.has_input(bias)) operands.push_back(input(DNNL_ARG_SHIFT, bias, d.per_column));
    Call call(take_way(ways(p), context.candidate.name), operands);
    auto epsilon = float(p.as<LayerNorm::Params>().epsilon);
    return prepared(State{{std::move(call), p.threads}, d.data.dims()[0], d.data.dims()[1], epsilon});
}

void run(const Prepared& prepared, const Launch& launch) {
    run_call(prepared, launch);
    auto& s = prepared.state<State>();
    float* root = launch.out<float>(inv_std);
    for (int64_t row = 0; row < s.rows; ++row) {
        if (std::isfinite(root[row]))
            root[row] = 1 / std::sqrt(root[row] + s.epsilon);
        else
            row_norm::normalize<float>(launch, row, s.row_size, s.epsilon, [](int64_t i) { return i; });
    }
}

}  // namespace

Algorithm onednn_layer_norm() { return {"onednn", supports, prepare, run, {}, candidates<ways>}; }

}  // namespace mge::ops
