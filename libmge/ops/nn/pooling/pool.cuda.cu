// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/pooling/pool.cuda.h"

#include "libmge/kernel/cuda/rows.cuh"

namespace mge::cuda {
namespace {

// A place in images of this size.
struct Place {
    int64_t plane, channel;
    int row, column;
};
MGE_DEVICE Place place_in(const Pooling& g, const int (&size)[2], int64_t i) {
    Place at;
    at.channel = g.channels == 1 ? 0 : split_index(i, g.channels);
    at.column = int(split_index(i, size[1]));
    at.row = int(split_index(i, size[0]));
    at.plane = i;
    return at;
}

// The element of another pixel of its plane and channel.
MGE_DEVICE int64_t element_at(const Pooling& g, const int (&size)[2], const Place& of, int row, int column) {
    return ((of.plane * size[0] + row) * size[1] + column) * g.channels + of.channel;
}
MGE_DEVICE int64_t elements_of(const Pooling& g, const int (&size)[2]) {
    return g.planes * size[0] * size[1] * g.channels;
}

MGE_DEVICE int higher(int a, int b) { return a > b ? a : b; }
MGE_DEVICE int lower(int a, int b) { return a < b ? a : b; }

// Bytes as numbers, too, of which every one is a float.
template <class T>
MGE_DEVICE float number_of(T x) {
    if constexpr (sizeof(T) == 1)
        return float(x);
    else
        return to_float(x);
}
template <class T>
MGE_DEVICE T from_number(float x) {
    if constexpr (sizeof(T) == 1)
        return T(x);
    else
        return from_float<T>(x);
}

// The elements of x under a result.
struct Window {
    int top, bottom, left, right;
};
MGE_DEVICE Window window_at(const Pooling& g, int row, int column) {
    int top = row * g.stride[0] - g.padding[0], left = column * g.stride[1] - g.padding[1];
    return {higher(top, 0), lower(top + g.kernel[0], g.in[0]), higher(left, 0),
            lower(left + g.kernel[1], g.in[1])};
}
MGE_DEVICE float count_of(const Pooling& g, Window w) {
    return g.count_include_pad ? float(g.kernel[0]) * float(g.kernel[1])
                               : float(w.bottom - w.top) * float(w.right - w.left);
}
// The results whose windows an element of x may be in: in the form of a window over y.
MGE_DEVICE Window results_of(const Pooling& g, int row, int column) {
    auto first = [&](int at, int axis) {
        int behind = at + g.padding[axis] - g.kernel[axis];  // the last that ends before `at`
        return behind < 0 ? 0 : behind / g.stride[axis] + 1;
    };
    auto end = [&](int at, int axis) {
        return lower((at + g.padding[axis]) / g.stride[axis] + 1, g.out[axis]);
    };
    return {first(row, 0), end(row, 0), first(column, 1), end(column, 1)};
}

// The reduction of a window: an object with `float start`, `float add(float so_far, int64_t at, int64_t
// output)`, `join` of two lanes and `result`. If it only depends on x, `join` adds an element, too.
template <class T>
struct Largests {
    const T* x;
    static constexpr bool is_of_x_alone = true;
    static constexpr float start = -__builtin_huge_valf();
    MGE_DEVICE float add(float so_far, int64_t at, int64_t) const {
        return operator()(so_far, number_of(x[at]));
    }
    MGE_DEVICE float operator()(float a, float b) const { return a < b ? b : a; }
    MGE_DEVICE float result(float total, float) const { return total; }
};
template <class T>
struct Means {
    const T* x;
    static constexpr bool is_of_x_alone = true;
    static constexpr float start = 0;
    MGE_DEVICE float add(float so_far, int64_t at, int64_t) const { return so_far + to_float(x[at]); }
    MGE_DEVICE float operator()(float a, float b) const { return a + b; }
    MGE_DEVICE float result(float total, float count) const { return total / count; }
};
template <class T>
struct Selected {
    const T *x, *y, *v;
    static constexpr bool is_of_x_alone = false;
    static constexpr float start = 0;
    MGE_DEVICE float add(float so_far, int64_t at, int64_t output) const {
        return to_float(x[at]) == to_float(y[output]) ? so_far + to_float(v[at]) : so_far;
    }
    MGE_DEVICE float operator()(float a, float b) const { return a + b; }
    MGE_DEVICE float result(float total, float) const { return total; }
};

// Every lanes-th element of a window, row after row.
template <class F>
MGE_DEVICE float window_total(const F& f, const Pooling& g, Window w, const Place& of, int64_t output,
                              int lane, int lanes) {
    float total = F::start;
    int row = w.top, column = w.left + lane;
    while (true) {
        while (column >= w.right && row < w.bottom) {
            column -= w.right - w.left;
            ++row;
        }
        if (row >= w.bottom) return total;
        total = f.add(total, element_at(g, g.in, of, row, column), output);
        column += lanes;
    }
}

// Some lanes of a warp for each result.
template <class F, class T>
__global__ void pool_windows(F f, Pooling g, T* y, int lanes) {
    int64_t outputs = elements_of(g, g.out);
    int lane = int(threadIdx.x) % lanes, in_warp = 32 / lanes;
    // Warps go round as a whole, since their lanes exchange values.
    for (int64_t first = first_piece() / 32 * in_warp; first < outputs;
         first += piece_step() / 32 * in_warp) {
        int64_t output = first + int(threadIdx.x) % 32 / lanes;
        Place at = place_in(g, g.out, output);
        Window w = window_at(g, at.row, at.column);
        float total = output < outputs ? window_total(f, g, w, at, output, lane, lanes) : F::start;
        total = across_lanes(total, lanes, f);
        if (lane == 0 && output < outputs) y[output] = from_number<T>(f.result(total, count_of(g, w)));
    }
}

// A pack of contiguous channels for each thread.
template <class F, class T>
__global__ void pool_packs(F f, Pooling g, T* y) {
    constexpr int size = pack_size<T>;
    using Channels = Pack<T, size>;
    int64_t packs = elements_of(g, g.out) / size;
    for (int64_t i = first_piece(); i < packs; i += piece_step()) {
        Place at = place_in(g, g.out, i * size);
        Window w = window_at(g, at.row, at.column);
        float totals[size];
#pragma unroll
        for (float& total : totals) total = F::start;
        for (int row = w.top; row < w.bottom; ++row)
            for (int column = w.left; column < w.right; ++column) {
                auto x = *reinterpret_cast<const Channels*>(f.x + element_at(g, g.in, at, row, column));
#pragma unroll
                for (int k = 0; k < size; ++k) totals[k] = f(totals[k], number_of(x.v[k]));
            }
        Channels results;
#pragma unroll
        for (int k = 0; k < size; ++k) results.v[k] = from_number<T>(f.result(totals[k], count_of(g, w)));
        reinterpret_cast<Channels*>(y)[i] = results;
    }
}

template <class T>
__global__ void gather_max(Pooling g, const T* x, const T* y, const T* dy, T* dx) {
    int64_t elements = elements_of(g, g.in);
    for (int64_t i = first_piece(); i < elements; i += piece_step()) {
        Place at = place_in(g, g.in, i);
        Window over = results_of(g, at.row, at.column);
        float value = to_float(x[i]), sum = 0;
        for (int row = over.top; row < over.bottom; ++row)
            for (int column = over.left; column < over.right; ++column) {
                int64_t output = element_at(g, g.out, at, row, column);
                if (to_float(y[output]) == value) sum += to_float(dy[output]);
            }
        dx[i] = from_float<T>(sum);
    }
}

template <class T>
__global__ void gather_average(Pooling g, const T* dy, T* dx) {
    int64_t elements = elements_of(g, g.in);
    for (int64_t i = first_piece(); i < elements; i += piece_step()) {
        Place at = place_in(g, g.in, i);
        Window over = results_of(g, at.row, at.column);
        float sum = 0;
        for (int row = over.top; row < over.bottom; ++row)
            for (int column = over.left; column < over.right; ++column)
                sum += to_float(dy[element_at(g, g.out, at, row, column)]) /
                       count_of(g, window_at(g, row, column));
        dx[i] = from_float<T>(sum);
    }
}

template <class F, class T>
void launch_windows(Stream stream, F f, const Pooling& g, T* y) {
    constexpr int64_t large_window = 64;  // elements that are worth a warp
    int lanes = int64_t(g.kernel[0]) * g.kernel[1] >= large_window ? 32 : 1;
    int64_t outputs = g.planes * g.out[0] * g.out[1] * g.channels;
    constexpr int64_t many_packs = 65536;  // fewer keep too little of a GPU busy
    if constexpr (F::is_of_x_alone) {
        int64_t packs = g.channels % pack_size<T> == 0 ? outputs / pack_size<T> : 0;
        if (packs >= many_packs && is_aligned(f.x) && is_aligned(y))
            return launch(pool_packs<F, T>, grid_for(packs), block_threads, 0, stream, f, g, y);
    }
    launch(pool_windows<F, T>, grid_for(outputs * lanes), block_threads, 0, stream, f, g, y, lanes);
}

template <class T>
const T* input(const PoolTensors& tensors, int i) {
    return static_cast<const T*>(tensors.inputs[i]);
}

}  // namespace

void max_pool(Stream stream, int type, const Pooling& g, PoolTensors t) {
    dispatch_type(type, Types<f16, bf16, float, uint8_t, int8_t>{}, [&]<class T>(T*) {
        launch_windows(stream, Largests<T>{input<T>(t, 0)}, g, static_cast<T*>(t.result));
    });
}
void average_pool(Stream stream, int type, const Pooling& g, PoolTensors t) {
    dispatch_type(type, FloatTypes{}, [&]<class T>(T*) {
        launch_windows(stream, Means<T>{input<T>(t, 0)}, g, static_cast<T*>(t.result));
    });
}
void max_pool_select(Stream stream, int type, const Pooling& g, PoolTensors t) {
    dispatch_type(type, FloatTypes{}, [&]<class T>(T*) {
        Selected<T> selected{input<T>(t, 0), input<T>(t, 1), input<T>(t, 2)};
        launch_windows(stream, selected, g, static_cast<T*>(t.result));
    });
}
void max_pool_backward(Stream stream, int type, const Pooling& g, PoolTensors t) {
    dispatch_type(type, FloatTypes{}, [&]<class T>(T*) {
        launch(gather_max<T>, grid_for(g.planes * g.in[0] * g.in[1] * g.channels), block_threads, 0, stream,
               g, input<T>(t, 0), input<T>(t, 1), input<T>(t, 2), static_cast<T*>(t.result));
    });
}
void average_pool_backward(Stream stream, int type, const Pooling& g, PoolTensors t) {
    dispatch_type(type, FloatTypes{}, [&]<class T>(T*) {
        launch(gather_average<T>, grid_for(g.planes * g.in[0] * g.in[1] * g.channels), block_threads, 0,
               stream, g, input<T>(t, 1), static_cast<T*>(t.result));
    });
}

}  // namespace mge::cuda
