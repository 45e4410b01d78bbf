// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/quantize/compressed_matmul.h"

#include "libmge/kernel/cuda/device_activation.h"
#include "libmge/kernel/cuda/launch.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/linalg/matmul.cuda.h"
#include "libmge/ops/quantize/compressed_product.h"
#include "libmge/ops/quantize/expand_weight.cuda.h"

namespace mge::ops {
namespace {

enum Input : size_t { x, steps, scale, zero_point, bias, residual };

struct State {
    cuda::ExpandArguments weight{};
    cuda::MatmulArguments product{};
};

// y = x w^T
Prepared prepare(const PrepareContext& context) {
    auto& p = context.problem;
    auto& params = p.as<CompressedMatmul::Params>();
    const auto weight = compressed_weight(params, p.inputs);
    State state{cuda::expand_arguments(weight)};
    auto& product = state.product;
    product.extents = {rows_of_x(p), weight.rows, weight.columns};
    product.a_stride_m = product.b_stride_n = weight.columns;
    product.a_stride_k = product.b_stride_k = 1;
    product.activation = cuda::device_activation(params.activation);
    return Prepared::make(state, size_t(weight.rows * weight.columns) * sizeof(float));
}

void run(const Prepared& prepared, const Launch& launch) {
    auto [weight, product] = prepared.state<State>();
    if (product.extents.elements() == 0) return;
    weight.data = compressed_data(launch, steps);
    weight.w = static_cast<float*>(launch.workspace);
    product.a = launch.inputs[x];
    product.b = launch.workspace;
    product.bias = launch.in_if_given<void>(bias);
    product.residual = launch.in_if_given<void>(residual);
    product.y = launch.outputs[0];
    auto stream = cuda::stream_of(launch);
    cuda::expand_weight(stream, weight);
    cuda::run_matmul<float>(stream, product);
}

constexpr Algorithm list[] = {{"expanded", plain_layouts, prepare, run}};

}  // namespace
}  // namespace mge::ops

namespace mge {

template <>
KernelList kernels(Cuda, ops::CompressedMatmul) {
    return ops::list;
}

}  // namespace mge
