// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/import/megengine/counterparts.h"

#include <algorithm>

#include "libmge/base/letters.h"

namespace mge::megengine {
namespace {

struct CounterpartRow {
    std::string_view op, type, mode = {}, batched_type = {};
};

// Sorted by operator. Elementwise ones are Elemwise, others without a row are called as here.
constexpr CounterpartRow rows_by_operator[] = {
    {"adaptive_avg_pool2d", "AdaptivePooling"},
    {"adaptive_max_pool2d", "AdaptivePooling"},
    {"add_axis", "AxisAddRemove"},
    {"add_slice", "IncrSubtensor"},
    {"add_take", "IndexingIncrMultiAxisVec"},
    {"arange", "Linspace"},
    {"assert_equal", "AssertEqual"},
    {"avg_pool2d", "Pooling"},
    {"beta", "BetaRNG"},
    {"broadcast_like", "Broadcast"},
    {"broadcast_to", "Broadcast"},
    {"conv2d", "Convolution"},
    {"conv2d_backward_data", "ConvolutionBackwardData"},
    {"conv2d_backward_weight", "ConvolutionBackwardFilter"},
    {"convert", "TypeCvt"},
    {"deformable_roi_pool2d", "DeformablePSROIPoolingForward"},
    {"dequantize", "TypeCvt"},
    {"embedding", "IndexingMultiAxisVec"},
    {"fake_quantize", "FakeQuant"},
    {"flatten", "Reshape"},
    {"full", "Alloc"},
    {"full_like", "Alloc"},
    {"gamma", "GammaRNG"},
    {"gather", "IndexingOneHot"},
    {"matinv", "MatrixInverse"},
    {"matmul", "MatrixMul", {}, "BatchedMatrixMul"},
    {"max", "Reduce", "MAX"},
    {"max_pool2d", "Pooling"},
    {"mean", "Reduce", "MEAN"},
    {"min", "Reduce", "MIN"},
    {"multinomial", "MultinomialRNG"},
    {"nms", "NMSKeepMGB"},
    {"normal", "GaussianRNG"},
    {"one_hot", "IndexingSetOneHot"},
    {"pad", "Padding"},
    {"permutation", "PermutationRNG"},
    {"poisson", "PoissonRNG"},
    {"prod", "Reduce", "PRODUCT"},
    {"quantize", "TypeCvt"},
    {"quantized_conv2d", "ConvBiasForward"},
    {"remove_axis", "AxisAddRemove"},
    {"reshape_like", "Reshape"},
    {"roi_pool2d", "ROIPooling"},
    {"scatter", "IndexingSetOneHot"},
    {"set_slice", "SetSubtensor"},
    {"set_take", "IndexingSetMultiAxisVec"},
    {"shape_of", "GetVarShape"},
    {"slice", "Subtensor"},
    {"sort", "Argsort"},
    {"sum", "Reduce", "SUM"},
    {"svd", "SVD"},
    {"take", "IndexingMultiAxisVec"},
    {"to_device", "Copy"},
    {"topk", "TopK"},
    {"transpose", "Dimshuffle"},
    {"uniform", "UniformRNG"},
    {"wait_for", "VirtualDep"},
    {"where", "Where"},
};

// "batch_norm" is BatchNorm.
std::string in_camel_case(std::string_view name) {
    std::string result;
    bool begins = true;
    for (char c : name) {
        if (c != '_') result += begins ? capital(c) : c;
        begins = c == '_';
    }
    return result;
}

std::string in_capitals(std::string_view name) {
    std::string result(name);
    std::ranges::transform(result, result.begin(), capital);
    return result;
}

}  // namespace

Counterpart counterpart(const OpInfo& op, Specs inputs) {
    auto row = std::ranges::lower_bound(rows_by_operator, op.name, {}, &CounterpartRow::op);
    if (row != std::end(rows_by_operator) && row->op == op.name) {
        bool is_batch = std::ranges::all_of(
            inputs, [](auto& spec) { return spec.shape.is_known() && spec.shape.rank() > 2; });
        auto type = is_batch && !row->batched_type.empty() ? row->batched_type : row->type;
        return {std::string(type), std::string(row->mode)};
    }
    if (!op.traits.elementwise) return {in_camel_case(op.name), {}};
    static const auto modes = modes_of_operators();
    auto mode = modes.find(&op);
    return {"Elemwise", mode == modes.end() ? in_capitals(op.name) : std::string(mode->second)};
}

std::vector<std::pair<std::string_view, std::string_view>> listed_counterparts() {
    std::vector<std::pair<std::string_view, std::string_view>> all;
    for (auto& row : rows_by_operator) all.emplace_back(row.op, row.type);
    return all;
}

}  // namespace mge::megengine
