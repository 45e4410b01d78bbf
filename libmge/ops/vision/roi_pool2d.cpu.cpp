// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/vision/roi_pool2d.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge::ops {
namespace {

struct State {
    RoiPoolParams p;
    int64_t images, channels, height, width, regions;
    DType dtype;

    int64_t image_size() const { return height * width; }
};

Prepared prepare(const PrepareContext& context) {
    auto& problem = context.problem;
    auto& x = problem.inputs[0].shape;
    return Prepared::make(State{problem.as<RoiPoolParams>(), x[0], x[1], x[2], x[3],
                                problem.inputs[1].shape[0], problem.inputs[0].dtype});
}

// Far outside of every image, but small enough to calculate with. NaN comes out as the lowest.
int64_t whole_pixel(double v) {
    constexpr double far_away = 1 << 30;
    return int64_t(std::round(v > -far_away ? std::min(v, far_away) : -far_away));
}

struct Cell {
    int64_t top, bottom, left, right;
    bool is_empty() const { return top >= bottom || left >= right; }
};

// A region in pixels of its image; the image is -1 when there is none of that index.
struct Region {
    int64_t image, left, top, width, height;

    // The cells share out the rows and columns, a pixel on a border belongs to both sides.
    Cell cell(const State& s, int64_t row, int64_t column) const {
        auto part = [](int64_t i, int64_t of, double extent, int64_t start, int64_t limit) {
            double at = double(i) * extent / double(of), next = double(i + 1) * extent / double(of);
            auto clip = [&](double v) { return std::clamp(int64_t(v) + start, int64_t(0), limit); };
            return std::pair{clip(std::floor(at)), clip(std::ceil(next))};
        };
        auto [top_row, bottom_row] = part(row, s.p.height, double(height), top, s.height);
        auto [first, last] = part(column, s.p.width, double(width), left, s.width);
        return {top_row, bottom_row, first, last};
    }
};

Region region_at(const State& s, const float* regions, int64_t i) {
    const float* r = regions + 5 * i;
    bool is_known = r[0] >= 0 && r[0] < float(s.images);
    int64_t x1 = whole_pixel(r[1] * s.p.scale), y1 = whole_pixel(r[2] * s.p.scale);
    int64_t x2 = whole_pixel(r[3] * s.p.scale), y2 = whole_pixel(r[4] * s.p.scale);
    return {is_known ? int64_t(r[0]) : -1, x1, y1, std::max<int64_t>(x2 - x1 + 1, 1),
            std::max<int64_t>(y2 - y1 + 1, 1)};
}

// Calls fn(image, place in y of its plane, cell) for the cells of all regions that are not empty, and
// empty(place) for the others.
template <class Fn, class Empty>
void for_cells(const State& s, const float* regions, int64_t channel, Fn&& fn, Empty&& empty) {
    for (int64_t r = 0; r < s.regions; ++r) {
        Region region = region_at(s, regions, r);
        for (int64_t i = 0; i < s.p.height * s.p.width; ++i) {
            int64_t place = (r * s.channels + channel) * s.p.height * s.p.width + i;
            Cell cell = region.cell(s, i / s.p.width, i % s.p.width);
            if (region.image < 0 || cell.is_empty())
                empty(place);
            else
                fn(region.image, place, cell);
        }
    }
}

// The place in its plane of the first largest element.
template <class T>
int64_t find_largest(const State& s, const T* plane, const Cell& cell) {
    int64_t best = cell.top * s.width + cell.left;
    for (int64_t y = cell.top; y < cell.bottom; ++y)
        for (int64_t x = cell.left; x < cell.right; ++x)
            if (float(plane[y * s.width + x]) > float(plane[best])) best = y * s.width + x;
    return best;
}

template <class T>
double mean_of(const State& s, const T* plane, const Cell& cell) {
    double sum = 0;
    for (int64_t y = cell.top; y < cell.bottom; ++y)
        for (int64_t x = cell.left; x < cell.right; ++x) sum += float(plane[y * s.width + x]);
    return sum / double((cell.bottom - cell.top) * (cell.right - cell.left));
}

template <class T>
void pool_channel(const State& s, const Launch& launch, int64_t channel) {
    T* y = launch.out<T>(0);
    for_cells(
        s, launch.in<float>(1), channel,
        [&](int64_t image, int64_t place, const Cell& cell) {
            const T* plane = launch.in<T>(0) + (image * s.channels + channel) * s.image_size();
            y[place] = s.p.mode == RoiPoolMode::max ? plane[find_largest(s, plane, cell)]
                                                    : T(float(mean_of(s, plane, cell)));
        },
        [&](int64_t place) { y[place] = T(0.0F); });
}

// Regions may overlap, so that channels are what threads do not share. Halves are summed in f32.
template <class T>
void scatter_channel(const State& s, const Launch& launch, int64_t channel) {
    std::vector<float> sums(size_t(s.images * s.image_size()));
    auto add_cell = [&](int64_t image, int64_t place, const Cell& cell) {
        const T* plane = launch.in<T>(0) + (image * s.channels + channel) * s.image_size();
        float* into = sums.data() + image * s.image_size();
        auto dy = float(launch.in<T>(2)[place]);
        if (s.p.mode == RoiPoolMode::max) {
            into[find_largest(s, plane, cell)] += dy;
            return;
        }
        float share = dy / float((cell.bottom - cell.top) * (cell.right - cell.left));
        for (int64_t y = cell.top; y < cell.bottom; ++y)
            for (int64_t x = cell.left; x < cell.right; ++x) into[y * s.width + x] += share;
    };
    for_cells(s, launch.in<float>(1), channel, add_cell, [](int64_t) {});
    for (int64_t n = 0; n < s.images; ++n)
        for (int64_t i = 0; i < s.image_size(); ++i)
            launch.out<T>(0)[(n * s.channels + channel) * s.image_size() + i] =
                T(sums[size_t(n * s.image_size() + i)]);
}

template <bool IsBackward>
void run(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    // A guess: cells that cover the image once.
    int64_t cost = s.regions * (s.image_size() + s.p.height * s.p.width) + 1;
    dispatch_dtype(s.dtype, FloatTypes{}, [&]<class T>(std::type_identity<T>) {
        par_for(launch.threads, s.channels, parallel_grain / cost + 1, [&](int64_t begin, int64_t end) {
            for (int64_t c = begin; c < end; ++c)
                IsBackward ? scatter_channel<T>(s, launch, c) : pool_channel<T>(s, launch, c);
        });
    });
}

}  // namespace

KernelList kernels(Cpu, RoiPool2d) { return one_algorithm<prepare, run<false>>("channels"); }
KernelList kernels(Cpu, RoiPool2dBackward) { return one_algorithm<prepare, run<true>>("channels"); }

}  // namespace mge::ops
