// SPDX-License-Identifier: Apache-2.0
// Convolutions by cuDNN. Bias and relu can be part of its operation; what else follows a convolution is a
// kernel of ours. A residual may lie where the result does, so what has one convolves into the workspace.

#include "libmge/ops/nn/convolution/cudnn.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "libmge/base/error.h"
#include "libmge/kernel/cuda/cudnn_graph.h"
#include "libmge/kernel/cuda/device_activation.h"
#include "libmge/kernel/cuda/epilogue.h"
#include "libmge/kernel/cuda/launch.h"
#include "libmge/ops/nn/convolution/geometry.h"
#include "libmge/ops/nn/convolution/implicit_gemm.h"

namespace mge::ops {
namespace {

using cuda::cudnn;
using cuda::CudnnDescriptor;

constexpr std::string_view plain_prefix = "cudnn:", fused_prefix = "cudnn_fused:";
constexpr size_t most_candidates = 16;
// Engines may copy what they read and write into a layout that suits them; beyond that it is too much.
constexpr size_t most_workspace = size_t(32) << 20, most_copies = 2;
constexpr size_t workspace_alignment = 256;

// Numbers of the tensors in an operation graph.
enum Id : int64_t { x_id, weight_id, y_id, bias_id, sum_id, biased_id };

// The three operators: which operand is what, and what is computed.
struct Kind {
    ConvGeometry (*geometry)(const Problem&);
    Algorithm (*own)();
    cudnnBackendDescriptorType_t operation;
    cudnnBackendAttributeName_t x, weight, y, conv, alpha, beta;
    std::array<int64_t, 3> ids;  // of input 0, input 1 and the output
};
constexpr Kind forward{forward_geometry,
                       implicit_gemm_conv2d,
                       CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
                       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
                       {x_id, weight_id, y_id}};
constexpr Kind backward_data{backward_data_geometry,
                             implicit_gemm_conv2d_backward_data,
                             CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
                             CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                             CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                             CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
                             CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                             CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                             CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,
                             {weight_id, y_id, x_id}};
constexpr Kind backward_weight{backward_weight_geometry,
                               implicit_gemm_conv2d_backward_weight,
                               CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
                               CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                               CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                               CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
                               CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                               CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                               CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA,
                               {x_id, y_id, weight_id}};

// What follows a convolution.
struct After {
    bool bias = false, residual = false;
    Activation activation = Activation::none;

    bool is_nothing() const { return !bias && !residual && activation == Activation::none; }
    // What cuDNN has ready engines for.
    bool can_be_fused() const {
        return bias && !residual && (activation == Activation::none || activation == Activation::relu);
    }
};
After after(const Problem& p) {
    if (p.op != Conv2d::name) return {};
    return {p.has_input(2), p.has_input(3), p.as<Conv2d::Params>().activation};
}

CudnnDescriptor convolution_of(const ConvGeometry& g) {
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

// The operations of a problem, with what follows the convolution or without.
CudnnDescriptor graph_of(const Kind& kind, const Problem& p, bool is_fused, const cuda::CudnnHandle& handle) {
    ConvGeometry g = kind.geometry(p);
    auto type = cuda::cudnn_type(p.outputs[0].dtype);
    using Dims = std::array<int64_t, 4>;
    Dims x_dims{g.n, g.groups * g.ic, g.in[0], g.in[1]}, y_dims{g.n, g.groups * g.oc, g.out[0], g.out[1]};
    auto x = cuda::cudnn_tensor(x_id, type, x_dims);
    auto weight = cuda::cudnn_tensor(weight_id, type, Dims{g.groups * g.oc, g.ic, g.kernel[0], g.kernel[1]});
    auto y = cuda::cudnn_tensor(y_id, type, y_dims);
    auto sum = is_fused ? cuda::cudnn_tensor(sum_id, CUDNN_DATA_FLOAT, y_dims, true) : y;
    CudnnDescriptor convolution(kind.operation);
    convolution.set(kind.x, x).set(kind.weight, weight).set(kind.y, sum).set(kind.conv, convolution_of(g));
    convolution.set(kind.alpha, CUDNN_TYPE_FLOAT, 1.f).set(kind.beta, CUDNN_TYPE_FLOAT, 0.f).finalize();
    std::vector<CudnnDescriptor> operations{convolution};
    if (is_fused) {
        bool is_relu = after(p).activation == Activation::relu;
        auto bias = cuda::cudnn_tensor(bias_id, type, Dims{1, g.groups * g.oc, 1, 1});
        auto biased = is_relu ? cuda::cudnn_tensor(biased_id, CUDNN_DATA_FLOAT, y_dims, true) : y;
        operations.push_back(cuda::cudnn_pointwise(CUDNN_POINTWISE_ADD, sum, &bias, biased));
        if (is_relu)
            operations.push_back(cuda::cudnn_pointwise(CUDNN_POINTWISE_RELU_FWD, biased, nullptr, y));
    }
    return cuda::cudnn_operation_graph(operations, handle);
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

void add_candidates(const Kind& kind, const Problem& p, bool is_fused, std::vector<Candidate>& result) {
    cuda::CudnnHandle handle(p.device.index);
    auto graph = graph_of(kind, p, is_fused, handle);
    for (auto& engine : cuda::cudnn_engines(graph)) {
        if (result.size() == most_candidates) break;
        if (!keeps_precision(engine, p) || !is_ready(engine)) continue;
        auto plan = cuda::cudnn_plan(engine.config, handle);
        if (!plan || plan->workspace > workspace_limit(p)) continue;
        bool is_reproducible = !(engine.numerical_notes >> CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC & 1);
        result.push_back({text(is_fused ? fused_prefix : plain_prefix, engine.name),
                          0,
                          {.reproducible = is_reproducible,
                           .accuracy_depends_on_batch = true,
                           .usable_depends_on_shape = true}});
    }
}

template <const Kind& kind>
std::vector<Candidate> candidates(const Problem& p) {
    std::vector<Candidate> result;
    if (after(p).can_be_fused()) add_candidates(kind, p, true, result);
    add_candidates(kind, p, false, result);
    std::ranges::stable_partition(result, [](auto& c) { return c.attributes.reproducible; });
    return result;
}

template <const Kind& kind>
Support supports(const Problem& p) {
    if (Support own = kind.own().supports(p); !own) return own;
    for (size_t i = 0; i < p.inputs.size(); ++i) {
        bool is_example = p.op != Conv2d::name && i == 2;
        if (!is_example && !p.inputs[i].is_absent() && p.inputs[i].dtype != p.outputs[0].dtype)
            return {"one dtype for all operands"};
    }
    if (p.inputs[0].numel() == 0 || p.inputs[1].numel() == 0 || p.outputs[0].numel() == 0)
        return {"an empty operand"};
    if (!cudnn().why_not.empty()) return {cudnn().why_not.c_str()};
    return supported;
}

struct State {
    cuda::CudnnPlan plan;
    std::array<int64_t, 3> ids{};
    bool is_fused = false;  // the plan adds the bias
    DType dtype{};
    size_t result_bytes = 0;             // of the workspace, for a result that is not finished
    cuda::EpilogueArguments epilogue{};  // no elements: nothing is left to do
    Prepared own;                        // for operands that are not aligned
};

size_t aligned(size_t bytes) {
    return (bytes + workspace_alignment - 1) / workspace_alignment * workspace_alignment;
}

cuda::EpilogueArguments epilogue_of(const Problem& p, const ConvGeometry& g) {
    cuda::EpilogueArguments x{};
    x.numel = p.outputs[0].numel();
    x.channels = g.groups * g.oc;
    x.inner = g.out[0] * g.out[1];
    x.activation = cuda::device_activation(after(p).activation);
    return x;
}

template <const Kind& kind>
Prepared prepare(const PrepareContext& context) {
    auto& p = context.problem;
    std::string_view name = context.candidate.name;
    bool is_fused = name.starts_with(fused_prefix);
    name.remove_prefix(is_fused ? fused_prefix.size() : plain_prefix.size());
    cuda::CudnnHandle handle(p.device.index);
    auto graph = graph_of(kind, p, is_fused, handle);
    auto plan = cuda::cudnn_plan(cuda::cudnn_config(graph, name), handle);
    if (!plan)
        throw DeviceError(text("[", p.op, "] cuDNN makes no plan of ", context.candidate.name, " any more"));
    State s{*plan, kind.ids};
    After follows = after(p);
    s.is_fused = is_fused;
    s.dtype = p.outputs[0].dtype;
    if (!is_fused && !follows.is_nothing()) s.epilogue = epilogue_of(p, kind.geometry(p));
    if (follows.residual) s.result_bytes = aligned(p.outputs[0].bytes());
    s.own = kind.own().prepare(context);
    size_t workspace = std::max(s.result_bytes + s.plan.workspace + workspace_alignment, s.own.workspace());
    return Prepared::make(std::move(s), workspace);
}

bool is_aligned(const void* address) { return uintptr_t(address) % cuda::cudnn_alignment == 0; }
bool are_aligned(const Launch& launch) {
    return std::ranges::all_of(launch.inputs, is_aligned) && is_aligned(launch.outputs[0]);
}

void finish(const State& s, const Launch& launch, const void* sums, cuda::Stream stream) {
    cuda::EpilogueArguments x = s.epilogue;
    if (x.numel == 0) return;
    x.sums = sums;
    x.y = launch.outputs[0];
    x.bias = launch.in_if_given<void>(2);
    x.residual = launch.in_if_given<void>(3);
    cuda::dispatch_device_type(s.dtype, FloatTypes{}, [&](auto type) {
        cuda::run_epilogue<typename decltype(type)::type>(stream, x);
    });
}

template <const Kind& kind>
void run(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    if (!are_aligned(launch)) return kind.own().run(s.own, launch);
    cuda::Stream stream = cuda::stream_of(launch);
    auto* workspace = reinterpret_cast<char*>(aligned(uintptr_t(launch.workspace)));
    void* result = s.result_bytes ? workspace : launch.outputs[0];
    std::array<int64_t, 4> ids{s.ids[0], s.ids[1], s.ids[2], bias_id};
    std::array<const void*, 4> addresses{launch.inputs[0], launch.inputs[1], result,
                                         s.is_fused ? launch.inputs[2] : nullptr};
    size_t count = s.is_fused ? 4 : 3;
    {
        cuda::CudnnHandle handle(static_cast<cuda::CudaQueue&>(*launch.queue).device());
        cudnn().check(cudnn().set_stream(handle.get(), stream), "SetStream");
        cuda::run_cudnn_plan(s.plan, handle, std::span<const int64_t>(ids.data(), count),
                             std::span<const void* const>(addresses.data(), count),
                             workspace + s.result_bytes);
    }
    finish(s, launch, result, stream);
}

template <const Kind& kind>
Algorithm family() {
    return {"cudnn", supports<kind>, prepare<kind>, run<kind>, {}, candidates<kind>};
}

}  // namespace

Algorithm cudnn_conv2d() { return family<forward>(); }
Algorithm cudnn_conv2d_backward_data() { return family<backward_data>(); }
Algorithm cudnn_conv2d_backward_weight() { return family<backward_weight>(); }

}  // namespace mge::ops
