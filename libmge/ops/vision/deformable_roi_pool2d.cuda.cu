// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/vision/deformable_roi_pool2d.cuda.h"

#include "libmge/kernel/cuda/reduce/fixed_sums.cuh"

namespace mge::cuda {
namespace {

namespace samples {
// Those of floats.
using ::ceil, ::floor, ::round;
#define inline __device__ __forceinline__
#include "libmge/kernel/scalar/deformable_samples.inc"
#undef inline
}  // namespace samples
using samples::Cell, samples::Region, samples::Sample;

// One result: a cell of one channel of a region.
struct Place {
    int64_t plane;  // start of the plane of x; -1 without one
    Region region;
    Cell cell;
};
MGE_DEVICE Place place_at(const DeformableArguments& a, int64_t i) {
    auto& p = a.p;
    int64_t cell = split_index(i, p.rows * p.columns), channel = split_index(i, p.channels);
    Region region = samples::region_at(p, a.regions, i);
    bool has_pixels = region.image >= 0 && samples::plane_of(p) > 0;
    return {has_pixels ? (region.image * p.channels + channel) * samples::plane_of(p) : -1, region,
            samples::cell_at(p, region, a.offsets + i * 2 * p.parts * p.parts, cell)};
}

__global__ void pool(DeformableArguments a, int64_t results, float* y) {
    for (int64_t i = first_piece(); i < results; i += piece_step()) {
        Place at = place_at(a, i);
        float sum = 0;
        int64_t count = 0;
        if (at.plane >= 0)
            count = samples::for_samples(a.p, at.cell,
                                         [&](const Sample& s) { sum += s.value(a.x + at.plane, a.p.width); });
        y[i] = count ? sum / float(count) : 0;
    }
}

__global__ void scatter(DeformableArguments a, int64_t results, const float* dy, FixedSums sums) {
    double steps = steps_of(sums);
    for (int64_t i = first_piece(); i < results; i += piece_step()) {
        Place at = place_at(a, i);
        if (at.plane < 0) continue;
        float share = dy[i] / float(samples::count_samples(a.p, at.cell));
        auto add = [&](int64_t place, float part) { add_to(sums, steps, at.plane + place, part); };
        samples::for_samples(a.p, at.cell, [&](const Sample& s) { s.spread(a.p.width, share, add); });
    }
}

struct Sum {
    MGE_DEVICE Both<float> operator()(Both<float> x, Both<float> y) const { return x + y; }
};

// Both slopes of one part of a region; the block's threads share out the channels.
MGE_DEVICE Both<float> slopes_of(const DeformableArguments& a, const float* dy, int64_t region,
                                 int64_t part) {
    auto& p = a.p;
    int64_t cells = p.rows * p.columns;
    Both<float> sums{0, 0};
    for (int64_t i = threadIdx.x; i < p.channels * cells; i += blockDim.x) {
        int64_t cell = i % cells;
        if (samples::part_of(p, cell / p.columns, cell % p.columns) != part) continue;
        Place at = place_at(a, region * p.channels * cells + i);
        if (at.plane < 0) continue;
        float share =
            dy[region * p.channels * cells + i] * p.offset_scale / float(samples::count_samples(p, at.cell));
        samples::for_samples(p, at.cell, [&](const Sample& s) {
            sums.a += share * at.region.width * s.slope_x(a.x + at.plane, p.width);
            sums.b += share * at.region.height * s.slope_y(a.x + at.plane, p.width);
        });
    }
    return across_block(sums, Sum());
}
__global__ void sum_slopes(DeformableArguments a, const float* dy, float* doffsets) {
    int64_t parts = a.p.parts * a.p.parts;
    for (int64_t at = blockIdx.x; at < a.p.regions * parts; at += gridDim.x) {
        int64_t region = at, part = split_index(region, parts);
        auto slopes = slopes_of(a, dy, region, part);
        if (threadIdx.x != 0) continue;
        doffsets[region * 2 * parts + part] = slopes.a;
        doffsets[(region * 2 + 1) * parts + part] = slopes.b;
    }
}

int64_t count_results(const DeformablePooling& p) { return p.regions * p.channels * p.rows * p.columns; }

}  // namespace

void deformable_pool(Stream stream, const DeformableArguments& a, float* y) {
    if (int64_t count = count_results(a.p))
        launch(pool, grid_for(count), block_threads, 0, stream, a, count, y);
}

void deformable_pool_dx(Stream stream, const DeformableArguments& a, const float* dy, const FixedSums& sums,
                        float* dx) {
    if (int64_t count = count_results(a.p)) {
        launch_find_largest(stream, sums, dy, count);
        launch(scatter, grid_for(count), block_threads, 0, stream, a, count, dy, sums);
    }
    launch_write_sums(stream, sums, dx);
}

void deformable_pool_doffsets(Stream stream, const DeformableArguments& a, const float* dy, float* doffsets) {
    if (int64_t parts = a.p.regions * a.p.parts * a.p.parts)
        launch(sum_slopes, bounded_blocks(parts), block_threads, 0, stream, a, dy, doffsets);
}

}  // namespace mge::cuda
