// SPDX-License-Identifier: Apache-2.0
// Quantised convolutions by cuDNN: the sums of products, exact in int32, which a kernel of ours makes steps
// of. cuDNN could do that too, but it has one scale for all channels, known when its plan is made, and does
// not say how it rounds. It wants int8 with channels last: plain images are copied.

#include <algorithm>
#include <optional>
#include <utility>

#include "libmge/kernel/cuda/launch.h"
#include "libmge/ops/nn/convolution/cudnn_operations.cuda.h"
#include "libmge/ops/nn/convolution/device_extents.cuda.h"
#include "libmge/ops/nn/convolution/turned_weight.cuda.h"
#include "libmge/ops/quantize/convolution/quantized_conv2d.h"
#include "libmge/ops/quantize/convolution/step_convolution.cuda.h"

namespace mge::ops {
namespace {

using Conv = QuantizedConv2d;

constexpr std::string_view prefix = "cudnn:";

std::vector<Candidate> candidates(const Problem& p) {
    cuda::CudnnHandle handle(p.device.index);
    cuda::CudnnTarget target(handle);
    std::vector<Candidate> result;
    for (auto& engine : cuda::cudnn_engines(step_convolution_graph(step_geometry(p), target), target)) {
        if (result.size() == most_cudnn_candidates) break;
        if (engine.is_ready() && cuda::cudnn_plan(engine.config, target))
            result.push_back({text(prefix, engine.name), 0, {.usable_depends_on_shape = true}});
    }
    return result;
}

Support supports(const Problem& p) {
    if (!image_order(p, Conv::layouts)) return {"images that are all plain or all nhwc, and plain weights"};
    if (p.inputs[Conv::x].dtype != DType::i8 || p.inputs[Conv::weight].dtype != DType::i8)
        return {"int8 alone"};
    if (p.has_input(Conv::x_zero) || p.has_input(Conv::weight_zero))
        return {"zero points of x or the weight"};
    auto g = step_geometry(p);
    if (Support fits = fits_device_text(g); !fits) return fits;
    if (g.multiplications() == 0) return {"an empty operand"};
    if (!cuda::cudnn().why_not.empty()) return {cuda::cudnn().why_not.c_str()};
    return supported;
}

struct State {
    cuda::CudnnPlan plan;
    cuda::StepConvArguments arguments{};
    std::optional<cuda::CopyPlan> copy_of_x;  // for plain images
    TurnedWeight turned;
    size_t x_bytes = 0, sums_bytes = 0;  // parts of the workspace; sums that are the result need none
    Algorithm otherwise{};
    Prepared own;  // prepared state of it, for operands that cuDNN does not support
};

cuda::CopyPlan with_channels_last(const ConvGeometry& g) {
    int64_t channels = g.groups * g.ic, size = g.in[0] * g.in[1];
    return cuda::CopyPlan(StridedCopy(1, {g.n, channels, size}, {0, {channels * size, size, 1}},
                                      {0, {channels * size, 1, channels}}));
}

cuda::CudnnPlan plan_of(const Problem& p, const ConvGeometry& g, std::string_view name) {
    cuda::CudnnHandle handle(p.device.index);
    cuda::CudnnTarget target(handle);
    auto config = cuda::cudnn_config(step_convolution_graph(g, target), name.substr(prefix.size()), target);
    auto plan = cuda::cudnn_plan(config, target);
    if (!plan) throw DeviceError(text("[", p.op, "] cuDNN makes no plan of ", name, " any more"));
    return *plan;
}

Prepared prepare(const PrepareContext& context) {
    auto& p = context.problem;
    auto g = step_geometry(p);
    auto order = image_order(p, Conv::layouts).value_or(ImageOrder::plain);
    State s{plan_of(p, g, context.candidate.name), step_arguments(p, order)};
    if (order == ImageOrder::plain && g.groups * g.ic > 1 && g.in[0] * g.in[1] > 1) {
        s.copy_of_x = with_channels_last(g);
        s.x_bytes = workspace_part(p.inputs[Conv::x].bytes());
    }
    if (is_turned_for_channels_last(g)) {
        const void* constant =
            Conv::weight < context.constants.size() ? context.constants[Conv::weight] : nullptr;
        s.turned = turned_weight(p, g, DType::i8, constant, false);
    }
    bool is_result = s.arguments.is_exact && !p.has_input(Conv::bias) && order == ImageOrder::channels_last;
    if (!is_result) s.sums_bytes = workspace_part(size_t(p.outputs[0].numel()) * sizeof(int32_t));
    s.otherwise = implicit_gemm_quantized_conv2d();
    s.own = s.otherwise.prepare(context);
    size_t needed = s.x_bytes + s.turned.bytes + s.sums_bytes + s.plan.workspace + workspace_alignment;
    size_t workspace = std::max(needed, s.turned.plain_bytes + s.own.workspace());
    PackedInputs packed;
    if (s.turned.kept) {
        packed.pieces.push_back({s.turned.kept->data, s.turned.kept->bytes});
        packed.inputs = 1u << Conv::weight;
    }
    return Prepared::make(std::move(s), workspace, std::move(packed));
}

bool can_run(const State& s, const Launch& launch) {
    return (s.copy_of_x || cuda::is_aligned_for_cudnn(launch.inputs[Conv::x])) &&
           (s.turned.copy || cuda::is_aligned_for_cudnn(launch.inputs[Conv::weight])) &&
           (s.sums_bytes || cuda::is_aligned_for_cudnn(launch.outputs[0]));
}

void run(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    if (!can_run(s, launch)) return run_with_plain_weight(s.turned, Conv::weight, s.otherwise, s.own, launch);
    auto* workspace = reinterpret_cast<char*>(workspace_part(uintptr_t(launch.workspace)));
    auto take = [&](size_t bytes) { return std::exchange(workspace, workspace + bytes); };
    const void *x = launch.inputs[Conv::x], *weight = launch.inputs[Conv::weight];
    void* sums = s.sums_bytes ? take(s.sums_bytes) : launch.outputs[0];
    if (s.copy_of_x) {
        void* copy = take(s.x_bytes);
        s.copy_of_x->run(launch, x, copy);
        x = copy;
    }
    if (s.turned.kept) {
        weight = s.turned.kept->data;
    } else if (s.turned.copy) {
        void* copy = take(s.turned.bytes);
        s.turned.copy->run(launch, weight, copy);
        weight = copy;
    }
    cuda::Stream stream = cuda::stream_of(launch);
    {
        cuda::CudnnHandle handle(static_cast<cuda::CudaQueue&>(*launch.queue).device());
        cuda::cudnn().check(cuda::cudnn().set_stream(handle.get(), stream), "SetStream");
        const int64_t ids[] = {x_id, weight_id, y_id};
        const void* const addresses[] = {x, weight, sums};
        cuda::run_cudnn_plan(s.plan, handle, ids, addresses, workspace);
    }
    if (!s.sums_bytes) return;
    cuda::StepConvArguments a = s.arguments;
    set_addresses(a, launch);
    cuda::finish_steps(stream, a, static_cast<const int32_t*>(sums));
}

}  // namespace

Algorithm cudnn_quantized_conv2d() { return {"cudnn", supports, prepare, run, {}, candidates}; }

}  // namespace mge::ops
