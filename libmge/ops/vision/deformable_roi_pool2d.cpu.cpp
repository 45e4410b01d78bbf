// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/vision/deformable_roi_pool2d.h"

#include <algorithm>
#include <cmath>

#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/plain_layouts.h"

namespace mge::ops {
namespace {

struct State {
    DeformableRoiPoolParams p;
    int64_t images, channels, height, width, regions, parts;  // parts: 0 without offsets

    int64_t image_size() const { return height * width; }
    int64_t cells() const { return p.height * p.width; }
};

template <size_t offsets_input>
Prepared prepare(const PrepareContext& context) {
    auto& problem = context.problem;
    auto& x = problem.inputs[0].shape;
    bool has_offsets = problem.inputs.size() > offsets_input && !problem.inputs[offsets_input].is_absent();
    return Prepared::make(State{problem.as<DeformableRoiPoolParams>(), x[0], x[1], x[2], x[3],
                                problem.inputs[1].shape[0],
                                has_offsets ? problem.inputs[offsets_input].shape[2] : 0});
}

struct Region {
    int64_t image;  // -1: there is none of that index
    float left, top, width, height;
};

Region region_at(const State& s, const float* regions, int64_t i) {
    const float* r = regions + 5 * i;
    auto scale = float(s.p.scale);
    // Corners are those of pixels, whose centres are whole numbers.
    float left = std::round(r[1]) * scale - 0.5F, top = std::round(r[2]) * scale - 0.5F;
    float right = (std::round(r[3]) + 1) * scale - 0.5F, bottom = (std::round(r[4]) + 1) * scale - 0.5F;
    bool is_known = r[0] >= 0 && r[0] < float(s.images);
    return {is_known ? int64_t(r[0]) : -1, left, top, std::max(right - left, 0.1F),
            std::max(bottom - top, 0.1F)};
}

// The first sample of a cell, and how far it is from one to the next.
struct Cell {
    float x, y, step_x, step_y;
    int64_t offset_at;  // of its offset along x in the plane of a region's offsets
};

Cell cell_at(const State& s, const Region& region, const float* offsets, int64_t i) {
    int64_t row = i / s.p.width, column = i % s.p.width;
    float cell_width = region.width / float(s.p.width), cell_height = region.height / float(s.p.height);
    Cell cell{float(column) * cell_width + region.left, float(row) * cell_height + region.top,
              cell_width / float(s.p.samples), cell_height / float(s.p.samples), 0};
    if (s.parts == 0) return cell;
    cell.offset_at = row * s.parts / s.p.height * s.parts + column * s.parts / s.p.width;
    auto scale = float(s.p.offset_scale);
    cell.x += offsets[cell.offset_at] * scale * region.width;
    cell.y += offsets[cell.offset_at + s.parts * s.parts] * scale * region.height;
    return cell;
}

// A sample among the four pixels around it.
struct Sample {
    int64_t left, right, top, bottom;
    float dx, dy;

    float value(const float* plane, int64_t width) const {
        return (1 - dx) * (1 - dy) * plane[top * width + left] +
               (1 - dx) * dy * plane[bottom * width + left] + dx * (1 - dy) * plane[top * width + right] +
               dx * dy * plane[bottom * width + right];
    }
    float slope_x(const float* plane, int64_t width) const {
        return (1 - dy) * (plane[top * width + right] - plane[top * width + left]) +
               dy * (plane[bottom * width + right] - plane[bottom * width + left]);
    }
    float slope_y(const float* plane, int64_t width) const {
        return (1 - dx) * (plane[bottom * width + left] - plane[top * width + left]) +
               dx * (plane[bottom * width + right] - plane[top * width + right]);
    }
    void add(float* plane, int64_t width, float share) const {
        plane[top * width + left] += (1 - dx) * (1 - dy) * share;
        plane[bottom * width + left] += (1 - dx) * dy * share;
        plane[top * width + right] += dx * (1 - dy) * share;
        plane[bottom * width + right] += dx * dy * share;
    }
};

// Calls fn(sample) for those in the image, or half a pixel around it; gives their number.
template <class Fn>
int64_t for_samples(const State& s, const Cell& cell, Fn&& fn) {
    int64_t count = 0;
    for (int64_t i = 0; i < s.p.samples; ++i)
        for (int64_t j = 0; j < s.p.samples; ++j) {
            float x = cell.x + float(j) * cell.step_x, y = cell.y + float(i) * cell.step_y;
            bool is_inside =
                x >= -0.5F && x <= float(s.width) - 0.5F && y >= -0.5F && y <= float(s.height) - 0.5F;
            if (!is_inside) continue;
            x = std::clamp(x, 0.F, float(s.width - 1));
            y = std::clamp(y, 0.F, float(s.height - 1));
            float left = std::floor(x), top = std::floor(y);
            fn(Sample{int64_t(left), int64_t(std::ceil(x)), int64_t(top), int64_t(std::ceil(y)), x - left,
                      y - top});
            ++count;
        }
    return count;
}

// Calls fn(image, cell, its place among the cells of one channel's region) for a region that has an image.
template <class Fn>
void for_cells(const State& s, const Region& region, const float* offsets, int64_t r, Fn&& fn) {
    if (region.image < 0 || s.image_size() == 0) return;
    const float* own = offsets + r * 2 * s.parts * s.parts;
    for (int64_t i = 0; i < s.cells(); ++i) fn(cell_at(s, region, own, i), i);
}

int64_t grain_of(const State& s, int64_t cells) {
    constexpr int64_t nanoseconds_per_sample = 8;
    return parallel_grain / (cells * s.p.samples * s.p.samples * nanoseconds_per_sample + 1) + 1;
}

void run_forward(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    auto *x = launch.in<float>(0), *regions = launch.in<float>(1), *offsets = launch.in<float>(2);
    float* y = launch.out<float>(0);
    par_for(launch.threads, s.regions, grain_of(s, s.channels * s.cells()), [&](int64_t begin, int64_t end) {
        std::fill(y + begin * s.channels * s.cells(), y + end * s.channels * s.cells(), 0.F);
        for (int64_t r = begin; r < end; ++r) {
            Region region = region_at(s, regions, r);
            for_cells(s, region, offsets, r, [&](const Cell& cell, int64_t i) {
                for (int64_t c = 0; c < s.channels; ++c) {
                    const float* plane = x + (region.image * s.channels + c) * s.image_size();
                    float sum = 0;
                    int64_t count = for_samples(
                        s, cell, [&](const Sample& sample) { sum += sample.value(plane, s.width); });
                    if (count) y[(r * s.channels + c) * s.cells() + i] = sum / float(count);
                }
            });
        }
    });
}

int64_t count_samples(const State& s, const Cell& cell) {
    return for_samples(s, cell, [](const Sample&) {});
}

// Regions may overlap, so that channels are what threads do not share.
void differentiate_x(const State& s, const Launch& launch) {
    auto *regions = launch.in<float>(1), *dy = launch.in<float>(2), *offsets = launch.in<float>(3);
    float* dx = launch.out<float>(0);
    std::fill(dx, dx + s.images * s.channels * s.image_size(), 0.F);
    par_for(launch.threads, s.channels, grain_of(s, s.regions * s.cells()), [&](int64_t begin, int64_t end) {
        for (int64_t r = 0; r < s.regions; ++r) {
            Region region = region_at(s, regions, r);
            for_cells(s, region, offsets, r, [&](const Cell& cell, int64_t i) {
                auto count = float(count_samples(s, cell));
                for (int64_t c = begin; c < end; ++c) {
                    float* plane = dx + (region.image * s.channels + c) * s.image_size();
                    float share = dy[(r * s.channels + c) * s.cells() + i] / count;
                    for_samples(s, cell, [&](const Sample& sample) { sample.add(plane, s.width, share); });
                }
            });
        }
    });
}

void differentiate_offsets(const State& s, const Launch& launch) {
    auto *x = launch.in<float>(0), *regions = launch.in<float>(1), *dy = launch.in<float>(2),
         *offsets = launch.in<float>(3);
    int64_t plane_size = s.parts * s.parts;
    auto scale = float(s.p.offset_scale);
    par_for(launch.threads, s.regions, grain_of(s, s.channels * s.cells()), [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
            float* d = launch.out<float>(1) + r * 2 * plane_size;
            std::fill(d, d + 2 * plane_size, 0.F);
            Region region = region_at(s, regions, r);
            for_cells(s, region, offsets, r, [&](const Cell& cell, int64_t i) {
                auto count = float(count_samples(s, cell));
                for (int64_t c = 0; c < s.channels; ++c) {
                    const float* plane = x + (region.image * s.channels + c) * s.image_size();
                    float share = dy[(r * s.channels + c) * s.cells() + i] * scale / count;
                    for_samples(s, cell, [&](const Sample& sample) {
                        d[cell.offset_at] += share * region.width * sample.slope_x(plane, s.width);
                        d[cell.offset_at + plane_size] +=
                            share * region.height * sample.slope_y(plane, s.width);
                    });
                }
            });
        }
    });
}

void run_backward(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    differentiate_x(s, launch);
    if (s.parts) differentiate_offsets(s, launch);
}

constexpr Algorithm forward_algorithms[] = {{"samples", plain_layouts, prepare<2>, run_forward}};
constexpr Algorithm backward_algorithms[] = {{"samples", plain_layouts, prepare<3>, run_backward}};

}  // namespace

KernelList kernels(Cpu, DeformableRoiPool2d) { return forward_algorithms; }
KernelList kernels(Cpu, DeformableRoiPool2dBackward) { return backward_algorithms; }

}  // namespace mge::ops
