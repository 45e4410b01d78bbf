// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/import/megengine/operators.h"

#include <algorithm>

#include "libmge/model/import/megengine/families.h"

namespace mge::megengine {
namespace {

// Sorted by type. Host2DeviceCopy (an input) and AssertEqual (a test) are part of the graph's outside:
// build_graph.cpp.
constexpr OperatorRow rows[] = {
    {"AdaptivePooling", import_adaptive_pooling},
    {"Alloc", import_alloc},
    {"Argmax", import_argmax},
    {"Argmin", import_argmin},
    {"Argsort", import_argsort, 2},
    {"AxisAddRemove", import_axis_add_remove},
    {"BatchNorm", import_batch_norm, 0, count_batch_norm},
    {"BatchedMatrixMul", import_batched_matmul},
    {"Broadcast", import_broadcast},
    {"Concat", import_concat},
    {"CondTake", import_cond_take, 2},
    {"ConvBiasForward", import_conv_bias},
    {"Convolution", import_convolution},
    {"Convolution3D", import_convolution3d},
    {"Convolution3DBackwardData", import_deconvolution3d},
    {"ConvolutionBackwardData", import_deconvolution},
    {"Copy", import_same},
    {"CorrelationForward", import_correlation},
    {"Cumsum", import_cumsum},
    {"CvtColor", import_colours},
    {"DeformableConvForward", import_deformable_convolution},
    {"DeformablePSROIPoolingForward", import_deformable_roi_pooling, 2},
    {"Diag", import_diagonal},
    {"Dimshuffle", import_dimshuffle},
    {"Dot", import_dot},
    {"Dropout", import_dropout, 2},
    {"Elemwise", import_elemwise},
    {"ElemwiseMultiType", import_elemwise_multi_type},
    {"Eye", import_eye},
    {"FakeQuant", import_fake_quantisation},
    {"Flip", import_flip},
    {"GaussianRNG", import_normal},
    {"GeneralNorm", import_general_norm, 3},
    {"GetVarShape", import_get_var_shape},
    {"GroupLocal", import_local},
    {"GroupNorm", import_group_norm, 3},
    {"Identity", import_same},
    {"Images2Neibs", import_images_to_neighbours},
    {"ImmutableTensor", import_constants, 0, count_constants},
    {"IncrSubtensor", import_incr_subtensor},
    {"IndexingIncrMultiAxisVec", import_incr_take},
    {"IndexingMultiAxisVec", import_take},
    {"IndexingOneHot", import_one_hot},
    {"IndexingSetMultiAxisVec", import_set_take},
    {"IndexingSetOneHot", import_set_one_hot},
    {"InstanceNorm", import_instance_norm, 3},
    {"LRN", import_local_response_norm},
    {"LSQ", import_learned_steps},
    {"LSTMCellForward", import_lstm_cell, 3},
    {"LSTMForward", import_lstm, 4},
    {"LayerNorm", import_layer_norm, 3},
    {"Linspace", import_linspace},
    {"Local", import_local},
    {"MarkDynamicVar", import_same},
    {"MarkNoBroadcastElemwise", import_same},
    {"MaskedFill", import_masked_fill},
    {"MatrixInverse", import_matrix_inverse},
    {"MatrixMul", import_matmul},
    {"MeshIndexing", import_mesh},
    {"MultiHeadAttn", import_multi_head_attention, 4},
    {"MultipleDeviceTensorHolder", import_constants, 0, count_constants},
    {"MultipleDeviceTensorWithFormatHolder", import_constants, 0, count_constants},
    {"NMSKeepMGB", import_nms_keep, 2},
    {"Padding", import_padding},
    {"Pooling", import_pooling},
    {"PowC", import_power},
    {"RNNCellForward", import_rnn_cell},
    {"RNNForward", import_rnn, 3},
    {"ROIAlign", import_roi_align, 2},
    {"ROIPooling", import_roi_pooling, 2},
    {"Reduce", import_reduce},
    {"RelayoutFormat", import_relayout},
    {"Remap", import_remap},
    {"Reshape", import_reshape},
    {"Resize", import_resize},
    {"Resize3D", import_resize3d},
    {"Rotate", import_rotate},
    {"SVD", import_svd, 3},
    {"SetSubtensor", import_set_subtensor},
    {"SharedDeviceTensor", import_constants, 0, count_constants},
    {"SharedDeviceTensorWithFormat", import_constants, 0, count_constants},
    {"SlidingWindowTranspose", import_sliding_window_transpose},
    {"Softmax", import_softmax},
    {"Split", import_split, 0, count_split},
    {"Subtensor", import_subtensor},
    {"TQT", import_trained_threshold},
    {"TopK", import_topk, 0, count_topk},
    {"TypeCvt", import_convert},
    {"UniformRNG", import_uniform},
    {"VirtualDep", import_same},
    {"VolatileSharedDeviceTensor", import_constants, 0, count_constants},
    {"WarpAffine", import_warp_affine},
    {"WarpPerspective", import_warp_perspective},
    {"Where", import_where},
};

// Sorted: types without a counterpart, so that an error can name them.
constexpr std::string_view other_types[] = {
    "AddUpdate",
    "AssertEqual",
    "BatchConvBiasForward",
    "BatchedMeshIndexing",
    "BatchedSetMeshIndexing",
    "BetaRNG",
    "CheckNonFinite",
    "CollectiveComm",
    "CondExecMark",
    "CondExecMerge",
    "CondExecPred",
    "CondExecPredLogical",
    "Conv3DBias",
    "Convolution3DBackwardFilter",
    "ConvolutionBackwardFilter",
    "Cross",
    "DctChannelSelectForward",
    "ExponentialRNG",
    "ExternCOprRunner",
    "GammaRNG",
    "GaussianBlur",
    "Host2DeviceCopy",
    "IndexingRemap",
    "LocalShareForward",
    "Loop",
    "MultinomialRNG",
    "NonZero",
    "NvOf",
    "PermutationRNG",
    "PoissonRNG",
    "RegionRestrictedConvolution",
    "SeparableConv",
    "SeparableFilter",
    "SetMeshIndexing",
    "ShuffleRNG",
    "ShuffleRNGForward",
    "Sleep",
    "TensorRTRuntimeOpr",
};

}  // namespace

const OperatorRow* find_operator(std::string_view type) {
    auto row = std::ranges::lower_bound(rows, type, {}, &OperatorRow::type);
    return row != std::end(rows) && row->type == type ? row : nullptr;
}

size_t stored_outputs(const OperatorRecord& op) {
    auto* row = find_operator(op.type);
    if (!row) return 1;
    return row->count_outputs ? row->count_outputs(op) : row->outputs;
}

std::vector<std::string_view> known_types() {
    std::vector<std::string_view> types(std::begin(other_types), std::end(other_types));
    for (auto& row : rows) types.push_back(row.type);
    return types;
}

}  // namespace mge::megengine
