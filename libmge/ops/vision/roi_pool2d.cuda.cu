// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/vision/roi_pool2d.cuda.h"

#include "libmge/kernel/cuda/reduce/fixed_sums.cuh"

namespace mge::cuda {
namespace {

// Far outside of every image, but small enough to calculate with. NaN comes out as the lowest.
MGE_DEVICE int64_t whole_pixel(double v) {
    constexpr double far_away = 1 << 30;
    double near = v > -far_away ? (v < far_away ? v : far_away) : -far_away;
    return int64_t(::round(near));
}

// A range of pixels; empty if it ends before it begins.
struct Range {
    int64_t begin, end;
};
// The cells share out the rows and columns of a region, a pixel on a border belongs to both sides.
MGE_DEVICE Range part_of(int64_t i, int64_t of, int64_t start, int64_t extent, int64_t limit) {
    auto clip = [&](double v) {
        int64_t at = int64_t(v) + start;
        return at < 0 ? 0 : at > limit ? limit : at;
    };
    return {clip(::floor(double(i) * double(extent) / double(of))),
            clip(::ceil(double(i + 1) * double(extent) / double(of)))};
}
MGE_DEVICE Range cell_along(const RoiPooling& p, float from, float to, int64_t i, int64_t of, int64_t limit) {
    int64_t first = whole_pixel(double(from) * p.scale), last = whole_pixel(double(to) * p.scale);
    return part_of(i, of, first, last - first + 1 > 1 ? last - first + 1 : 1, limit);
}

struct Cell {
    int64_t plane;  // plane of x; -1 without pixels
    Range rows, columns;

    MGE_DEVICE int64_t count() const { return (rows.end - rows.begin) * (columns.end - columns.begin); }
};
// The cell of the result with this number.
MGE_DEVICE Cell cell_at(const RoiPooling& p, const float* regions, int64_t i) {
    int64_t column = split_index(i, p.columns), row = split_index(i, p.rows);
    int64_t channel = split_index(i, p.channels);
    const float* r = regions + 5 * i;
    Cell cell{-1, cell_along(p, r[2], r[4], row, p.rows, p.height),
              cell_along(p, r[1], r[3], column, p.columns, p.width)};
    bool is_known = r[0] >= 0 && r[0] < float(p.images);
    if (is_known && cell.rows.begin < cell.rows.end && cell.columns.begin < cell.columns.end)
        cell.plane = int64_t(r[0]) * p.channels + channel;
    return cell;
}

// The place in its plane of the first largest element.
template <class T>
MGE_DEVICE int64_t find_largest_place(const RoiPooling& p, const T* plane, const Cell& cell) {
    int64_t best = cell.rows.begin * p.width + cell.columns.begin;
    for (int64_t y = cell.rows.begin; y < cell.rows.end; ++y)
        for (int64_t x = cell.columns.begin; x < cell.columns.end; ++x)
            if (to_float(plane[y * p.width + x]) > to_float(plane[best])) best = y * p.width + x;
    return best;
}
template <class T>
MGE_DEVICE float mean_of(const RoiPooling& p, const T* plane, const Cell& cell) {
    float sum = 0;
    for (int64_t y = cell.rows.begin; y < cell.rows.end; ++y)
        for (int64_t x = cell.columns.begin; x < cell.columns.end; ++x)
            sum += to_float(plane[y * p.width + x]);
    return sum / float(cell.count());
}

template <class T>
__global__ void pool_cells(RoiPooling p, const T* x, const float* regions, T* y) {
    int64_t cells = p.regions * p.channels * p.rows * p.columns;
    for (int64_t i = first_piece(); i < cells; i += piece_step()) {
        Cell cell = cell_at(p, regions, i);
        const T* plane = x + cell.plane * p.height * p.width;
        if (cell.plane < 0)
            y[i] = from_float<T>(0);
        else
            y[i] =
                p.is_max ? plane[find_largest_place(p, plane, cell)] : from_float<T>(mean_of(p, plane, cell));
    }
}

template <class T>
__global__ void scatter_cells(RoiPooling p, const T* x, const float* regions, const T* dy, FixedSums sums) {
    int64_t cells = p.regions * p.channels * p.rows * p.columns;
    double steps = steps_of(sums);
    for (int64_t i = first_piece(); i < cells; i += piece_step()) {
        Cell cell = cell_at(p, regions, i);
        if (cell.plane < 0) continue;
        int64_t plane = cell.plane * p.height * p.width;
        float grad = to_float(dy[i]);
        if (p.is_max) {
            add_to(sums, steps, plane + find_largest_place(p, x + plane, cell), grad);
            continue;
        }
        float share = grad / float(cell.count());
        for (int64_t row = cell.rows.begin; row < cell.rows.end; ++row)
            for (int64_t column = cell.columns.begin; column < cell.columns.end; ++column)
                add_to(sums, steps, plane + row * p.width + column, share);
    }
}

}  // namespace

void roi_pool(Stream stream, int type, const RoiPooling& p, const void* x, const float* regions, void* y) {
    int64_t cells = p.regions * p.channels * p.rows * p.columns;
    dispatch_type(type, FloatTypes{}, [&]<class T>(T*) {
        launch(pool_cells<T>, grid_for(cells), block_threads, 0, stream, p, static_cast<const T*>(x), regions,
               static_cast<T*>(y));
    });
}

void roi_pool_backward(Stream stream, int type, const RoiPooling& p, const void* x, const float* regions,
                       const void* dy, const FixedSums& sums, void* dx) {
    int64_t cells = p.regions * p.channels * p.rows * p.columns;
    dispatch_type(type, FloatTypes{}, [&]<class T>(T*) {
        auto* terms = static_cast<const T*>(dy);
        launch_find_largest(stream, sums, terms, cells);
        launch(scatter_cells<T>, grid_for(cells), block_threads, 0, stream, p, static_cast<const T*>(x),
               regions, terms, sums);
        launch_write_sums(stream, sums, static_cast<T*>(dx));
    });
}

}  // namespace mge::cuda
