// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/random/multinomial.cuda.h"

#include <algorithm>

#include "libmge/kernel/cuda/launch.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/random/multinomial.h"
#include "libmge/ops/random/random_state.h"
#include "libmge/ops/throw_as_cpu.cuda.h"

namespace mge::ops {
namespace {

constexpr size_t flag_bytes = 64;  // in front of the numbers

struct State : ProblemState<Multinomial::Params> {
    using ProblemState::ProblemState;
    cuda::DrawArguments arguments{};
};

Prepared prepare(const PrepareContext& context) {
    constexpr int64_t most_blocks = 1024, most_numbers = int64_t(8) << 20;  // unless one row has more
    State state(context.problem);
    auto& weights = state.inputs[1];
    auto& x = state.arguments;
    x.categories = weights.shape[weights.shape.rank() - 1];
    x.rows = weights.numel() / x.categories;
    x.draws = state.params.num_samples;
    x.replacement = state.params.replacement;
    x.random_stream = unsigned(RandomStream::multinomial);
    x.blocks = int(std::min({x.rows, most_blocks, std::max<int64_t>(most_numbers / x.categories, 1)}));
    size_t numbers = size_t(x.blocks * x.categories) * sizeof(double);
    return Prepared::make(std::move(state), flag_bytes + numbers);
}

// Waits, to report weights that are not a distribution.
void run(const Prepared& prepared, const Launch& launch) {
    auto& state = prepared.state<State>();
    cuda::DrawArguments x = state.arguments;
    if (x.rows == 0) return;
    x.state = launch.in<int32_t>(0);
    x.weights = launch.inputs[1];
    x.y = launch.out<int32_t>(0);
    x.fault = static_cast<int*>(launch.workspace);
    x.numbers = reinterpret_cast<double*>(static_cast<char*>(launch.workspace) + flag_bytes);
    launch.queue->fill(x.fault, 0, sizeof *x.fault);
    cuda::draw_categories(cuda::stream_of(launch), cuda::type_index(state.inputs[1].dtype), x);
    throw_as_cpu_if(x.fault, Multinomial::info, &state.params, state, launch);
}

}  // namespace

KernelList kernels(Cuda, Multinomial) {
    // A measurement's made-up weights, of which some are below 0, are refused.
    return one_algorithm<prepare, run>("block_by_row", {.unmeasured = true});
}

}  // namespace mge::ops
