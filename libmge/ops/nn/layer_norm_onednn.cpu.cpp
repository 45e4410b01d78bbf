// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/layer_norm_onednn.h"

#include <cmath>

#include "libmge/kernel/cpu/onednn/call.h"
#include "libmge/kernel/cpu/onednn/implementations.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/nn/layer_norm.h"

namespace mge::ops {
namespace {

using namespace onednn;

enum Input : size_t { x, weight, bias };
enum Output : size_t { y, mean, inv_std };

struct State {
    Call call;
    int64_t rows;
    float epsilon;
    int threads;
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
    dnnl_layer_normalization_desc_t operation;
    if (dnnl_layer_normalization_forward_desc_init(&operation, dnnl_forward_training, &d.data, &d.per_row,
                                                   float(p.as<LayerNorm::Params>().epsilon), flags))
        return {};
    auto list = implementations(&operation, attributes(false, Activation::none));
    for (auto& way : list) way.name = text("onednn:", way.name, '/', layout_name(d.data));
    return list;
}

std::vector<Candidate> candidates(const Problem& p) {
    ThreadScope scope(p.threads);
    return candidates_of(ways(p));
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
    size_t workspace = call.workspace();
    auto code = call.code();
    auto epsilon = float(p.as<LayerNorm::Params>().epsilon);
    return Prepared::make(State{std::move(call), d.data.dims[0], epsilon, p.threads}, workspace)
        .with_code(std::move(code));
}

void run(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    s.call.run(launch, s.threads);
    float* root = launch.out<float>(inv_std);
    for (int64_t row = 0; row < s.rows; ++row) root[row] = 1 / std::sqrt(root[row] + s.epsilon);
}

}  // namespace

Algorithm onednn_layer_norm() { return {"onednn", supports, prepare, run, {}, candidates}; }

}  // namespace mge::ops
