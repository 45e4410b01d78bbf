// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/vision/deformable_roi_pool2d.h"

#include <algorithm>
#include <cmath>

#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/vision/deformable_pooling.h"

namespace mge::deformable {
namespace {

using std::ceil, std::floor, std::round;
#include "libmge/kernel/scalar/deformable_samples.inc"

template <size_t offsets>
Prepared prepare(const PrepareContext& context) {
    return Prepared::make(ops::deformable_pooling(context.problem, offsets));
}

// Calls fn(cell, its place among the cells of one channel's region) for a region that has an image.
template <class Fn>
void for_cells(const DeformablePooling& p, const Region& region, const float* offsets, int64_t r, Fn&& fn) {
    if (region.image < 0 || plane_of(p) == 0) return;
    const float* own = offsets + r * 2 * p.parts * p.parts;
    for (int64_t i = 0; i < cells_of(p); ++i) fn(cell_at(p, region, own, i), i);
}

int64_t grain_of(const DeformablePooling& p, int64_t cells) {
    constexpr int64_t nanoseconds_per_sample = 8;
    return parallel_grain / (cells * p.samples * p.samples * nanoseconds_per_sample + 1) + 1;
}

void run_forward(const Prepared& prepared, const Launch& launch) {
    auto& p = prepared.state<DeformablePooling>();
    auto *x = launch.in<float>(0), *regions = launch.in<float>(1), *offsets = launch.in<float>(2);
    float* y = launch.out<float>(0);
    par_for(launch.threads, p.regions, grain_of(p, p.channels * cells_of(p)),
            [&](int64_t begin, int64_t end) {
                std::fill(y + begin * p.channels * cells_of(p), y + end * p.channels * cells_of(p), 0.F);
                for (int64_t r = begin; r < end; ++r) {
                    Region region = region_at(p, regions, r);
                    for_cells(p, region, offsets, r, [&](const Cell& cell, int64_t i) {
                        for (int64_t c = 0; c < p.channels; ++c) {
                            const float* plane = x + (region.image * p.channels + c) * plane_of(p);
                            float sum = 0;
                            int64_t count = for_samples(
                                p, cell, [&](const Sample& sample) { sum += sample.value(plane, p.width); });
                            if (count) y[(r * p.channels + c) * cells_of(p) + i] = sum / float(count);
                        }
                    });
                }
            });
}

// Regions may overlap, so that channels are what threads do not share.
void differentiate_x(const DeformablePooling& p, const Launch& launch) {
    auto *regions = launch.in<float>(1), *dy = launch.in<float>(2), *offsets = launch.in<float>(3);
    float* dx = launch.out<float>(0);
    std::fill(dx, dx + p.images * p.channels * plane_of(p), 0.F);
    par_for(launch.threads, p.channels, grain_of(p, p.regions * cells_of(p)),
            [&](int64_t begin, int64_t end) {
                for (int64_t r = 0; r < p.regions; ++r) {
                    Region region = region_at(p, regions, r);
                    for_cells(p, region, offsets, r, [&](const Cell& cell, int64_t i) {
                        auto count = float(count_samples(p, cell));
                        for (int64_t c = begin; c < end; ++c) {
                            float* plane = dx + (region.image * p.channels + c) * plane_of(p);
                            float share = dy[(r * p.channels + c) * cells_of(p) + i] / count;
                            auto add = [&](int64_t place, float part) { plane[place] += part; };
                            for_samples(p, cell,
                                        [&](const Sample& sample) { sample.spread(p.width, share, add); });
                        }
                    });
                }
            });
}

void differentiate_offsets(const DeformablePooling& p, const Launch& launch) {
    auto *x = launch.in<float>(0), *regions = launch.in<float>(1), *dy = launch.in<float>(2),
         *offsets = launch.in<float>(3);
    int64_t of_region = p.parts * p.parts;
    par_for(launch.threads, p.regions, grain_of(p, p.channels * cells_of(p)),
            [&](int64_t begin, int64_t end) {
                for (int64_t r = begin; r < end; ++r) {
                    float* d = launch.out<float>(1) + r * 2 * of_region;
                    std::fill(d, d + 2 * of_region, 0.F);
                    Region region = region_at(p, regions, r);
                    for_cells(p, region, offsets, r, [&](const Cell& cell, int64_t i) {
                        auto count = float(count_samples(p, cell));
                        float* own = d + part_of(p, i / p.columns, i % p.columns);
                        for (int64_t c = 0; c < p.channels; ++c) {
                            const float* plane = x + (region.image * p.channels + c) * plane_of(p);
                            float share = dy[(r * p.channels + c) * cells_of(p) + i] * p.offset_scale / count;
                            for_samples(p, cell, [&](const Sample& sample) {
                                own[0] += share * region.width * sample.slope_x(plane, p.width);
                                own[of_region] += share * region.height * sample.slope_y(plane, p.width);
                            });
                        }
                    });
                }
            });
}

void run_backward(const Prepared& prepared, const Launch& launch) {
    auto& p = prepared.state<DeformablePooling>();
    differentiate_x(p, launch);
    if (p.parts) differentiate_offsets(p, launch);
}

constexpr Algorithm forward_algorithms[] = {{"samples", plain_layouts, prepare<2>, run_forward}};
constexpr Algorithm backward_algorithms[] = {{"samples", plain_layouts, prepare<3>, run_backward}};

}  // namespace
}  // namespace mge::deformable

namespace mge::ops {

KernelList kernels(Cpu, DeformableRoiPool2d) { return deformable::forward_algorithms; }
KernelList kernels(Cpu, DeformableRoiPool2dBackward) { return deformable::backward_algorithms; }

}  // namespace mge::ops
