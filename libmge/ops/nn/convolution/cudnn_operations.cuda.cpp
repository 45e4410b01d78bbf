// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/convolution/cudnn_operations.cuda.h"

#include <algorithm>

#include "libmge/base/error.h"
#include "libmge/ops/nn/convolution/implicit_gemm.h"
#include "libmge/ops/nn/convolution/turned_weight.cuda.h"

namespace mge::ops {
namespace {

using cuda::CudnnDescriptor, cuda::CudnnDims;

constexpr std::string_view plain_prefix = "cudnn:", fused_prefix = "cudnn_fused:";
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

CudnnDescriptor window_of_convolution(const ConvGeometry& g, cudnnDataType_t sums) {
    CudnnDescriptor d(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    d.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, int64_t(2));
    d.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, sums);
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

CudnnDescriptor convolution_operation(const Operation& names, const ConvGeometry& g, const CudnnDescriptor& x,
                                      const CudnnDescriptor& weight, const CudnnDescriptor& y,
                                      cudnnDataType_t sums) {
    CudnnDescriptor d(names.type);
    d.set(names.x, x).set(names.weight, weight).set(names.y, y);
    d.set(names.conv, window_of_convolution(g, sums));
    // Engines of integers read integers there, whatever they are given (cuDNN 9.19).
    if (sums == CUDNN_DATA_INT32)
        d.set(names.alpha, CUDNN_TYPE_INT32, int32_t(1)).set(names.beta, CUDNN_TYPE_INT32, int32_t(0));
    else
        d.set(names.alpha, CUDNN_TYPE_FLOAT, 1.f).set(names.beta, CUDNN_TYPE_FLOAT, 0.f);
    return d.finalize();
}

struct CudnnShapes {
    CudnnDims x, weight, y;
    explicit CudnnShapes(const ConvGeometry& g)
        : x{g.n, g.groups * g.ic, g.in[0], g.in[1]},
          weight{g.groups * g.oc, g.ic, g.kernel[0], g.kernel[1]},
          y{g.n, g.groups * g.oc, g.out[0], g.out[1]} {}
};

// The operations of a problem, with what follows the convolution or without. cuDNN's own order, which it has
// ready engines for: relu(convolution + z + bias).
CudnnDescriptor graph_of(const Problem& p, bool is_fused, const cuda::CudnnTarget& target) {
    auto c = cudnn_convolution(p);
    auto& g = c.geometry;
    auto type = cuda::cudnn_type(p.outputs[0].dtype);
    auto& order = c.order == ImageOrder::plain ? cuda::cudnn_plain : cuda::cudnn_channels_last;
    const CudnnShapes dims(g);
    auto x = cuda::cudnn_tensor(x_id, type, dims.x, order);
    auto weight = cuda::cudnn_tensor(weight_id, type, dims.weight, order);
    auto y = cuda::cudnn_tensor(y_id, type, dims.y, order);
    auto between = [&](int64_t id) { return cuda::cudnn_tensor(id, CUDNN_DATA_FLOAT, dims.y, order, true); };

    std::vector<CudnnDescriptor> operations;
    CudnnDescriptor last = is_fused ? between(sum_id) : y;
    operations.push_back(convolution_operation(operation_of(p), g, x, weight, last, CUDNN_DATA_FLOAT));
    if (is_fused) {
        auto follows = conv_epilogue(p);
        auto nan =
            follows.activation == Activation::relu_keeps_nan ? CUDNN_PROPAGATE_NAN : CUDNN_NOT_PROPAGATE_NAN;
        auto then = [&](cudnnPointwiseMode_t mode, const CudnnDescriptor* operand,
                        const CudnnDescriptor& to) {
            operations.push_back(cuda::cudnn_pointwise(mode, last, operand, to, nan));
            last = to;
        };
        bool is_relu = without_nan(follows.activation) == Activation::relu;
        auto z = cuda::cudnn_tensor(z_id, type, dims.y, order);
        auto bias = cuda::cudnn_tensor(bias_id, type, {1, g.groups * g.oc, 1, 1}, order);
        if (follows.residual) then(CUDNN_POINTWISE_ADD, &z, between(added_id));
        then(CUDNN_POINTWISE_ADD, &bias, is_relu ? between(biased_id) : y);
        if (is_relu) then(CUDNN_POINTWISE_RELU_FWD, nullptr, y);
    }
    return cuda::cudnn_operation_graph(operations, target);
}

// Engines that keep what the precision promises.
bool keeps_precision(const cuda::CudnnEngine& engine, const Problem& p) {
    if (engine.has(CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION)) return false;
    if (engine.has(CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13) ||
        engine.has(CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6))
        return false;
    bool is_f32 = p.outputs[0].dtype == DType::f32;
    if (engine.has(CUDNN_NUMERICAL_NOTE_WINOGRAD) || engine.has(CUDNN_NUMERICAL_NOTE_FFT)) return is_f32;
    // Without a note of any kind, and yet wrong by 3e-4 of the largest value for 5 x 5 weights (cuDNN 9.19 on
    // an H100).
    bool is_inexact = p.op == Conv2dBackwardWeight::name && engine.name.starts_with("17/");
    if (is_inexact && is_f32 && p.precision == Precision::strict) return false;
    if (!is_f32 || p.precision != Precision::strict) return true;
    return !engine.has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE) &&
           !engine.has(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS);
}

size_t workspace_limit(const Problem& p) {
    return std::max(most_workspace,
                    most_copies * (p.inputs[0].bytes() + p.inputs[1].bytes() + p.outputs[0].bytes()));
}

void add_candidates(const Problem& p, bool is_fused, const cuda::CudnnTarget& target,
                    std::vector<Candidate>& result) {
    auto graph = graph_of(p, is_fused, target);
    for (auto& engine : cuda::cudnn_engines(graph, target)) {
        if (result.size() == most_cudnn_candidates) break;
        if (!keeps_precision(engine, p) || !engine.is_ready()) continue;
        auto plan = cuda::cudnn_plan(engine.config, target);
        if (!plan || plan->workspace > workspace_limit(p)) continue;
        bool is_reproducible = !engine.has(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
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
    c.weight_is_turned = c.order == ImageOrder::channels_last && is_turned_for_channels_last(g);
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

CudnnDescriptor step_convolution_graph(const ConvGeometry& g, const cuda::CudnnTarget& target) {
    const CudnnShapes dims(g);
    auto tensor = [](CudnnId id, DType dtype, const CudnnDims& d) {
        return cuda::cudnn_tensor(id, cuda::cudnn_type(dtype), d, cuda::cudnn_channels_last);
    };
    CudnnDescriptor operation = convolution_operation(forward, g, tensor(x_id, DType::i8, dims.x),
                                                      tensor(weight_id, DType::i8, dims.weight),
                                                      tensor(y_id, DType::i32, dims.y), CUDNN_DATA_INT32);
    return cuda::cudnn_operation_graph(std::span(&operation, 1), target);
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
