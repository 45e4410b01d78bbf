// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/pad.h"

#include "libmge/kernel/cuda/launch.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/kernel/strided_copy.h"
#include "libmge/ops/shape/pad.cuda.h"
#include "libmge/tensor/element_bytes.h"

namespace mge::ops {
namespace {

static_assert(int(PadMode::reflect) == int(cuda::Margin::reflect));
static_assert(int(PadMode::replicate) == int(cuda::Margin::replicate));

struct Padding {
    DType dtype;
    cuda::PadArguments arguments;
};

// `walked` is the tensor whose elements are computed. Axes without margins join the next one inwards, if
// that has none either.
Padding make_padding(const Problem& problem, const TensorSpec& inner, const Shape& padded, bool is_backward) {
    auto& p = problem.as<Pad::Params>();
    Padding made{inner.dtype, {}};
    auto& x = made.arguments;
    x.margin = cuda::Margin(int(p.mode));
    x.element = element_bytes(inner.dtype, p.value);
    Strides inner_strides = dense_strides(inner.shape), padded_strides = dense_strides(padded);
    int n = 0;
    bool was_plain = false;
    for (int i = padded.rank() - 1; i >= 0; --i) {
        bool is_plain = padded[i] == inner.shape[i];
        if (is_plain && was_plain) {
            x.inner[n - 1] *= inner.shape[i];
            x.padded[n - 1] *= padded[i];
        } else {
            x.inner[n] = inner.shape[i];
            x.padded[n] = padded[i];
            x.before[n] = p.before[size_t(i)];
            x.padded_stride[n] = padded_strides[size_t(i)];
            x.space.stride[0][n++] = inner_strides[size_t(i)];
        }
        was_plain = is_plain;
    }
    auto& walked = is_backward ? x.inner : x.padded;
    for (int i = 0; i < n; ++i) x.space.add(walked[i], {x.space.stride[0][i]});
    x.space.close();
    return made;
}

Prepared prepare_pad(const PrepareContext& context) {
    auto& problem = context.problem;
    return Prepared::make(make_padding(problem, problem.inputs[0], problem.outputs[0].shape, false));
}
Prepared prepare_backward(const PrepareContext& context) {
    auto& problem = context.problem;
    return Prepared::make(make_padding(problem, problem.outputs[0], problem.inputs[0].shape, true));
}

void run_pad(const Prepared& prepared, const Launch& launch) {
    auto& padding = prepared.state<Padding>();
    if (padding.arguments.space.numel == 0) return;
    cuda::pad(cuda::stream_of(launch), int(size_of(padding.dtype)), launch.inputs[0], launch.outputs[0],
              padding.arguments);
}
void run_backward(const Prepared& prepared, const Launch& launch) {
    auto& padding = prepared.state<Padding>();
    if (padding.arguments.space.numel == 0) return;
    cuda::pad_backward(cuda::stream_of(launch), cuda::type_index(padding.dtype), launch.inputs[0],
                       launch.outputs[0], padding.arguments);
}

}  // namespace

KernelList kernels(Cuda, Pad) { return one_algorithm<prepare_pad, run_pad>("gather"); }
KernelList kernels(Cuda, PadBackward) { return one_algorithm<prepare_backward, run_backward>("gather"); }

}  // namespace mge::ops
