// SPDX-License-Identifier: Apache-2.0
// A pixel of the result is a sum over four taps: places in an image and their weights, the same for all
// channels.
#include "libmge/ops/vision/remap.cuda.h"

#include "libmge/kernel/cuda/reduce/fixed_sums.cuh"

namespace mge::cuda {
namespace {

constexpr int outside = -1;
// Coordinates beyond are as good as infinite, and their integers fit everywhere.
constexpr float far_away = 1 << 30;
constexpr int channels_of_thread = 4;

MGE_DEVICE int floor_mod(int a, int b) {
    int rest = a % b;
    return rest < 0 ? rest + b : rest;
}
MGE_DEVICE int place_inside(int i, int extent, Border border) {
    if (i >= 0 && i < extent) return i;
    if (border == Border::constant) return outside;
    if (border == Border::replicate) return i < 0 ? 0 : extent - 1;
    if (border == Border::wrap) return floor_mod(i, extent);
    if (extent == 1) return 0;
    // A mirrored axis repeats itself, with or without a repeated edge.
    int twice = border == Border::reflect ? 1 : 0, period = 2 * (extent - 1 + twice);
    int folded = floor_mod(i, period);
    return folded < extent ? folded : period - folded - twice;
}
MGE_DEVICE float tamed(float v) {
    // NaN fails both comparisons and ends far away too.
    return v > -far_away ? (v < far_away ? v : far_away) : -far_away;
}

struct Taps {
    int64_t image;
    int64_t place[4];     // (top, left), (top, right), (bottom, left), (bottom, right)
    float right, bottom;  // the weights of the second column and row

    MGE_DEVICE float weight(int tap) const {
        return (tap / 2 ? bottom : 1 - bottom) * (tap % 2 ? right : 1 - right);
    }
};
// For a pixel counted over all maps. A map without an image (its index out of range) shows the border.
MGE_DEVICE Taps taps_at(const Remapping& r, const RemapPlaces& places, int64_t map, int64_t pixel) {
    float column = tamed(places.map[2 * pixel]), row = tamed(places.map[2 * pixel + 1]);
    float left = r.is_nearest ? rintf(column) : floorf(column);
    float top = r.is_nearest ? rintf(row) : floorf(row);
    int64_t image = places.image ? places.image[map] : map;
    bool is_known = image >= 0 && image < r.images;
    Taps taps{is_known ? image : 0, {}, r.is_nearest ? 0 : column - left, r.is_nearest ? 0 : row - top};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        int y = place_inside(int(top) + i / 2, r.height, r.border);
        int x = place_inside(int(left) + i % 2, r.width, r.border);
        taps.place[i] = y == outside || x == outside || !is_known ? outside : int64_t(y) * r.width + x;
    }
    return taps;
}

// The work of a thread: a pixel, counted over all maps, in some channels.
struct Work {
    int64_t map, within, pixel, channel, end;
};
MGE_DEVICE int64_t works(const Remapping& r) {
    return r.maps * ((r.channels + channels_of_thread - 1) / channels_of_thread) * r.pixels;
}
MGE_DEVICE Work work_at(const Remapping& r, int64_t i) {
    Work w;
    w.within = split_index(i, r.pixels);
    w.channel =
        split_index(i, (r.channels + channels_of_thread - 1) / channels_of_thread) * channels_of_thread;
    w.map = i;
    w.pixel = w.map * r.pixels + w.within;
    w.end = w.channel + channels_of_thread < r.channels ? w.channel + channels_of_thread : r.channels;
    return w;
}
MGE_DEVICE int64_t image_size(const Remapping& r) { return int64_t(r.height) * r.width; }

template <class T>
MGE_DEVICE float value_of(T value) {
    return float(widen(value));
}
template <class T>
MGE_DEVICE T rounded(float v) {
    if constexpr (is_same<T, uint8_t> || is_same<T, int8_t>) {
        constexpr float least = is_same<T, int8_t> ? -128 : 0, most = least + 255;
        float whole = rintf(v);
        return T(whole > least ? whole < most ? whole : most : least);
    } else {
        return from_float<T>(v);
    }
}

template <class T>
__global__ void sample(Remapping r, RemapPlaces places, const T* x, T* y) {
    for (int64_t i = first_piece(); i < works(r); i += piece_step()) {
        Work w = work_at(r, i);
        Taps taps = taps_at(r, places, w.map, w.pixel);
        for (int64_t c = w.channel; c < w.end; ++c) {
            const T* plane = x + (taps.image * r.channels + c) * image_size(r);
            float sum = 0;
#pragma unroll
            for (int tap = 0; tap < 4; ++tap)
                if (float weight = taps.weight(tap); weight != 0)
                    sum += weight * (taps.place[tap] == outside ? r.value : value_of(plane[taps.place[tap]]));
            y[(w.map * r.channels + c) * r.pixels + w.within] = rounded<T>(sum);
        }
    }
}

template <class T>
__global__ void scatter(Remapping r, RemapPlaces places, const T* dy, FixedSums sums) {
    double steps = steps_of(sums);
    for (int64_t i = first_piece(); i < works(r); i += piece_step()) {
        Work w = work_at(r, i);
        Taps taps = taps_at(r, places, w.map, w.pixel);
        for (int64_t c = w.channel; c < w.end; ++c) {
            float grad = to_float(dy[(w.map * r.channels + c) * r.pixels + w.within]);
            int64_t plane = (taps.image * r.channels + c) * image_size(r);
#pragma unroll
            for (int tap = 0; tap < 4; ++tap)
                if (taps.place[tap] != outside && taps.weight(tap) != 0)
                    add_to(sums, steps, plane + taps.place[tap], taps.weight(tap) * grad);
        }
    }
}

// y = Σ weights·pixels:  dy/dcolumn = (1 − bottom)·(tr − tl) + bottom·(br − bl), and so for the row.
template <class T>
__global__ void slopes(Remapping r, RemapPlaces places, const T* x, const T* dy, float* dmap) {
    for (int64_t pixel = first_piece(); pixel < r.maps * r.pixels; pixel += piece_step()) {
        int64_t map = pixel, within = split_index(map, r.pixels);
        Taps t = taps_at(r, places, map, pixel);
        float column = 0, row = 0;
        for (int64_t c = 0; c < r.channels && !r.is_nearest; ++c) {
            const T* plane = x + (t.image * r.channels + c) * image_size(r);
            float v[4];
#pragma unroll
            for (int tap = 0; tap < 4; ++tap)
                v[tap] = t.place[tap] == outside ? r.value : to_float(plane[t.place[tap]]);
            float grad = to_float(dy[(map * r.channels + c) * r.pixels + within]);
            column += grad * ((1 - t.bottom) * (v[1] - v[0]) + t.bottom * (v[3] - v[2]));
            row += grad * ((1 - t.right) * (v[2] - v[0]) + t.right * (v[3] - v[1]));
        }
        dmap[2 * pixel] = column;
        dmap[2 * pixel + 1] = row;
    }
}

unsigned grid_of(const Remapping& r) {
    return grid_for(r.maps * ((r.channels + channels_of_thread - 1) / channels_of_thread) * r.pixels);
}

}  // namespace

void remap(Stream stream, int type, const Remapping& r, const RemapPlaces& places, const void* x, void* y) {
    dispatch_type(type, Types<f16, bf16, float, uint8_t, int8_t>{}, [&]<class T>(T*) {
        launch(sample<T>, grid_of(r), block_threads, 0, stream, r, places, static_cast<const T*>(x),
               static_cast<T*>(y));
    });
}

void remap_backward_data(Stream stream, int type, const Remapping& r, const RemapPlaces& places,
                         const void* dy, const FixedSums& sums, void* dx) {
    dispatch_type(type, FloatTypes{}, [&]<class T>(T*) {
        auto* terms = static_cast<const T*>(dy);
        launch_find_largest(stream, sums, terms, r.maps * r.channels * r.pixels);
        launch(scatter<T>, grid_of(r), block_threads, 0, stream, r, places, terms, sums);
        launch_write_sums(stream, sums, static_cast<T*>(dx));
    });
}

void remap_backward_map(Stream stream, int type, const Remapping& r, const RemapPlaces& places, const void* x,
                        const void* dy, float* dmap) {
    dispatch_type(type, FloatTypes{}, [&]<class T>(T*) {
        launch(slopes<T>, grid_for(r.maps * r.pixels), block_threads, 0, stream, r, places,
               static_cast<const T*>(x), static_cast<const T*>(dy), dmap);
    });
}

}  // namespace mge::cuda
