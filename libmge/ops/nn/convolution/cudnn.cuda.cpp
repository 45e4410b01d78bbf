// SPDX-License-Identifier: Apache-2.0
// Convolutions by cuDNN. Bias, residual and relu can be part of its operation; our kernel computes other
// epilogues. cuDNN requires weights in the layout of images, so for channels last it gets a copy of the
// weight: a permanent one for a constant weight, otherwise one made in each run.

#include "libmge/ops/nn/convolution/conv2d_algorithms.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "libmge/kernel/cuda/epilogue.h"
#include "libmge/kernel/cuda/launch.h"
#include "libmge/ops/nn/convolution/cudnn_operations.cuda.h"
#include "libmge/ops/nn/convolution/device_extents.cuda.h"
#include "libmge/ops/nn/convolution/implicit_gemm.h"
#include "libmge/ops/nn/convolution/turned_weight.cuda.h"

namespace mge::ops {
namespace {

using cuda::cudnn;

Algorithm own_kernel(const Problem& p) {
    if (p.op == Conv2d::name) return implicit_gemm_conv2d();
    return p.op == Conv2dBackwardData::name ? implicit_gemm_conv2d_backward_data()
                                            : implicit_gemm_conv2d_backward_weight();
}

std::vector<Candidate> candidates(const Problem& p) {
    return cudnn_candidates(p, cuda::CudnnHandle(p.device.index));
}

Support supports(const Problem& p) {
    if (!order_of_images(p)) return {"images that are all plain or all nhwc, and plain weights"};
    if (Support fits = fits_device_text(cudnn_convolution(p).geometry); !fits) return fits;
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
    std::array<CudnnId, 3> ids{};
    bool is_fused = false;  // the plan does what follows the convolution
    bool has_residual = false;
    DType dtype{};
    size_t result_bytes = 0;             // part of the workspace for an unfinished result
    cuda::EpilogueArguments epilogue{};  // no elements: nothing is left to do
    TurnedWeight turned;
    Algorithm otherwise{};
    Prepared own;  // prepared state of it, for operands that cuDNN does not support
};

size_t weight_input(const State& s) { return s.ids[0] == weight_id ? 0 : 1; }

cuda::EpilogueArguments epilogue_of(const Problem& p, const CudnnConvolution& c) {
    auto& g = c.geometry;
    cuda::EpilogueArguments x{};
    x.numel = p.outputs[0].numel();
    x.channels = g.groups * g.oc;
    x.inner = c.order == ImageOrder::plain ? g.out[0] * g.out[1] : 1;
    x.activation = conv_epilogue(p).activation;
    return x;
}

TurnedWeight prepare_weight(const PrepareContext& context, const CudnnConvolution& c) {
    if (!c.weight_is_turned) return {};
    auto& p = context.problem;
    auto at = size_t(std::ranges::find(c.ids, weight_id) - c.ids.begin());
    bool is_result = at == 2;
    const void* constant = !is_result && at < context.constants.size() ? context.constants[at] : nullptr;
    return turned_weight(p, c.geometry, p.outputs[0].dtype, constant, is_result);
}

Prepared prepare(const PrepareContext& context) {
    auto& p = context.problem;
    auto c = cudnn_convolution(p);
    auto follows = conv_epilogue(p);
    State s{cudnn_candidate_plan(p, context.candidate.name, cuda::CudnnHandle(p.device.index)), c.ids};
    s.is_fused = is_fused_candidate(context.candidate.name);
    s.has_residual = follows.residual;
    s.dtype = p.outputs[0].dtype;
    if (!s.is_fused && !follows.is_nothing()) s.epilogue = epilogue_of(p, c);
    // A residual may be in place of the result.
    if (!s.is_fused && follows.residual) s.result_bytes = workspace_part(p.outputs[0].bytes());
    s.turned = prepare_weight(context, c);
    s.otherwise = own_kernel(p);
    s.own = s.otherwise.prepare(context);
    size_t needed = s.result_bytes + s.turned.bytes + s.plan.workspace + workspace_alignment;
    size_t workspace = std::max(needed, s.turned.plain_bytes + s.own.workspace());
    PackedInputs packed;
    if (s.turned.kept) {
        packed.pieces.push_back({s.turned.kept->data, s.turned.kept->bytes});
        packed.inputs = 1u << weight_input(s);
    }
    return Prepared::make(std::move(s), workspace, std::move(packed));
}

// Whether cuDNN can have the operands. It does not say that it reads a residual before it writes in its
// place.
bool can_run(const State& s, const Launch& launch) {
    bool writes_over_residual =
        s.is_fused && s.has_residual && launch.inputs[3] == static_cast<const void*>(launch.outputs[0]);
    return !writes_over_residual && std::ranges::all_of(launch.inputs, cuda::is_aligned_for_cudnn) &&
           cuda::is_aligned_for_cudnn(launch.outputs[0]);
}

void finish(const State& s, const Launch& launch, const void* sums, cuda::Stream stream) {
    cuda::EpilogueArguments x = s.epilogue;
    if (x.numel == 0) return;
    x.sums = sums;
    x.y = launch.outputs[0];
    x.bias = launch.in_if_given<void>(2);
    x.residual = launch.in_if_given<void>(3);
    cuda::run_epilogue(stream, cuda::type_index(s.dtype), x);
}

// The tensors of a plan and their addresses.
struct Addresses {
    std::array<int64_t, 5> ids{};
    std::array<const void*, 5> at{};
    size_t count = 0;

    void add(int64_t id, const void* address) {
        ids[count] = id;
        at[count++] = address;
    }
};

void run(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    if (!can_run(s, launch))
        return run_with_plain_weight(s.turned, weight_input(s), s.otherwise, s.own, launch);
    auto* workspace = reinterpret_cast<char*>(workspace_part(uintptr_t(launch.workspace)));
    auto take = [&](size_t bytes) { return std::exchange(workspace, workspace + bytes); };
    void* result = s.result_bytes ? take(s.result_bytes) : launch.outputs[0];
    void* weight = s.turned.kept ? s.turned.kept->data : take(s.turned.bytes);

    Addresses addresses;
    for (size_t i = 0; i < 3; ++i) {
        bool is_turned = s.ids[i] == weight_id && s.turned.copy;
        addresses.add(s.ids[i], is_turned ? weight : i < 2 ? launch.inputs[i] : result);
    }
    if (s.is_fused) addresses.add(bias_id, launch.inputs[2]);
    if (s.is_fused && s.has_residual) addresses.add(z_id, launch.inputs[3]);

    bool is_weight_result = s.ids[2] == weight_id;
    if (s.turned.bytes && !is_weight_result)
        s.turned.copy->run(launch, launch.inputs[weight_input(s)], weight);
    cuda::Stream stream = cuda::stream_of(launch);
    {
        cuda::CudnnHandle handle(static_cast<cuda::CudaQueue&>(*launch.queue).device());
        cudnn().check(cudnn().set_stream(handle.get(), stream), "SetStream");
        cuda::run_cudnn_plan(s.plan, handle, std::span<const int64_t>(addresses.ids.data(), addresses.count),
                             std::span<const void* const>(addresses.at.data(), addresses.count), workspace);
    }
    if (s.turned.bytes && is_weight_result) s.turned.copy->run(launch, weight, launch.outputs[0]);
    finish(s, launch, result, stream);
}

Algorithm family() { return {"cudnn", supports, prepare, run, {}, candidates}; }

}  // namespace

Algorithm cudnn_conv2d() { return family(); }
Algorithm cudnn_conv2d_backward_data() { return family(); }
Algorithm cudnn_conv2d_backward_weight() { return family(); }

}  // namespace mge::ops
