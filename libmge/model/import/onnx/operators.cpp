// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/import/onnx/operators.h"

#include <algorithm>
#include <iterator>

#include "libmge/model/import/onnx/families.h"
#include "libmge/model/import/onnx/onnx.h"
#include "libmge/model/import/onnx/operators/grouped_attention.h"
#include "libmge/model/import/onnx/operators/many_axes.h"
#include "libmge/ops/elementwise/activation.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/bits.h"
#include "libmge/ops/elementwise/comparison.h"
#include "libmge/ops/elementwise/exponential.h"
#include "libmge/ops/elementwise/trigonometric.h"

namespace mge::onnx {
namespace {

// What is one operator of ours, with nothing to say beside its input.
template <const auto& f>
Tensors one(const Site& site) {
    if (site.opset < 6) site.attributes.integers("consumed_inputs");
    return {f(site.in(0))};
}
template <const auto& f>
Tensors of_two(const Site& site) {
    return {f(site.in(0), site.in(1))};
}

// Of tensors of more axes than ours, too.
template <ImportFunction f>
Tensors along_any_axes(const Site& site) {
    Tensor combined = combined_axes(site, f);
    return combined ? Tensors{combined} : f(site);
}

constexpr int any = oldest_opset, last = newest_opset;

// Sorted by name. The versions are those whose meaning the function has.
constexpr OperatorRow rows[] = {
    {"Abs", any, last, one<ops::abs>},
    {"Acos", any, last, one<ops::acos>},
    {"Acosh", any, last, one<ops::acosh>},
    {"Add", any, last, along_any_axes<import_add>, false, true},
    {"AffineGrid", 20, last, import_affine_grid},
    {"And", any, last, import_and},
    {"ArgMax", any, last, import_arg_max},
    {"ArgMin", any, last, import_arg_min},
    {"Asin", any, last, one<ops::asin>},
    {"Asinh", any, last, one<ops::asinh>},
    {"Atan", any, last, one<ops::atan>},
    {"Atanh", any, last, one<ops::atanh>},
    {"Attention", 23, last, import_attention},
    {"AveragePool", any, last, import_average_pool},
    {"BatchNormalization", any, last, import_batch_norm},
    {"Bernoulli", 15, last, import_bernoulli},
    {"BitCast", 26, last, import_bit_cast},
    {"BitShift", 11, last, import_bit_shift},
    {"BitwiseAnd", 18, last, of_two<ops::bitwise_and>},
    {"BitwiseNot", 18, last, one<ops::bitwise_not>},
    {"BitwiseOr", 18, last, of_two<ops::bitwise_or>},
    {"BitwiseXor", 18, last, of_two<ops::bitwise_xor>},
    {"BlackmanWindow", 17, last, import_blackman_window},
    {"Cast", any, last, import_cast},
    {"CastLike", 15, last, import_cast_like},
    {"CausalConvWithState", 27, last, import_causal_conv},
    {"Ceil", any, last, one<ops::ceil>},
    {"Celu", 12, last, import_celu},
    {"CenterCropPad", 18, last, import_center_crop_pad},
    {"Clip", any, last, import_clip},
    {"Col2Im", 18, last, import_col2im},
    {"Compress", 9, last, import_compress},
    {"Concat", any, last, import_concat},
    {"ConcatFromSequence", 11, last, import_concat_from_sequence, true},
    {"Constant", any, last, import_constant},
    {"ConstantOfShape", 9, last, import_constant_of_shape},
    {"Conv", any, last, import_conv},
    {"ConvInteger", 10, last, import_conv_integer},
    {"ConvTranspose", any, last, import_conv_transpose},
    {"Cos", any, last, one<ops::cos>},
    {"Cosh", any, last, one<ops::cosh>},
    {"CumProd", 26, last, import_cum_prod},
    {"CumSum", 11, last, import_cum_sum},
    {"DFT", 17, last, import_dft},
    {"DeformConv", 19, last, import_deform_conv},
    {"DepthToSpace", any, last, import_depth_to_space},
    {"DequantizeLinear", 10, last, import_dequantize_linear},
    {"Det", 11, last, import_det},
    {"Div", any, last, import_div},
    {"Dropout", any, last, import_dropout},
    {"DynamicQuantizeLinear", 11, last, import_dynamic_quantize_linear},
    {"Einsum", 12, last, import_einsum},
    {"Elu", any, last, import_elu},
    {"Equal", any, last, import_equal},
    {"Erf", 9, last, one<ops::erf>},
    {"Erfc", 9, last, import_erfc},
    {"Exp", any, last, one<ops::exp>},
    {"Expand", 8, last, import_expand},
    {"EyeLike", 9, last, import_eye_like},
    {"Flatten", any, last, import_flatten},
    {"Floor", any, last, one<ops::floor>},
    {"GRU", 7, last, import_gru},
    {"Gather", any, last, import_gather},
    {"GatherElements", 11, last, import_gather_elements},
    {"GatherND", 11, last, import_gather_nd},
    {"Gelu", 20, last, import_gelu},
    {"Gemm", any, last, import_gemm},
    {"GlobalAveragePool", any, last, import_global_average_pool},
    {"GlobalLpPool", any, last, import_global_lp_pool},
    {"GlobalMaxPool", any, last, import_global_max_pool},
    {"Greater", any, last, import_greater},
    {"GreaterOrEqual", 12, last, of_two<ops::greater_equal>},
    {"GridSample", 16, last, import_grid_sample},
    {"GroupNormalization", 18, last, import_group_norm},
    {"HammingWindow", 17, last, import_hamming_window},
    {"HannWindow", 17, last, import_hann_window},
    {"HardSigmoid", any, last, import_hard_sigmoid},
    {"HardSwish", 14, last, one<ops::hswish>},
    {"Hardmax", any, last, import_hardmax},
    {"Identity", any, last, import_identity, true},
    {"If", any, last, import_if, true},
    {"InstanceNormalization", any, last, import_instance_norm},
    {"IsInf", 10, last, import_is_inf},
    {"IsNaN", 9, last, one<ops::isnan>},
    {"LRN", any, last, import_local_response_norm},
    {"LSTM", 7, last, import_lstm},
    {"LayerNormalization", any, last, import_layer_norm},
    {"LeakyRelu", any, last, import_leaky_relu},
    {"Less", any, last, import_less},
    {"LessOrEqual", 12, last, of_two<ops::less_equal>},
    {"LinearAttention", 27, last, import_linear_attention},
    {"Log", any, last, one<ops::log>},
    {"LogSoftmax", any, last, import_log_softmax},
    {"Loop", any, last, import_loop, true},
    {"LpNormalization", any, last, import_lp_norm},
    {"LpPool", any, last, import_lp_pool},
    {"MatMul", any, last, import_matmul},
    {"MatMulInteger", 10, last, import_matmul_integer},
    {"Max", any, last, import_max},
    {"MaxPool", any, last, import_max_pool},
    {"MaxRoiPool", any, last, import_max_roi_pool},
    {"MaxUnpool", 9, last, import_max_unpool},
    {"Mean", any, last, import_mean},
    {"MeanVarianceNormalization", 9, last, import_mean_variance_norm},
    {"MelWeightMatrix", 17, last, import_mel_weight_matrix},
    {"Min", any, last, import_min},
    {"Mish", 18, last, import_mish},
    {"Mod", 10, last, import_mod},
    {"Mul", any, last, along_any_axes<import_mul>, false, true},
    {"Multinomial", 7, last, import_multinomial},
    {"Neg", any, last, one<ops::neg>},
    {"NegativeLogLikelihoodLoss", 12, last, import_negative_log_likelihood},
    {"NonMaxSuppression", 10, last, import_non_max_suppression},
    {"NonZero", 9, last, import_non_zero},
    {"Not", 1, last, one<ops::logical_not>},
    {"OneHot", 9, last, import_one_hot},
    {"Optional", 15, last, import_optional, true},
    {"OptionalGetElement", 15, last, import_optional_get_element, true},
    {"OptionalHasElement", 15, last, import_optional_has_element, true},
    {"Or", any, last, import_or},
    {"PRelu", any, last, import_prelu},
    {"Pad", any, last, import_pad},
    {"Pow", any, last, import_pow},
    {"QLinearConv", 10, last, import_qlinear_conv},
    {"QLinearMatMul", 10, last, import_qlinear_matmul},
    {"QuantizeLinear", 10, last, import_quantize_linear},
    {"RMSNormalization", 23, last, import_rms_norm},
    {"RNN", 7, last, import_rnn},
    {"RandomNormal", any, last, import_random_normal},
    {"RandomNormalLike", any, last, import_random_normal_like},
    {"RandomUniform", any, last, import_random_uniform},
    {"RandomUniformLike", any, last, import_random_uniform_like},
    {"Range", 11, last, import_range},
    {"Reciprocal", any, last, one<ops::reciprocal>},
    {"ReduceL1", any, last, import_reduce_l1},
    {"ReduceL2", any, last, import_reduce_l2},
    {"ReduceLogSum", any, last, import_reduce_log_sum},
    {"ReduceLogSumExp", any, last, import_reduce_log_sum_exp},
    {"ReduceMax", any, last, import_reduce_max},
    {"ReduceMean", any, last, import_reduce_mean},
    {"ReduceMin", any, last, import_reduce_min},
    {"ReduceProd", any, last, import_reduce_prod},
    {"ReduceSum", any, last, import_reduce_sum},
    {"ReduceSumSquare", any, last, import_reduce_sum_square},
    {"Relu", any, last, import_relu},
    {"Reshape", any, last, import_reshape, false, true},
    {"Resize", 10, last, import_resize},
    {"ReverseSequence", 10, last, import_reverse_sequence},
    {"RoiAlign", 10, last, import_roi_align},
    {"RotaryEmbedding", 23, last, import_rotary_embedding},
    {"Round", 11, last, one<ops::round_to_even>},
    {"STFT", 17, last, import_stft},
    {"Scan", 8, last, import_scan},
    {"Scatter", 9, 10, import_scatter_elements},
    {"ScatterElements", 11, last, import_scatter_elements},
    {"ScatterND", 11, last, import_scatter_nd},
    {"Selu", any, last, import_selu},
    {"SequenceAt", 11, last, import_sequence_at, true},
    {"SequenceConstruct", 11, last, import_sequence_construct, true},
    {"SequenceEmpty", 11, last, import_sequence_empty, true},
    {"SequenceErase", 11, last, import_sequence_erase, true},
    {"SequenceInsert", 11, last, import_sequence_insert, true},
    {"SequenceLength", 11, last, import_sequence_length, true},
    {"SequenceMap", 17, last, import_sequence_map, true},
    {"Shape", any, last, import_shape},
    {"Shrink", 9, last, import_shrink},
    {"Sigmoid", any, last, one<ops::sigmoid>},
    {"Sign", 9, last, import_sign},
    // ONNX Runtime puts it, and older LayerNormalization, into the domain of the standard.
    {"SimplifiedLayerNormalization", any, last, import_rms_norm},
    {"Sin", any, last, one<ops::sin>},
    {"Sinh", any, last, one<ops::sinh>},
    {"Size", any, last, import_size},
    {"Slice", any, last, import_slice},
    {"Softmax", any, last, import_softmax},
    {"SoftmaxCrossEntropyLoss", 12, last, import_softmax_cross_entropy},
    {"Softplus", any, last, one<ops::softplus>},
    {"Softsign", any, last, import_softsign},
    {"SpaceToDepth", any, last, import_space_to_depth},
    {"Split", any, last, import_split},
    {"SplitToSequence", 11, last, import_split_to_sequence, true},
    {"Sqrt", any, last, one<ops::sqrt>},
    {"Squeeze", any, last, import_squeeze},
    {"Sub", any, last, along_any_axes<import_sub>, false, true},
    {"Sum", any, last, import_sum},
    {"SwiGLU", 28, last, import_swiglu},
    {"Swish", 24, last, import_swish},
    {"Tan", any, last, one<ops::tan>},
    {"Tanh", any, last, one<ops::tanh>},
    {"TensorScatter", 24, last, import_tensor_scatter},
    {"TfIdfVectorizer", 9, last, import_tf_idf_vectorizer},
    {"ThresholdedRelu", 10, last, import_thresholded_relu},
    {"Tile", any, last, import_tile},
    {"TopK", any, last, import_topk},
    {"Transpose", any, last, import_transpose, false, true},
    {"Trilu", 14, last, import_trilu},
    {"Unique", 11, last, import_unique},
    {"Unsqueeze", any, last, import_unsqueeze, false, true},
    {"Upsample", 7, 9, import_upsample},
    {"Where", 9, last, import_where},
    {"Xor", any, last, import_xor},
};

// What ONNX Runtime's quantiser and optimizer write. Sorted by name; they have one version.
constexpr OperatorRow runtime_rows[] = {
    {"Attention", 1, last, import_runtime_attention},
    {"BiasGelu", 1, last, import_bias_gelu},
    {"DequantizeLinear", 1, last, import_dequantize_linear},
    {"DynamicQuantizeLSTM", 1, last, import_quantised_lstm},
    {"DynamicQuantizeMatMul", 1, last, import_product_with_integers},
    {"EmbedLayerNormalization", 1, last, import_embed_layer_norm},
    {"FastGelu", 1, last, import_fast_gelu},
    {"FusedConv", 1, last, import_fused_conv},
    {"FusedGemm", 1, last, import_fused_gemm},
    {"FusedMatMul", 1, last, import_fused_matmul},
    {"Gelu", 1, last, one<ops::gelu>},
    {"GroupQueryAttention", 1, last, import_group_query_attention},
    {"MatMulIntegerToFloat", 1, last, import_product_of_integers},
    {"MatMulNBits", 1, last, import_matmul_nbits},
    {"MultiHeadAttention", 1, last, import_multi_head_attention},
    {"QAttention", 1, last, import_quantised_attention},
    {"QEmbedLayerNormalization", 1, last, import_quantised_embed_layer_norm},
    {"QGemm", 1, last, import_quantised_gemm},
    {"QLinearAdd", 1, last, import_quantised_add},
    {"QLinearAveragePool", 1, last, import_quantised_average_pool},
    {"QLinearConcat", 1, last, import_quantised_concat},
    {"QLinearGlobalAveragePool", 1, last, import_quantised_average},
    {"QLinearLeakyRelu", 1, last, import_quantised_leaky_relu},
    {"QLinearMul", 1, last, import_quantised_mul},
    {"QLinearReduceMean", 1, last, import_quantised_mean},
    {"QLinearSigmoid", 1, last, import_quantised_sigmoid},
    {"QLinearSoftmax", 1, last, import_quantised_softmax},
    {"QLinearWhere", 1, last, import_quantised_where},
    {"QuantizeLinear", 1, last, import_quantize_linear},
    {"QuickGelu", 1, last, import_quick_gelu},
    {"RotaryEmbedding", 1, last, import_runtime_rotary_embedding},
    {"SkipLayerNormalization", 1, last, import_skip_layer_norm},
    {"SkipSimplifiedLayerNormalization", 1, last, import_skip_rms_norm},
};

// Steps of optimizers. Sorted by name; they have one version.
constexpr std::string_view training_domain = "ai.onnx.preview.training";
constexpr OperatorRow training_rows[] = {
    {"Adagrad", 1, 1, import_adagrad},
    {"Adam", 1, 1, import_adam},
    {"Momentum", 1, 1, import_momentum},
};

// What may still change. Sorted by name; they have one version.
constexpr std::string_view preview_domain = "ai.onnx.preview";
constexpr OperatorRow preview_rows[] = {
    {"FlexAttention", 1, 1, import_flex_attention},
};

// Of the domain of classical learning, by its own versions.
constexpr int newest_learning = 5;
constexpr OperatorRow learning_rows[] = {
    {"ArrayFeatureExtractor", 1, newest_learning, import_array_feature_extractor},
    {"Binarizer", 1, newest_learning, import_binarizer},
    {"FeatureVectorizer", 1, newest_learning, import_feature_vectorizer},
    {"Imputer", 1, newest_learning, import_imputer},
    {"LabelEncoder", 2, newest_learning, import_label_encoder},
    {"LinearClassifier", 1, newest_learning, import_linear_classifier},
    {"LinearRegressor", 1, newest_learning, import_linear_regressor},
    {"Normalizer", 1, newest_learning, import_normalizer},
    {"OneHotEncoder", 1, newest_learning, import_one_hot_encoder},
    {"SVMClassifier", 1, newest_learning, import_svm_classifier},
    {"SVMRegressor", 1, newest_learning, import_svm_regressor},
    {"Scaler", 1, newest_learning, import_scaler},
    {"TreeEnsemble", 5, newest_learning, import_tree_ensemble},
    {"TreeEnsembleClassifier", 1, newest_learning, import_tree_ensemble_classifier},
    {"TreeEnsembleRegressor", 1, newest_learning, import_tree_ensemble_regressor},
    {"ZipMap", 1, newest_learning, import_zip_map},
};

std::span<const OperatorRow> rows_of(std::string_view domain) {
    if (is_standard(domain)) return rows;
    if (domain == learning_domain) return learning_rows;
    if (domain == preview_domain) return preview_rows;
    if (domain == training_domain) return training_rows;
    if (domain == "com.microsoft") return runtime_rows;
    return {};
}

}  // namespace

bool is_standard(std::string_view domain) { return domain.empty() || domain == "ai.onnx"; }

const OperatorRow* find_operator(std::string_view domain, std::string_view name, int opset) {
    auto rows = rows_of(domain);
    auto row = std::ranges::lower_bound(rows, name, {}, &OperatorRow::name);
    for (; row != rows.end() && row->name == name; ++row)
        if (opset >= row->first && opset <= row->last) return &*row;
    return nullptr;
}

std::vector<std::tuple<std::string, int, int>> known_operators() {
    std::vector<std::tuple<std::string, int, int>> result;
    for (auto& row : rows) result.emplace_back(row.name, row.first, row.last);
    for (auto& row : learning_rows)
        result.emplace_back(text(learning_domain, '.', row.name), row.first, row.last);
    for (auto& row : preview_rows)
        result.emplace_back(text(preview_domain, '.', row.name), row.first, row.last);
    for (auto& row : training_rows)
        result.emplace_back(text(training_domain, '.', row.name), row.first, row.last);
    return result;
}

}  // namespace mge::onnx
