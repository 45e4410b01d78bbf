// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/linalg/svd.cuda.h"

#include <algorithm>
#include <tuple>

#include "libmge/kernel/cuda/launch.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/linalg/svd.h"

namespace mge::ops {
namespace {

struct State {
    DType dtype;
    cuda::SvdArguments arguments{};
};

Prepared prepare(const PrepareContext& context) {
    constexpr int64_t most_blocks = 1024, most_numbers = int64_t(8) << 20;  // unless one matrix needs more
    auto& spec = context.problem.inputs[0];
    State state{spec.dtype};
    auto& x = state.arguments;
    x.rows = spec.shape[spec.shape.rank() - 2];
    x.columns = spec.shape[spec.shape.rank() - 1];
    if (spec.numel() == 0) return Prepared::make(state);
    x.matrices = spec.numel() / (x.rows * x.columns);
    std::tie(x.shorter, x.longer) = std::minmax(x.rows, x.columns);
    x.numbers = x.shorter * (x.longer + x.shorter) + x.longer + 2 * x.shorter;
    x.blocks = int(std::min({x.matrices, most_blocks, std::max<int64_t>(most_numbers / x.numbers, 1)}));
    return Prepared::make(state, size_t(x.blocks * x.numbers) * sizeof(double));
}

void run(const Prepared& prepared, const Launch& launch) {
    auto& state = prepared.state<State>();
    cuda::SvdArguments x = state.arguments;
    if (x.matrices == 0) return;
    x.x = launch.inputs[0];
    x.u = launch.outputs[0];
    x.s = launch.outputs[1];
    x.v = launch.outputs[2];
    x.memory = static_cast<double*>(launch.workspace);
    cuda::run_svd(cuda::stream_of(launch), cuda::type_index(state.dtype), x);
}

}  // namespace

KernelList kernels(Cuda, Svd) { return one_algorithm<prepare, run>("jacobi"); }

}  // namespace mge::ops
