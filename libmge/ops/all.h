// SPDX-License-Identifier: Apache-2.0
#pragma once
// Every operator, one line each, sorted. Kernel tables, Python, files, documentation and tests are derived
// from this list.

#include "libmge/op/backend.h"
#include "libmge/ops/collective/collective.h"
#include "libmge/ops/control/cond.h"
#include "libmge/ops/control/scan.h"
#include "libmge/ops/control/while_loop.h"
#include "libmge/ops/create/arange.h"
#include "libmge/ops/create/eye.h"
#include "libmge/ops/create/full.h"
#include "libmge/ops/effect/assert_equal.h"
#include "libmge/ops/elementwise/activation.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/bits.h"
#include "libmge/ops/elementwise/clip.h"
#include "libmge/ops/elementwise/comparison.h"
#include "libmge/ops/elementwise/convert/bit_cast.h"
#include "libmge/ops/elementwise/convert/convert.h"
#include "libmge/ops/elementwise/convert/convert_narrow.h"
#include "libmge/ops/elementwise/exponential.h"
#include "libmge/ops/elementwise/fused/fused.h"
#include "libmge/ops/elementwise/fused/fused_region.h"
#include "libmge/ops/elementwise/trigonometric.h"
#include "libmge/ops/elementwise/where.h"
#include "libmge/ops/index/cond_take.h"
#include "libmge/ops/index/embedding.h"
#include "libmge/ops/index/gather.h"
#include "libmge/ops/index/one_hot.h"
#include "libmge/ops/index/order/sort.h"
#include "libmge/ops/index/order/unique.h"
#include "libmge/ops/index/slice/slice.h"
#include "libmge/ops/index/take.h"
#include "libmge/ops/linalg/matinv.h"
#include "libmge/ops/linalg/matmul.h"
#include "libmge/ops/linalg/svd.h"
#include "libmge/ops/move/to_device.h"
#include "libmge/ops/nn/attention/attention.h"
#include "libmge/ops/nn/batch_norm.h"
#include "libmge/ops/nn/convolution/conv2d.h"
#include "libmge/ops/nn/ctc_loss.h"
#include "libmge/ops/nn/group_norm.h"
#include "libmge/ops/nn/layer_norm.h"
#include "libmge/ops/nn/pooling/adaptive_pool2d.h"
#include "libmge/ops/nn/pooling/pool2d.h"
#include "libmge/ops/nn/softmax.h"
#include "libmge/ops/optimize/adadelta_step.h"
#include "libmge/ops/optimize/adagrad_step.h"
#include "libmge/ops/optimize/adam_step.h"
#include "libmge/ops/optimize/lamb_step.h"
#include "libmge/ops/optimize/sgd_step.h"
#include "libmge/ops/quantize/compressed/compressed_matmul.h"
#include "libmge/ops/quantize/compressed/expand_weight.h"
#include "libmge/ops/quantize/convolution/quantized_conv2d.h"
#include "libmge/ops/quantize/fake_quantize.h"
#include "libmge/ops/quantize/map_bytes.h"
#include "libmge/ops/quantize/quantize.h"
#include "libmge/ops/quantize/quantized_add.h"
#include "libmge/ops/random/distribution.h"
#include "libmge/ops/random/dropout.h"
#include "libmge/ops/random/gamma.h"
#include "libmge/ops/random/multinomial.h"
#include "libmge/ops/random/permutation.h"
#include "libmge/ops/random/poisson.h"
#include "libmge/ops/reduce/arg_extreme.h"
#include "libmge/ops/reduce/cumsum.h"
#include "libmge/ops/reduce/reduce.h"
#include "libmge/ops/shape/broadcast.h"
#include "libmge/ops/shape/concat.h"
#include "libmge/ops/shape/flip.h"
#include "libmge/ops/shape/layout/reorder.h"
#include "libmge/ops/shape/layout/take_channels.h"
#include "libmge/ops/shape/layout/transpose.h"
#include "libmge/ops/shape/pad.h"
#include "libmge/ops/shape/reduce_to_shape.h"
#include "libmge/ops/shape/reshape.h"
#include "libmge/ops/shape/shape_of.h"
#include "libmge/ops/shape/split.h"
#include "libmge/ops/shape/wait_for.h"
#include "libmge/ops/trees/tree_ensemble.h"
#include "libmge/ops/vision/class_nms.h"
#include "libmge/ops/vision/deformable_roi_pool2d.h"
#include "libmge/ops/vision/nms.h"
#include "libmge/ops/vision/preprocess.h"
#include "libmge/ops/vision/remap.h"
#include "libmge/ops/vision/roi_pool2d.h"

namespace mge {

// clang-format off
using AllOps = TypeList<
    ops::Abs,
    ops::Acos,
    ops::Acosh,
    ops::AdadeltaStep,
    ops::AdagradStep,
    ops::AdamStep,
    ops::AdaptiveAvgPool2d,
    ops::AdaptiveAvgPool2dBackward,
    ops::AdaptiveMaxPool2d,
    ops::AdaptiveMaxPool2dBackward,
    ops::AdaptiveMaxPool2dSelect,
    ops::Add,
    ops::AddAxis,
    ops::AddSlice,
    ops::AddTake,
    ops::Arange,
    ops::Argmax,
    ops::Argmin,
    ops::Asin,
    ops::Asinh,
    ops::AssertEqual,
    ops::Atan,
    ops::Atan2,
    ops::Atanh,
    ops::AvgPool2d,
    ops::AvgPool2dBackward,
    ops::Attention,
    ops::AttentionBackward,
    ops::BatchNorm,
    ops::BatchNormBackward,
    ops::Beta,
    ops::BitCast,
    ops::BitwiseAnd,
    ops::BitwiseNot,
    ops::BitwiseOr,
    ops::BitwiseXor,
    ops::BroadcastLike,
    ops::BroadcastTo,
    ops::Ceil,
    ops::ClassNms,
    ops::Clip,
    ops::Collective,
    ops::CompressedMatmul,
    ops::Concat,
    ops::Cond,
    ops::CondTake,
    ops::Conv2d,
    ops::Conv2dBackwardData,
    ops::Conv2dBackwardWeight,
    ops::Convert,
    ops::ConvertNarrow,
    ops::Copy,
    ops::Cos,
    ops::Cosh,
    ops::CtcLoss,
    ops::CtcLossBackward,
    ops::Cumsum,
    ops::DeformableRoiPool2d,
    ops::DeformableRoiPool2dBackward,
    ops::Dequantize,
    ops::Div,
    ops::Dropout,
    ops::Embedding,
    ops::EmbeddingBackward,
    ops::Equal,
    ops::Erf,
    ops::Exp,
    ops::ExpandWeight,
    ops::Expm1,
    ops::Eye,
    ops::FakeQuantize,
    ops::Flatten,
    ops::Flip,
    ops::Floor,
    ops::FloorDiv,
    ops::Full,
    ops::FullLike,
    ops::FusedElementwise,
    ops::FusedRegion,
    ops::Gamma,
    ops::Gather,
    ops::Gelu,
    ops::GeluSlope,
    ops::Greater,
    ops::GreaterEqual,
    ops::GroupNorm,
    ops::GroupNormBackward,
    ops::Hsigmoid,
    ops::Hswish,
    ops::IndexingOneHot,
    ops::IndexingSetOneHot,
    ops::IsInf,
    ops::IsNan,
    ops::LambStep,
    ops::LayerNorm,
    ops::LayerNormBackward,
    ops::LeakyRelu,
    ops::LeftShift,
    ops::Less,
    ops::LessEqual,
    ops::Linspace,
    ops::Log,
    ops::Log1p,
    ops::Logaddexp,
    ops::LogicalAnd,
    ops::LogicalNot,
    ops::LogicalOr,
    ops::LogicalXor,
    ops::Logsigmoid,
    ops::MapBytes,
    ops::Matinv,
    ops::Matmul,
    ops::Max,
    ops::MaxPool2d,
    ops::MaxPool2dBackward,
    ops::MaxPool2dSelect,
    ops::Maximum,
    ops::Mean,
    ops::Min,
    ops::Minimum,
    ops::Mod,
    ops::Mul,
    ops::Multinomial,
    ops::Neg,
    ops::Nms,
    ops::Normal,
    ops::NotEqual,
    ops::OneHot,
    ops::Pad,
    ops::PadBackward,
    ops::Permutation,
    ops::Poisson,
    ops::Pow,
    ops::Prelu,
    ops::Preprocess,
    ops::Prod,
    ops::Quantize,
    ops::QuantizedAdd,
    ops::QuantizedConv2d,
    ops::Reciprocal,
    ops::ReduceToShape,
    ops::Relu,
    ops::Relu6,
    ops::Remap,
    ops::RemapBackwardData,
    ops::RemapBackwardMap,
    ops::RemoveAxis,
    ops::Reorder,
    ops::Reshape,
    ops::ReshapeLike,
    ops::RightShift,
    ops::RoiPool2d,
    ops::RoiPool2dBackward,
    ops::Round,
    ops::RoundToEven,
    ops::Rsqrt,
    ops::Scan,
    ops::Scatter,
    ops::ScatterAdd,
    ops::SetSlice,
    ops::SetTake,
    ops::SgdStep,
    ops::ShapeOf,
    ops::Sigmoid,
    ops::Sign,
    ops::Silu,
    ops::Sin,
    ops::Sinh,
    ops::Slice,
    ops::Softmax,
    ops::Softplus,
    ops::Sort,
    ops::Split,
    ops::Sqrt,
    ops::Square,
    ops::Sub,
    ops::Sum,
    ops::Svd,
    ops::Take,
    ops::TakeChannels,
    ops::Tan,
    ops::Tanh,
    ops::ToDevice,
    ops::Topk,
    ops::Transpose,
    ops::TreeEnsemble,
    ops::Uniform,
    ops::Unique,
    ops::WaitFor,
    ops::Where,
    ops::WhileLoop>;
// clang-format on

}  // namespace mge
