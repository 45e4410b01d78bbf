// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/linalg/matmul.cuda.h"

#include "libmge/kernel/cuda/launch.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/linalg/matmul.h"
#include "libmge/ops/linalg/matmul_algorithms.h"
#include "libmge/ops/linalg/matmul_geometry.h"

namespace mge::ops {
namespace {

enum Input : size_t { a, b, bias, residual };

struct State {
    DType dtype;
    cuda::MatmulArguments arguments{};
};

MatmulGeometry geometry_of(const Problem& p) {
    return matmul_geometry(p.as<Matmul::Params>(), p.inputs[a].shape, p.inputs[b].shape);
}

// The strides of an operand's batches: none along axes that it is broadcast along.
void set_batch_strides(const MatmulGeometry& g, const Shape& own, int64_t matrix, int64_t* strides) {
    for (int axis = g.batch.rank(); axis-- > 0;) {
        strides[axis] = own[axis] == 1 ? 0 : matrix;
        matrix *= own[axis];
    }
}

cuda::MatmulArguments arguments_of(const Problem& p) {
    auto g = geometry_of(p);
    cuda::MatmulArguments x{};
    x.extents = {g.m, g.n, g.k, g.batches()};
    x.a_stride_m = g.a_stride_m;
    x.a_stride_k = g.a_stride_k;
    x.b_stride_k = g.b_stride_k;
    x.b_stride_n = g.b_stride_n;
    x.axes = g.batch.rank();
    for (int axis = 0; axis < x.axes; ++axis) x.batch[axis] = g.batch[axis];
    set_batch_strides(g, g.a_batch, g.m * g.k, x.a_batch_stride);
    set_batch_strides(g, g.b_batch, g.k * g.n, x.b_batch_stride);
    x.activation = p.as<Matmul::Params>().activation;
    auto is_wide = [&](Input i) { return p.has_input(i) && p.inputs[i].dtype != p.inputs[a].dtype; };
    x.is_bias_wide = is_wide(bias);
    x.is_residual_wide = is_wide(residual);
    return x;
}

Prepared prepare_tiled(const PrepareContext& context) {
    auto& p = context.problem;
    return Prepared::make(State{p.inputs[a].dtype, arguments_of(p)});
}

Support supports_split(const Problem& p) {
    if (Support plain = plain_layouts(p); !plain) return plain;
    if (!is_float(p.inputs[a].dtype)) return {"floats only"};
    auto extents = arguments_of(p).extents;
    cuda::split_sums(extents);
    return extents.splits > 1 ? supported : Support{"short sums, or enough of them to fill a GPU"};
}

Prepared prepare_split(const PrepareContext& context) {
    auto& p = context.problem;
    State state{p.inputs[a].dtype, arguments_of(p)};
    cuda::split_sums(state.arguments.extents);
    auto workspace = size_t(state.arguments.extents.part_bytes());
    return Prepared::make(state, workspace);
}

void run_tiled(const Prepared& prepared, const Launch& launch) {
    auto& state = prepared.state<State>();
    cuda::MatmulArguments x = state.arguments;
    if (x.extents.elements() == 0) return;
    auto input = [&](Input i) { return i < launch.inputs.size() ? launch.inputs[i] : nullptr; };
    x.a = input(a);
    x.b = input(b);
    x.bias = input(bias);
    x.residual = input(residual);
    x.y = launch.outputs[0];
    x.parts = static_cast<float*>(launch.workspace);
    cuda::run_matmul(cuda::stream_of(launch), cuda::type_index(state.dtype), x);
}

}  // namespace

Algorithm tiled_matmul() { return {"tiled", plain_layouts, prepare_tiled, run_tiled}; }

KernelList kernels(Cuda, Matmul) {
    static const Algorithm list[] = {
        cublaslt_matmul(),
        {"split_sums", supports_split, prepare_split, run_tiled, {.accuracy_depends_on_batch = true}},
        tiled_matmul()};
    return list;
}

}  // namespace mge::ops
