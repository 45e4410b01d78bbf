// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/convolution/cudnn_operations.cuda.h"

#include <algorithm>

#include "libmge/base/error.h"
#include "libmge/ops/nn/convolution/implicit_gemm.h"

namespace mge::ops {
namespace {

using cuda::CudnnDescriptor, cuda::CudnnDims;

constexpr std::string_view plain_prefix = "cudnn:", fused_prefix = "cudnn_fused:";
constexpr size_t most_candidates = 16;
// Engines may copy what they read and write into a layout that suits them; beyond that it is too much.
constexpr size_t most_workspace = size_t(32) << 20, most_copies = 2;

// Behind those of stored tensors.
enum VirtualId : int64_t { sum_id = z_id + 1, added_id, biased_id };

// How an operator is called in cuDNN.
struct Operation {
    cudnnBackendDescriptorType_t type;
    cudnnBackendAttributeName_t x, weight, y, conv, alpha, beta;
};
constexpr Operation forward{CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
                            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
constexpr Operation backward_data{CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
                                  CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                                  CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                                  CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
                                  CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                                  CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                                  CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
constexpr Operation backward_weight{CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
                                    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                                    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                                    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
                                    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                                    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                                    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};

const Operation& operation_of(const Problem& p) {
    return p.op == Conv2d::name               ? forward
           : p.op == Conv2dBackwardData::name ? backward_data
                                              : backward_weight;
}

CudnnDescriptor window_of_convolution(const ConvGeometry& g) {
    CudnnDescriptor d(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    d.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, int64_t(2));
    d.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    d.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION);
    auto set = [&](cudnnBackendAttributeName_t name, const Pair& pair) {
        d.set(name, CUDNN_TYPE_INT64, std::span<const int64_t>(pair));
    };
    set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, g.padding);
    set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, g.padding);
    set(CUDNN_ATTR_CONVOLUTION_DILATIONS, g.dilation);
    set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, g.stride);
    return d.finalize();
}

// The operations of a problem, with what follows the convolution or without. cuDNN's own order, which it has
// ready engines for: relu(convolution + z + bias).
CudnnDescriptor graph_of(const Problem& p, bool is_fused, const cuda::CudnnTarget& target) {
    auto c = cudnn_convolution(p);
    auto& g = c.geometry;
    auto type = cuda::cudnn_type(p.outputs[0].dtype);
    auto& order = c.order == ImageOrder::plain ? cuda::cudnn_plain : cuda::cudnn_channels_last;
    CudnnDims x_dims{g.n, g.groups * g.ic, g.in[0], g.in[1]},
        y_dims{g.n, g.groups * g.oc, g.out[0], g.out[1]};
    CudnnDims weight_dims{g.groups * g.oc, g.ic, g.kernel[0], g.kernel[1]},
        bias_dims{1, g.groups * g.oc, 1, 1};
    auto x = cuda::cudnn_tensor(x_id, type, x_dims, order);
    auto weight = cuda::cudnn_tensor(weight_id, type, weight_dims, order);
    auto y = cuda::cudnn_tensor(y_id, type, y_dims, order);
    auto between = [&](int64_t id) { return cuda::cudnn_tensor(id, CUDNN_DATA_FLOAT, y_dims, order, true); };

    std::vector<CudnnDescriptor> operations;
    CudnnDescriptor last = is_fused ? between(sum_id) : y;
    auto& names = operation_of(p);
    CudnnDescriptor convolution(names.type);
    convolution.set(names.x, x).set(names.weight, weight).set(names.y, last);
    convolution.set(names.conv, window_of_convolution(g));
    convolution.set(names.alpha, CUDNN_TYPE_FLOAT, 1.f).set(names.beta, CUDNN_TYPE_FLOAT, 0.f).finalize();
    operations.push_back(convolution);
    if (is_fused) {
        auto follows = conv_epilogue(p);
        auto then = [&](cudnnPointwiseMode_t mode, const CudnnDescriptor* operand,
                        const CudnnDescriptor& to) {
            operations.push_back(cuda::cudnn_pointwise(mode, last, operand, to));
            last = to;
        };
        bool is_relu = follows.activation == Activation::relu;
        auto z = cuda::cudnn_tensor(z_id, type, y_dims, order);
        auto bias = cuda::cudnn_tensor(bias_id, type, bias_dims, order);
        if (follows.residual) then(CUDNN_POINTWISE_ADD, &z, between(added_id));
        then(CUDNN_POINTWISE_ADD, &bias, is_relu ? between(biased_id) : y);
        if (is_relu) then(CUDNN_POINTWISE_RELU_FWD, nullptr, y);
    }
    return cuda::cudnn_operation_graph(operations, target);
}

// Engines that keep what the precision promises.
bool keeps_precision(const cuda::CudnnEngine& engine, const Problem& p) {
    auto has = [&](cudnnBackendNumericalNote_t note) { return engine.numerical_notes >> note & 1; };
    if (has(CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION)) return false;
    if (has(CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13) || has(CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6))
        return false;
    bool is_f32 = p.outputs[0].dtype == DType::f32;
    if (has(CUDNN_NUMERICAL_NOTE_WINOGRAD) || has(CUDNN_NUMERICAL_NOTE_FFT)) return is_f32;
    // Without a note of any kind, and yet wrong by 3e-4 of the largest value for 5 x 5 weights (cuDNN 9.19 on
    // an H100).
    bool is_inexact = p.op == Conv2dBackwardWeight::name && engine.name.starts_with("17/");
    if (is_inexact && is_f32 && p.precision == Precision::strict) return false;
    if (!is_f32 || p.precision != Precision::strict) return true;
    return !has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE) && !has(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS);
}
// Those that compile code of their own take seconds to be ready.
bool is_ready(const cuda::CudnnEngine& engine) {
    return !(engine.behavior_notes >> CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION & 1);
}

size_t workspace_limit(const Problem& p) {
    return std::max(most_workspace,
                    most_copies * (p.inputs[0].bytes() + p.inputs[1].bytes() + p.outputs[0].bytes()));
}

void add_candidates(const Problem& p, bool is_fused, const cuda::CudnnTarget& target,
                    std::vector<Candidate>& result) {
    auto graph = graph_of(p, is_fused, target);
    for (auto& engine : cuda::cudnn_engines(graph, target)) {
        if (result.size() == most_candidates) break;
        if (!keeps_precision(engine, p) || !is_ready(engine)) continue;
        auto plan = cuda::cudnn_plan(engine.config, target);
        if (!plan || plan->workspace > workspace_limit(p)) continue;
        bool is_reproducible = !(engine.numerical_notes >> CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC & 1);
        result.push_back({text(is_fused ? fused_prefix : plain_prefix, engine.name),
                          0,
                          {.reproducible = is_reproducible,
                           .accuracy_depends_on_batch = true,
                           .usable_depends_on_shape = true}});
    }
}

}  // namespace

CudnnConvolution cudnn_convolution(const Problem& p) {
    CudnnConvolution c;
    bool is_forward = p.op == Conv2d::name, is_data = p.op == Conv2dBackwardData::name;
    c.geometry = is_forward ? forward_geometry(p)
                 : is_data  ? backward_data_geometry(p)
                            : backward_weight_geometry(p);
    c.order = order_of_images(p).value_or(ImageOrder::plain);
    c.ids = {x_id, weight_id, y_id};
    if (is_data) c.ids = {weight_id, y_id, x_id};
    if (!is_forward && !is_data) c.ids = {x_id, y_id, weight_id};
    auto& g = c.geometry;
    c.weight_is_turned = c.order == ImageOrder::channels_last && g.ic > 1 && g.kernel[0] * g.kernel[1] > 1;
    return c;
}

ConvEpilogue conv_epilogue(const Problem& p) {
    if (p.op != Conv2d::name) return {};
    return {p.has_input(2), p.has_input(3), p.as<Conv2d::Params>().activation};
}

std::vector<Candidate> cudnn_candidates(const Problem& p, const cuda::CudnnTarget& target) {
    std::vector<Candidate> result;
    if (conv_epilogue(p).can_be_fused()) add_candidates(p, true, target, result);
    add_candidates(p, false, target, result);
    std::ranges::stable_partition(result, [](auto& c) { return c.attributes.reproducible; });
    return result;
}

bool is_fused_candidate(std::string_view name) { return name.starts_with(fused_prefix); }

cuda::CudnnPlan cudnn_candidate_plan(const Problem& p, std::string_view name,
                                     const cuda::CudnnTarget& target) {
    bool is_fused = is_fused_candidate(name);
    auto graph = graph_of(p, is_fused, target);
    auto config = name.substr(is_fused ? fused_prefix.size() : plain_prefix.size());
    auto plan = cuda::cudnn_plan(cuda::cudnn_config(graph, config, target), target);
    if (!plan) throw DeviceError(text("[", p.op, "] cuDNN makes no plan of ", name, " any more"));
    return *plan;
}

}  // namespace mge::ops
