// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/export/onnx/operators.h"

#include <algorithm>

#include "libmge/model/export/onnx/families.h"
#include "libmge/model/export/onnx/onnx.h"
#include "libmge/ops/all.h"

namespace mge::to_onnx {
namespace {

// Sorted by operator. What is not here has no counterpart: gradients, steps of optimizers, random numbers,
// effects, and what ONNX has no words for.
constexpr OperatorRow rows[] = {
    {&ops::Abs::info, export_same, "Abs"},
    {&ops::Acos::info, export_same, "Acos"},
    {&ops::Acosh::info, export_same, "Acosh"},
    {&ops::AdaptiveAvgPool2d::info, export_adaptive_pool2d, "AveragePool"},
    {&ops::AdaptiveMaxPool2d::info, export_adaptive_pool2d, "MaxPool"},
    {&ops::Add::info, export_same, "Add"},
    {&ops::AddAxis::info, export_add_axis, "Unsqueeze"},
    {&ops::AddSlice::info, export_add_slice, "Slice, Add, ScatterND"},
    {&ops::AddTake::info, export_add_take, "ScatterND"},
    {&ops::Arange::info, export_arange, "Range"},
    {&ops::Argmax::info, export_arg, "ArgMax"},
    {&ops::Argmin::info, export_arg, "ArgMin"},
    {&ops::Asin::info, export_same, "Asin"},
    {&ops::Asinh::info, export_same, "Asinh"},
    {&ops::Atan::info, export_same, "Atan"},
    {&ops::Atan2::info, export_atan2, "Div, Atan, Where"},
    {&ops::Atanh::info, export_same, "Atanh"},
    {&ops::AvgPool2d::info, export_avg_pool2d, "AveragePool"},
    {&ops::BatchNorm::info, export_batch_norm, "BatchNormalization"},
    {&ops::BroadcastLike::info, export_broadcast_like, "Expand"},
    {&ops::BroadcastTo::info, export_broadcast_to, "Expand"},
    {&ops::Ceil::info, export_rounding, "Ceil"},
    {&ops::Clip::info, export_clip, "Clip"},
    {&ops::Concat::info, export_concat, "Concat"},
    {&ops::Cond::info, export_cond, "If"},
    {&ops::CondTake::info, export_cond_take, "Compress, NonZero"},
    {&ops::Conv2d::info, export_conv2d, "Conv"},
    {&ops::Conv2dBackwardData::info, export_conv2d_backward_data, "ConvTranspose"},
    {&ops::Convert::info, export_convert, "Cast"},
    {&ops::Copy::info, export_identity, "Identity"},
    {&ops::Cos::info, export_same, "Cos"},
    {&ops::Cosh::info, export_same, "Cosh"},
    {&ops::Cumsum::info, export_cumsum, "CumSum"},
    {&ops::Dequantize::info, export_dequantize, "DequantizeLinear"},
    {&ops::Div::info, export_same, "Div"},
    {&ops::Dropout::info, export_dropout, "Identity"},
    {&ops::Embedding::info, export_embedding, "Gather"},
    {&ops::Equal::info, export_comparison, "Equal"},
    {&ops::Erf::info, export_same, "Erf"},
    {&ops::Exp::info, export_same, "Exp"},
    {&ops::Expm1::info, export_expm1, "Exp, Sub"},
    {&ops::Eye::info, export_eye, "EyeLike"},
    {&ops::Flatten::info, export_flatten, "Reshape"},
    {&ops::Flip::info, export_flip, "Slice"},
    {&ops::Floor::info, export_rounding, "Floor"},
    {&ops::FloorDiv::info, export_floor_div, "Div, Floor"},
    {&ops::Full::info, export_full, "ConstantOfShape"},
    {&ops::FullLike::info, export_full_like, "ConstantOfShape"},
    {&ops::Gather::info, export_gather, "GatherElements"},
    {&ops::Gelu::info, export_gelu, "Gelu"},
    {&ops::Greater::info, export_comparison, "Greater"},
    {&ops::GreaterEqual::info, export_comparison, "GreaterOrEqual"},
    {&ops::GroupNorm::info, export_group_norm, "GroupNormalization"},
    {&ops::Hsigmoid::info, export_hsigmoid, "HardSigmoid"},
    {&ops::Hswish::info, export_hswish, "HardSwish"},
    {&ops::IndexingOneHot::info, export_indexing_one_hot, "GatherElements"},
    {&ops::IndexingSetOneHot::info, export_indexing_set_one_hot, "ScatterElements"},
    {&ops::IsInf::info, export_float_test, "IsInf"},
    {&ops::IsNan::info, export_float_test, "IsNaN"},
    {&ops::LayerNorm::info, export_layer_norm, "LayerNormalization"},
    {&ops::LeakyRelu::info, export_leaky_relu, "LeakyRelu"},
    {&ops::LeftShift::info, export_shift, "Pow, Mul"},
    {&ops::Less::info, export_comparison, "Less"},
    {&ops::LessEqual::info, export_comparison, "LessOrEqual"},
    {&ops::Linspace::info, export_linspace, "Range"},
    {&ops::Log::info, export_same, "Log"},
    {&ops::Log1p::info, export_log1p, "Add, Log"},
    {&ops::Logaddexp::info, export_logaddexp, "Max, Softplus"},
    {&ops::LogicalAnd::info, export_same, "And"},
    {&ops::LogicalNot::info, export_same, "Not"},
    {&ops::LogicalOr::info, export_same, "Or"},
    {&ops::LogicalXor::info, export_same, "Xor"},
    {&ops::Logsigmoid::info, export_logsigmoid, "Softplus, Neg"},
    {&ops::Matmul::info, export_matmul, "MatMul"},
    {&ops::Max::info, export_reduce, "ReduceMax"},
    {&ops::MaxPool2d::info, export_max_pool2d, "MaxPool"},
    {&ops::Maximum::info, export_same, "Max"},
    {&ops::Mean::info, export_mean, "ReduceMean"},
    {&ops::Min::info, export_reduce, "ReduceMin"},
    {&ops::Minimum::info, export_same, "Min"},
    {&ops::Mod::info, export_mod, "Mod"},
    {&ops::Mul::info, export_same, "Mul"},
    {&ops::Neg::info, export_same, "Neg"},
    {&ops::Nms::info, export_nms, "NonMaxSuppression"},
    {&ops::NotEqual::info, export_not_equal, "Equal, Not"},
    {&ops::OneHot::info, export_one_hot, "OneHot"},
    {&ops::Pad::info, export_pad, "Pad"},
    {&ops::Pow::info, export_same, "Pow"},
    {&ops::Prelu::info, export_prelu, "PRelu"},
    {&ops::Preprocess::info, export_preprocess, "Transpose, Sub, Mul"},
    {&ops::Prod::info, export_reduce, "ReduceProd"},
    {&ops::Quantize::info, export_quantize, "QuantizeLinear"},
    {&ops::QuantizedAdd::info, export_quantized_add, "DequantizeLinear, Add, QuantizeLinear"},
    {&ops::QuantizedConv2d::info, export_quantized_conv2d, "DequantizeLinear, Conv, QuantizeLinear"},
    {&ops::Reciprocal::info, export_same, "Reciprocal"},
    {&ops::ReduceToShape::info, export_reduce_to_shape, "ReduceSum"},
    {&ops::Relu::info, export_relu, "Relu"},
    {&ops::Relu6::info, export_relu6, "Clip"},
    {&ops::Remap::info, export_remap, "GridSample"},
    {&ops::RemoveAxis::info, export_remove_axis, "Squeeze"},
    {&ops::Reshape::info, export_reshape, "Reshape"},
    {&ops::ReshapeLike::info, export_reshape_like, "Reshape"},
    {&ops::RightShift::info, export_shift, "Pow, Div"},
    {&ops::RoiPool2d::info, export_roi_pool2d, "MaxRoiPool"},
    {&ops::Round::info, export_round, "Floor, Sign"},
    {&ops::Rsqrt::info, export_rsqrt, "Sqrt, Reciprocal"},
    {&ops::Scan::info, export_scan, "Scan"},
    {&ops::Scatter::info, export_scatter, "ScatterElements"},
    {&ops::ScatterAdd::info, export_scatter_add, "ScatterElements"},
    {&ops::SetSlice::info, export_set_slice, "ScatterND"},
    {&ops::SetTake::info, export_set_take, "ScatterND"},
    {&ops::ShapeOf::info, export_shape_of, "Shape"},
    {&ops::Sigmoid::info, export_same, "Sigmoid"},
    {&ops::Sign::info, export_same, "Sign"},
    {&ops::Silu::info, export_silu, "Sigmoid, Mul"},
    {&ops::Sin::info, export_same, "Sin"},
    {&ops::Sinh::info, export_same, "Sinh"},
    {&ops::Slice::info, export_slice, "Slice"},
    {&ops::Softmax::info, export_softmax, "Softmax"},
    {&ops::Softplus::info, export_same, "Softplus"},
    {&ops::Sort::info, export_sort, "TopK"},
    {&ops::Split::info, export_split, "Split"},
    {&ops::Sqrt::info, export_same, "Sqrt"},
    {&ops::Square::info, export_square, "Mul"},
    {&ops::Sub::info, export_same, "Sub"},
    {&ops::Sum::info, export_reduce, "ReduceSum"},
    {&ops::Take::info, export_take, "Gather"},
    {&ops::Tan::info, export_same, "Tan"},
    {&ops::Tanh::info, export_same, "Tanh"},
    {&ops::ToDevice::info, export_identity, "Identity"},
    {&ops::Topk::info, export_topk, "TopK"},
    {&ops::Transpose::info, export_transpose, "Transpose"},
    {&ops::WaitFor::info, export_identity, "Identity"},
    {&ops::Where::info, export_same, "Where"},
    {&ops::WhileLoop::info, export_while_loop, "Loop"},
};

}  // namespace

const OperatorRow* find_operator(const OpInfo& op) {
    auto row = std::ranges::find(rows, &op, &OperatorRow::op);
    return row == std::end(rows) ? nullptr : row;
}

}  // namespace mge::to_onnx

namespace mge {

std::vector<std::pair<std::string, std::string>> onnx_counterparts() {
    std::vector<std::pair<std::string, std::string>> result;
    for (auto& row : to_onnx::rows) result.emplace_back(row.op->name, row.type);
    return result;
}

}  // namespace mge
