// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/quantize/compressed/compressed_matmul.h"

#include "libmge/kernel/cuda/launch.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/linalg/matmul.cuda.h"
#include "libmge/ops/quantize/compressed/compressed_matmul.cuda.h"
#include "libmge/ops/quantize/compressed/compressed_product.h"

namespace mge::ops {
namespace {

enum Input : size_t { x, steps, scale, zero_point, bias, residual };

// y = x w^T
cuda::CompressedMatmulArguments arguments_of(const Problem& p) {
    auto& params = p.as<CompressedMatmul::Params>();
    const auto weight = compressed_weight(params, p.inputs);
    cuda::CompressedMatmulArguments a{};
    a.weight = cuda::expand_arguments(weight);
    a.extents = {rows_of_x(p), weight.rows, weight.columns};
    a.activation = params.activation;
    return a;
}

// With the addresses of a launch; nullopt: there is nothing to compute.
std::optional<cuda::CompressedMatmulArguments> arguments_of(const Prepared& prepared, const Launch& launch) {
    auto a = prepared.state<cuda::CompressedMatmulArguments>();
    if (a.extents.elements() == 0) return std::nullopt;
    a.weight.data = compressed_data(launch, steps);
    a.x = launch.in<float>(x);
    a.bias = launch.in_if_given<float>(bias);
    a.residual = launch.in_if_given<float>(residual);
    a.y = launch.out<float>(0);
    return a;
}

Prepared prepare(const PrepareContext& context) { return Prepared::make(arguments_of(context.problem)); }

Support supports_rows(const Problem& p) {
    if (Support plain = plain_layouts(p); !plain) return plain;
    return rows_of_x(p) <= cuda::most_rows_at_once ? supported : Support{"more than 8 rows"};
}
void run_rows(const Prepared& prepared, const Launch& launch) {
    if (auto a = arguments_of(prepared, launch)) cuda::multiply_compressed_rows(cuda::stream_of(launch), *a);
}

void run_tiles(const Prepared& prepared, const Launch& launch) {
    if (auto a = arguments_of(prepared, launch)) cuda::multiply_compressed_tiles(cuda::stream_of(launch), *a);
}

Prepared prepare_expanded(const PrepareContext& context) {
    auto a = arguments_of(context.problem);
    return Prepared::make(a, size_t(a.weight.rows * a.weight.columns) * sizeof(float));
}
void run_expanded(const Prepared& prepared, const Launch& launch) {
    auto a = arguments_of(prepared, launch);
    if (!a) return;
    a->weight.w = static_cast<float*>(launch.workspace);
    cuda::MatmulArguments product{};
    product.extents = a->extents;
    product.a_stride_m = product.b_stride_n = a->weight.columns;
    product.a_stride_k = product.b_stride_k = 1;
    product.activation = a->activation;
    product.a = a->x;
    product.b = a->weight.w;
    product.bias = a->bias;
    product.residual = a->residual;
    product.y = a->y;
    auto stream = cuda::stream_of(launch);
    cuda::expand_weight(stream, a->weight);
    cuda::run_matmul(stream, cuda::type_index(DType::f32), product);
}

constexpr Algorithm list[] = {{"rows", supports_rows, prepare, run_rows, {.usable_depends_on_shape = true}},
                              {"tiled", plain_layouts, prepare, run_tiles},
                              {"expanded", plain_layouts, prepare_expanded, run_expanded}};

}  // namespace

KernelList kernels(Cuda, CompressedMatmul) { return list; }

}  // namespace mge::ops
