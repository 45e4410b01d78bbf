// SPDX-License-Identifier: Apache-2.0
#pragma once
// The three operators of a convolution as operation graphs of cuDNN's: which engines there are for a problem,
// and the plan of one. Nothing here needs a GPU.

#include <array>
#include <string_view>
#include <vector>

#include "libmge/kernel/cuda/cudnn/cudnn_graph.h"
#include "libmge/ops/nn/convolution/geometry.h"
#include "libmge/ops/nn/image_order.cuda.h"

namespace mge::ops {

// Numbers of the tensors in an operation graph; z is the residual.
enum CudnnId : int64_t { x_id, weight_id, y_id, bias_id, z_id };

// The cuDNN operation for an operator. The weight is input 1 of the forward operator, input 0 of the gradient
// for x, and the result of the gradient for the weight.
struct CudnnConvolution {
    ConvGeometry geometry;
    ImageOrder order;
    std::array<CudnnId, 3> ids;  // ids of input 0, input 1 and the output
    // Weights need the layout of images, which differs from ours if there are axes to exchange.
    bool weight_is_turned = false;
};
CudnnConvolution cudnn_convolution(const Problem& problem);

// The epilogue of a convolution.
struct ConvEpilogue {
    bool bias = false, residual = false;
    Activation activation = Activation::none;

    bool is_nothing() const { return !bias && !residual && activation == Activation::none; }
    // Epilogues for which cuDNN has ready engines; they require a bias.
    bool can_be_fused() const {
        return bias && (activation == Activation::none || without_nan(activation) == Activation::relu);
    }
};
ConvEpilogue conv_epilogue(const Problem& problem);

inline constexpr size_t most_cudnn_candidates = 16;

// For steps (int8), all with channels last: the sums of their products, in int32.
cuda::CudnnDescriptor step_convolution_graph(const ConvGeometry& g, const cuda::CudnnTarget& target);

// "cudnn:" and the name of a configuration (kernel/cuda/cudnn/cudnn_graph.h), or "cudnn_fused:" where it does
// what follows the convolution too; best guess first.
std::vector<Candidate> cudnn_candidates(const Problem& problem, const cuda::CudnnTarget& target);
bool is_fused_candidate(std::string_view name);
// DeviceError when cuDNN makes none any more.
cuda::CudnnPlan cudnn_candidate_plan(const Problem& problem, std::string_view name,
                                     const cuda::CudnnTarget& target);

}  // namespace mge::ops
