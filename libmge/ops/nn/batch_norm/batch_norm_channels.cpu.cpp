// SPDX-License-Identifier: Apache-2.0
// Images are cut into pieces of some rows of pixels each. Every piece sums its own gradients; those of a
// channel are added up in a fixed order, whatever the number of threads, and then every piece computes its
// dx. Halves are widened tile by tile, in the first cache.
#include "libmge/ops/nn/batch_norm/batch_norm_algorithms.h"

#include <algorithm>
#include <array>

#include "libmge/base/numbers/ceil_div.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/cpu/rows/channel_kernels.h"
#include "libmge/kernel/cpu/rows/half.h"
#include "libmge/op/physical_form.h"
#include "libmge/ops/nn/batch_norm/batch_norm.h"

namespace mge::ops {
namespace {

enum Input : size_t { x, dy, scale, saved_mean, saved_inv_std };
enum Output : size_t { dx, dscale, dbias };

constexpr int64_t piece_elements = 1 << 14;  // 64 KiB of f32: two of them fit the second cache
constexpr int64_t tile_elements = 1 << 11;   // 8 KiB of f32: three of them fit the first cache

// x seen as (samples, blocks, pixels, lanes); channel = block·lanes + lane.
struct Images {
    int64_t samples = 1, blocks = 1, pixels = 1, lanes = 1;

    int64_t channels() const { return blocks * lanes; }
    int64_t elements() const { return samples * blocks * pixels * lanes; }
    int64_t rows_of_piece() const { return std::clamp<int64_t>(piece_elements / lanes, 1, pixels); }
    int64_t pieces_of_block() const { return ceil_div(pixels, rows_of_piece()); }
    int64_t pieces() const { return samples * blocks * pieces_of_block(); }
};

// Nullopt when channels are not neighbours.
std::optional<Images> images_of(const TensorSpec& spec) {
    if (spec.layout.is_plain() || spec.shape.rank() < 2 || spec.numel() == 0) return std::nullopt;
    auto digits = digits_of(spec.shape, spec.layout);
    if (!digits || digits->size() < 2 || digits->front().axis != 0 || digits->back().axis != 1)
        return std::nullopt;
    Images images{.samples = spec.shape[0], .lanes = digits->back().extent};
    for (size_t i = 1; i + 1 < digits->size(); ++i) {
        auto [axis, extent] = (*digits)[i];
        if (axis == 1 && i != 1) return std::nullopt;
        (axis == 1 ? images.blocks : images.pixels) *= extent;
    }
    // A single channel in blocks is padded to a whole block.
    bool is_padded = spec.bytes() != size_t(images.elements()) * size_of(spec.dtype);
    return is_padded ? std::nullopt : std::optional(images);
}

struct State {
    Images images;
    bool training, is_half;
};

Support supports(const Problem& p) {
    auto& spec = p.inputs[x];
    if (spec.dtype != DType::f32 && spec.dtype != DType::bf16) return {"f32 and bf16 only"};
    if (p.inputs[dy].layout != spec.layout || p.outputs[dx].layout != spec.layout)
        return {"x, dy and dx must have the same layout"};
    auto images = images_of(spec);
    if (!images) return {"channels are not neighbours, or fill no whole blocks"};
    if (spec.dtype == DType::bf16 && images->lanes > tile_elements) return {"a row of more than a tile"};
    for (size_t i = scale; i <= saved_inv_std; ++i)
        if (!p.inputs[i].layout.is_plain()) return {"factors and statistics are plain"};
    return supported;
}

// Per channel: what combines dy and x to dx. Per piece and lane: its sums.
struct Workspace {
    float *center, *factor, *slope, *dy_sums, *product_sums;

    static size_t bytes(const Images& images) {
        return size_t(3 * images.channels() + 2 * images.pieces() * images.lanes) * sizeof(float);
    }
    Workspace(const Images& images, void* memory)
        : center(static_cast<float*>(memory)),
          factor(center + images.channels()),
          slope(factor + images.channels()),
          dy_sums(slope + images.channels()),
          product_sums(dy_sums + images.pieces() * images.lanes) {}
};

struct Piece {
    int64_t number, channel, begin, rows;  // begin: its first element
};

template <class Fn>
void for_pieces(const Images& images, int threads, Fn&& fn) {
    const int64_t rows = images.rows_of_piece(), per_block = images.pieces_of_block();
    par_for(
        threads, images.pieces(), parallel_grain / (rows * images.lanes) + 1,
        [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
                int64_t block = i / per_block, row = i % per_block * rows;
                fn(Piece{i, block % images.blocks * images.lanes,
                         (block * images.pixels + row) * images.lanes, std::min(rows, images.pixels - row)});
            }
        });
}

using Tile = std::array<float, tile_elements>;

// Calls fn(x, dy, dx, rows) on rows of f32, which may be tiles of halves; dx may be written.
template <class Fn>
void for_tiles(const State& s, const Launch& launch, const Piece& piece, bool writes, Fn&& fn) {
    if (!s.is_half)
        return fn(launch.in<float>(x) + piece.begin, launch.in<float>(dy) + piece.begin,
                  writes ? launch.out<float>(dx) + piece.begin : nullptr, piece.rows);
    Tile x_tile, dy_tile;
    const int64_t lanes = s.images.lanes, rows_of_tile = tile_elements / lanes;
    for (int64_t row = 0; row < piece.rows; row += rows_of_tile) {
        const int64_t rows = std::min(rows_of_tile, piece.rows - row), at = piece.begin + row * lanes;
        cpu::halves_to_floats(launch.in<BFloat16>(x) + at, x_tile.data(), rows * lanes);
        cpu::halves_to_floats(launch.in<BFloat16>(dy) + at, dy_tile.data(), rows * lanes);
        fn(x_tile.data(), dy_tile.data(), dy_tile.data(), rows);
        if (writes) cpu::floats_to_halves(dy_tile.data(), launch.out<BFloat16>(dx) + at, rows * lanes);
    }
}

// x̂ = (x − mean)·inv_std:  dscale = Σ dy·x̂, dbias = Σ dy,
// dx = scale·inv_std·(dy − [dbias + x̂·dscale]/n), the bracket only when the statistics were those of x
void finish_channel(const State& s, const Launch& launch, const Workspace& w, int64_t channel) {
    const Images& images = s.images;
    const int64_t per_block = images.pieces_of_block();
    double sum = 0, product = 0;
    for (int64_t n = 0; n < images.samples; ++n)
        for (int64_t i = 0; i < per_block; ++i) {
            int64_t piece = (n * images.blocks + channel / images.lanes) * per_block + i;
            sum += w.dy_sums[piece * images.lanes + channel % images.lanes];
            product += w.product_sums[piece * images.lanes + channel % images.lanes];
        }
    double inv_std = launch.in<float>(saved_inv_std)[channel];
    double factor = launch.in<float>(scale)[channel] * inv_std;
    double share = s.training ? 1 / double(images.samples * images.pixels) : 0;
    w.center[channel] = float(share * sum);
    w.factor[channel] = float(factor);
    w.slope[channel] = float(-share * factor * product * inv_std * inv_std);
    launch.out<float>(dscale)[channel] = float(product * inv_std);
    launch.out<float>(dbias)[channel] = float(sum);
}

Prepared prepare(const PrepareContext& context) {
    auto& spec = context.problem.inputs[x];
    Images images = *images_of(spec);
    bool training = context.problem.as<BatchNormBackward::Params>().training;
    return Prepared::make(State{images, training, spec.dtype != DType::f32}, Workspace::bytes(images));
}

void run(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    auto& kernels = cpu::channel_kernels();
    const int64_t lanes = s.images.lanes;
    Workspace w(s.images, launch.workspace);
    std::fill_n(w.dy_sums, 2 * s.images.pieces() * lanes, 0.0F);
    const float* mean = launch.in<float>(saved_mean);
    for_pieces(s.images, launch.threads, [&](const Piece& piece) {
        for_tiles(s, launch, piece, false, [&](const float* x, const float* dy, float*, int64_t rows) {
            kernels.gradient_sums(x, dy, rows, lanes, mean + piece.channel, w.dy_sums + piece.number * lanes,
                                  w.product_sums + piece.number * lanes);
        });
    });
    par_for(launch.threads, s.images.channels(),
            parallel_grain / (s.images.pieces() / s.images.blocks + 1) + 1, [&](int64_t begin, int64_t end) {
                for (int64_t channel = begin; channel < end; ++channel) finish_channel(s, launch, w, channel);
            });
    for_pieces(s.images, launch.threads, [&](const Piece& piece) {
        const int64_t c = piece.channel;
        for_tiles(s, launch, piece, true, [&](const float* x, const float* dy, float* dx, int64_t rows) {
            kernels.weighted_sum(x, dy, dx, rows, lanes, {mean + c, w.center + c, w.factor + c, w.slope + c});
        });
    });
}

}  // namespace

Algorithm batch_norm_backward_by_channels() { return {"by_channels", supports, prepare, run}; }

}  // namespace mge::ops
