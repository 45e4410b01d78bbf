// SPDX-License-Identifier: Apache-2.0
// layer_norm and group_norm: rows that are normalised each on its own.
#include "libmge/ops/nn/row_norm.cuda.h"

#include "libmge/kernel/cuda/launch.h"
#include "libmge/kernel/cuda/reduce/plan_reduction.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/nn/group_norm.h"
#include "libmge/ops/nn/layer_norm.h"

namespace mge::ops {
namespace {

struct State {
    cuda::RowNorm norm{1, 1, 1, 1, 1, 0};
    DType dtype = DType::f32;
    cuda::FactorSums sums{};  // backward only
};

State rows_of(const TensorSpec& x, int leading_axes) {
    State state;
    state.dtype = x.dtype;
    for (int i = 0; i < x.shape.rank(); ++i)
        (i < leading_axes ? state.norm.rows : state.norm.n) *= x.shape[i];
    return state;
}
State view(const TensorSpec& x, const LayerNorm::Params& p) {
    State state = rows_of(x, x.shape.rank() - p.axes);
    state.norm.channels = state.norm.n;
    state.norm.epsilon = float(p.epsilon);
    return state;
}
State view(const TensorSpec& x, const LayerNormBackward::Params& p) {
    return view(x, LayerNorm::Params{.axes = p.axes});
}
State view(const TensorSpec& x, const GroupNorm::Params& p) {
    State state = rows_of(x, 2);
    auto& norm = state.norm;
    norm.pixels = norm.n;
    norm.groups = p.groups;
    norm.channels = x.shape[1] / p.groups;
    norm.rows = x.shape[0] * p.groups;
    norm.n = norm.channels * norm.pixels;
    norm.epsilon = float(p.epsilon);
    return state;
}
State view(const TensorSpec& x, const GroupNormBackward::Params& p) {
    return view(x, GroupNorm::Params{.groups = p.groups});
}

template <class O>
Prepared prepare(const PrepareContext& context) {
    return Prepared::make(view(context.problem.inputs[0], context.problem.as<typename O::Params>()));
}

// Absent trailing inputs are not in the list at all.
template <class T>
const T* optional_input(const Launch& launch, size_t i) {
    return i < launch.inputs.size() ? launch.in<T>(i) : nullptr;
}

// Inputs x, weight, bias; outputs y, mean, inv_std.
void run(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    if (s.norm.rows == 0) return;
    cuda::dispatch_device_type(s.dtype, FloatTypes{}, [&]<class T>(std::type_identity<T>) {
        cuda::normalize_rows<T>(cuda::stream_of(launch), s.norm,
                                {launch.in<T>(0), optional_input<T>(launch, 1), optional_input<T>(launch, 2),
                                 launch.out<T>(0), launch.out<float>(1), launch.out<float>(2)});
    });
}

template <class O>
Prepared prepare_backward(const PrepareContext& context) {
    auto& x = context.problem.inputs[0];
    State state = view(x, context.problem.as<typename O::Params>());
    auto& norm = state.norm;
    Shape parts{norm.rows / norm.groups, norm.groups * norm.channels, norm.pixels};
    state.sums.geometry =
        cuda::plan_reduction(parts, {true, false, true}, int(cuda::pack_bytes / size_of(x.dtype)));
    state.sums.span = norm.n;
    state.sums.count = norm.rows;
    size_t workspace = cuda::reduction_workspace(state.sums.geometry, cuda::norm_total_bytes);
    return Prepared::make(state, workspace);
}

// Inputs x, dy, mean, inv_std, weight, dmean, dinv_std; outputs dx, dweight, dbias.
void run_backward(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    auto stream = cuda::stream_of(launch);
    auto *mean = launch.in<float>(2), *inv_std = launch.in<float>(3);
    cuda::dispatch_device_type(s.dtype, FloatTypes{}, [&]<class T>(std::type_identity<T>) {
        auto *x = launch.in<T>(0), *dy = launch.in<T>(1);
        cuda::normalize_rows_backward<T>(
            stream, s.norm,
            {x, dy, optional_input<T>(launch, 4), mean, inv_std, optional_input<float>(launch, 5),
             optional_input<float>(launch, 6), launch.out<T>(0)});
        cuda::sum_factor_gradients(stream, s.sums, x, dy, mean, inv_std, launch.outputs[1], launch.outputs[2],
                                   launch.workspace);
    });
}

template <class O>
constexpr Algorithm forward[] = {{"rows", plain_layouts, prepare<O>, run}};
template <class O>
constexpr Algorithm backward[] = {{"rows", plain_layouts, prepare_backward<O>, run_backward}};

}  // namespace

KernelList kernels(Cuda, LayerNorm) { return forward<LayerNorm>; }
KernelList kernels(Cuda, LayerNormBackward) { return backward<LayerNormBackward>; }
KernelList kernels(Cuda, GroupNorm) { return forward<GroupNorm>; }
KernelList kernels(Cuda, GroupNormBackward) { return backward<GroupNormBackward>; }

}  // namespace mge::ops
