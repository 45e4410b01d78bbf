// SPDX-License-Identifier: Apache-2.0
// A pixel of the result is a sum over four taps: places in an image and their weights, the same for all
// channels.
#include "libmge/ops/vision/remap.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge::ops {
namespace {

using SampleTypes = Types<Half, BFloat16, float, uint8_t, int8_t>;

constexpr int64_t outside = -1;
// Coordinates beyond are as good as infinite, and their integers fit everywhere.
constexpr float far_away = 1 << 30;

struct State {
    RemapParams p;
    int64_t images, channels, height, width, maps, out_height, out_width;
    bool has_image_index;
    DType dtype;

    int64_t pixels() const { return out_height * out_width; }
    int64_t image_size() const { return height * width; }
};

template <class Op>
Prepared prepare(const PrepareContext& context) {
    auto& problem = context.problem;
    constexpr size_t image = Op::inputs.size() - 1, values = image == 2 ? 0 : 2;  // x, or dy
    auto &x = problem.inputs[0].shape, &map = problem.inputs[1].shape;
    return Prepared::make(State{problem.as<RemapParams>(), x[0], x[1], x[2], x[3], map[0], map[1], map[2],
                                problem.has_input(image), problem.inputs[values].dtype});
}

int64_t floor_mod(int64_t a, int64_t b) { return (a % b + b) % b; }

int64_t place_inside(int64_t i, int64_t extent, Border border) {
    if (i >= 0 && i < extent) return i;
    if (border == Border::constant) return outside;
    if (border == Border::replicate) return i < 0 ? 0 : extent - 1;
    if (border == Border::wrap) return floor_mod(i, extent);
    if (extent == 1) return 0;
    // A mirrored axis repeats itself, with or without a repeated edge.
    int64_t twice = border == Border::reflect ? 1 : 0, period = 2 * (extent - 1 + twice);
    int64_t folded = floor_mod(i, period);
    return folded < extent ? folded : period - folded - twice;
}

float tamed(float v) {
    // NaN fails both comparisons and ends far away too.
    return v > -far_away ? (v < far_away ? v : far_away) : -far_away;
}

struct Taps {
    std::array<int64_t, 4> place;  // (top, left), (top, right), (bottom, left), (bottom, right)
    float right, bottom;           // the weights of the second column and row
};

Taps taps_at(const State& s, float column, float row) {
    column = tamed(column);
    row = tamed(row);
    bool is_nearest = s.p.interpolation == Interpolation::nearest;
    float left = is_nearest ? std::nearbyint(column) : std::floor(column);
    float top = is_nearest ? std::nearbyint(row) : std::floor(row);
    Taps taps{{}, is_nearest ? 0 : column - left, is_nearest ? 0 : row - top};
    for (int i = 0; i < 4; ++i) {
        int64_t y = place_inside(int64_t(top) + i / 2, s.height, s.p.border);
        int64_t x = place_inside(int64_t(left) + i % 2, s.width, s.p.border);
        taps.place[size_t(i)] = y == outside || x == outside ? outside : y * s.width + x;
    }
    return taps;
}

std::array<float, 4> weights_of(const Taps& t) {
    return {(1 - t.bottom) * (1 - t.right), (1 - t.bottom) * t.right, t.bottom * (1 - t.right),
            t.bottom * t.right};
}

// Calls fn(image of x, pixel of y, taps) for the pixels [begin, end), counted over all maps. A map of no
// image (its index out of range) shows what is outside.
template <class Fn>
void for_pixels(const State& s, const float* map, const int32_t* image_index, int64_t begin, int64_t end,
                Fn&& fn) {
    for (int64_t pixel = begin; pixel < end; ++pixel) {
        int64_t image = pixel / s.pixels();
        if (image_index) image = image_index[image];
        Taps taps = taps_at(s, map[2 * pixel], map[2 * pixel + 1]);
        if (image < 0 || image >= s.images) {
            image = 0;
            taps.place.fill(outside);
        }
        fn(image, pixel, taps);
    }
}

const int32_t* image_index(const State& s, const Launch& launch) {
    return s.has_image_index ? launch.in<int32_t>(launch.inputs.size() - 1) : nullptr;
}

template <class T>
T rounded(double v) {
    if constexpr (std::is_integral_v<T>)
        return T(std::clamp(std::nearbyint(v), double(std::numeric_limits<T>::min()),
                            double(std::numeric_limits<T>::max())));
    else
        return T(float(v));
}

// --- forward: x, map, image -> y ---

// All pixels are in the image. A weight of 0 hides infinity.
bool is_plain(const Taps& taps, const std::array<float, 4>& weights) {
    return std::ranges::find(taps.place, outside) == taps.place.end() &&
           std::ranges::find(weights, 0.0f) == weights.end();
}

template <class T>
void sample_pixels(const State& s, const Launch& launch, int64_t begin, int64_t end) {
    auto constant = float(s.p.value);
    for_pixels(s, launch.in<float>(1), image_index(s, launch), begin, end,
               [&](int64_t image, int64_t pixel, const Taps& taps) {
                   auto weights = weights_of(taps);
                   const bool plain = is_plain(taps, weights);
                   int64_t map = pixel / s.pixels(), at = pixel % s.pixels();
                   for (int64_t c = 0; c < s.channels; ++c) {
                       const T* plane = launch.in<T>(0) + (image * s.channels + c) * s.image_size();
                       float sum = 0;
                       for (size_t i = 0; i < 4; ++i)
                           if (plain)
                               sum += weights[i] * float(plane[taps.place[i]]);
                           else if (weights[i] != 0)
                               sum += weights[i] *
                                      (taps.place[i] == outside ? constant : float(plane[taps.place[i]]));
                       launch.out<T>(0)[(map * s.channels + c) * s.pixels() + at] = rounded<T>(sum);
                   }
               });
}

void run_sampling(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    dispatch_dtype(s.dtype, SampleTypes{}, [&]<class T>(std::type_identity<T>) {
        par_for(launch.threads, s.maps * s.pixels(), parallel_grain / (4 * s.channels + 1) + 1,
                [&](int64_t begin, int64_t end) { sample_pixels<T>(s, launch, begin, end); });
    });
}

// --- backward to x: x (its shape), map, dy, image -> dx ---

// Several maps may be of one image, so that channels are what threads do not share. Halves are summed in f32.
template <class T>
void scatter_channel(const State& s, const Launch& launch, int64_t channel) {
    std::vector<float> sums(size_t(s.images * s.image_size()));
    for_pixels(s, launch.in<float>(1), image_index(s, launch), 0, s.maps * s.pixels(),
               [&](int64_t image, int64_t pixel, const Taps& taps) {
                   auto weights = weights_of(taps);
                   int64_t map = pixel / s.pixels(), at = pixel % s.pixels();
                   auto dy = float(launch.in<T>(2)[(map * s.channels + channel) * s.pixels() + at]);
                   for (size_t i = 0; i < 4; ++i)
                       if (taps.place[i] != outside)
                           sums[size_t(image * s.image_size() + taps.place[i])] += weights[i] * dy;
               });
    for (int64_t n = 0; n < s.images; ++n)
        for (int64_t i = 0; i < s.image_size(); ++i)
            launch.out<T>(0)[(n * s.channels + channel) * s.image_size() + i] =
                T(sums[size_t(n * s.image_size() + i)]);
}

void run_scatter(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    dispatch_dtype(s.dtype, FloatTypes{}, [&]<class T>(std::type_identity<T>) {
        par_for(launch.threads, s.channels, parallel_grain / (10 * s.maps * s.pixels() + 1) + 1,
                [&](int64_t begin, int64_t end) {
                    for (int64_t c = begin; c < end; ++c) scatter_channel<T>(s, launch, c);
                });
    });
}

// --- backward to the map: x, map, dy, image -> dmap ---

// y = Σ weights·pixels:  dy/dcolumn = (1 − bottom)·(tr − tl) + bottom·(br − bl), and so for the row.
template <class T>
void slope_pixels(const State& s, const Launch& launch, int64_t begin, int64_t end) {
    auto constant = float(s.p.value);
    bool is_flat = s.p.interpolation == Interpolation::nearest;
    for_pixels(s, launch.in<float>(1), image_index(s, launch), begin, end,
               [&](int64_t image, int64_t pixel, const Taps& t) {
                   int64_t map = pixel / s.pixels(), at = pixel % s.pixels();
                   double column = 0, row = 0;
                   for (int64_t c = 0; c < s.channels && !is_flat; ++c) {
                       const T* plane = launch.in<T>(0) + (image * s.channels + c) * s.image_size();
                       std::array<double, 4> v;
                       for (size_t i = 0; i < 4; ++i)
                           v[i] = t.place[i] == outside ? constant : float(plane[t.place[i]]);
                       double dy = float(launch.in<T>(2)[(map * s.channels + c) * s.pixels() + at]);
                       column += dy * ((1 - t.bottom) * (v[1] - v[0]) + t.bottom * (v[3] - v[2]));
                       row += dy * ((1 - t.right) * (v[2] - v[0]) + t.right * (v[3] - v[1]));
                   }
                   launch.out<float>(0)[2 * pixel] = float(column);
                   launch.out<float>(0)[2 * pixel + 1] = float(row);
               });
}

void run_slopes(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    dispatch_dtype(s.dtype, FloatTypes{}, [&]<class T>(std::type_identity<T>) {
        par_for(launch.threads, s.maps * s.pixels(), parallel_grain / (8 * s.channels + 1) + 1,
                [&](int64_t begin, int64_t end) { slope_pixels<T>(s, launch, begin, end); });
    });
}

}  // namespace

KernelList kernels(Cpu, Remap) { return one_algorithm<prepare<Remap>, run_sampling>("pixels"); }
KernelList kernels(Cpu, RemapBackwardData) {
    return one_algorithm<prepare<RemapBackwardData>, run_scatter>("channels");
}
KernelList kernels(Cpu, RemapBackwardMap) {
    return one_algorithm<prepare<RemapBackwardMap>, run_slopes>("pixels");
}

}  // namespace mge::ops
