// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/linalg/matinv.cuda.h"

#include <algorithm>

#include "libmge/base/error.h"
#include "libmge/kernel/cuda/launch.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/linalg/matinv.h"

namespace mge::ops {
namespace {

constexpr int64_t most_blocks = 1024;
constexpr int64_t most_workspace = int64_t(64) << 20;  // unless one matrix alone needs more
constexpr size_t flag_bytes = 64;                      // in front of the rows

struct State {
    DType dtype;
    cuda::MatinvArguments arguments{};
};

Prepared prepare(const PrepareContext& context) {
    auto& spec = context.problem.inputs[0];
    State state{spec.dtype};
    auto& x = state.arguments;
    x.n = spec.shape[spec.shape.rank() - 1];
    x.matrices = x.n ? spec.numel() / (x.n * x.n) : 0;
    bool is_shared = x.n <= cuda::largest_shared_matrix;
    int64_t possible =
        is_shared ? most_blocks : std::max<int64_t>(most_workspace / cuda::matinv_bytes(x.n), 1);
    x.blocks = int(std::min({possible, x.matrices, most_blocks}));
    size_t rows = is_shared ? 0 : size_t(x.blocks * cuda::matinv_bytes(x.n));
    return Prepared::make(state, flag_bytes + rows);
}

// Waits, to report a singular matrix.
void run(const Prepared& prepared, const Launch& launch) {
    auto& state = prepared.state<State>();
    cuda::MatinvArguments x = state.arguments;
    if (x.matrices == 0) return;
    x.x = launch.inputs[0];
    x.y = launch.outputs[0];
    x.first_singular = static_cast<long long*>(launch.workspace);
    if (x.n > cuda::largest_shared_matrix)
        x.rows = reinterpret_cast<double*>(static_cast<char*>(launch.workspace) + flag_bytes);
    cuda::Stream stream = cuda::stream_of(launch);
    launch.queue->fill(launch.workspace, 0x7f, flag_bytes);
    cuda::run_matinv(stream, cuda::type_index(state.dtype), x);
    long long first_singular = 0;
    launch.queue->copy_to_host(&first_singular, launch.workspace, sizeof first_singular);
    if (first_singular < x.matrices)
        throw_user(Matinv::name, text("matrix ", first_singular, " of x is singular"));
}

}  // namespace

KernelList kernels(Cuda, Matinv) { return one_algorithm<prepare, run>("elimination"); }

}  // namespace mge::ops
