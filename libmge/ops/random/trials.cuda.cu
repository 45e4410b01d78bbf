// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/random/trials.cuda.h"

#include "libmge/kernel/cuda/launch.cuh"
#include "libmge/kernel/cuda/trials.cuh"

namespace mge::cuda {
namespace {

template <class Number>
MGE_DEVICE double number_at(const TrialArguments& x, int64_t i, trials::ElementDraws<PhiloxBlocks>& draw) {
    if constexpr (is_same<Number, trials::PoissonNumber>)
        return Number()(x.a[i], draw);
    else
        return Number()(x.a[i], x.b[i], draw);
}

template <class Number>
__global__ void draw_numbers(TrialArguments x) {
    PhiloxBlocks blocks(x.state, x.random_stream);
    for (int64_t i = first_piece(); i < x.count; i += piece_step()) {
        trials::ElementDraws<PhiloxBlocks> draw(blocks, i);
        x.y[i] = float(number_at<Number>(x, i, draw));
    }
}

template <class Number>
void launch_draws(Stream stream, const TrialArguments& x) {
    if (x.count) launch(draw_numbers<Number>, grid_for(x.count), block_threads, 0, stream, x);
}

}  // namespace

void draw_gamma(Stream stream, const TrialArguments& x) { launch_draws<trials::GammaNumber>(stream, x); }
void draw_beta(Stream stream, const TrialArguments& x) { launch_draws<trials::BetaNumber>(stream, x); }
void draw_poisson(Stream stream, const TrialArguments& x) { launch_draws<trials::PoissonNumber>(stream, x); }

}  // namespace mge::cuda
