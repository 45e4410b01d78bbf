// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/convolution/depthwise/depthwise.cuda.h"

#include "libmge/kernel/cuda/activation.cuh"
#include "libmge/kernel/cuda/divisor.cuh"
#include "libmge/kernel/cuda/launch.cuh"

namespace mge::cuda {
namespace {

// The work of a thread: rows from `row` on of a column, in `pack` channels from `channel` on.
struct Place {
    int64_t image;
    int channel, row, column;
};

// Groups of rows are numbered along columns, then along rows, then through images from `image` on.
MGE_DEVICE Place place_of(const DepthwiseArguments& a, int64_t group, int64_t image, int channel) {
    int64_t rest = long_quotient(group, a.conv.out_columns);
    int64_t outer = long_quotient(rest, a.row_groups);
    return {image + outer, channel, int(rest - outer * a.row_groups.value) * depthwise_rows,
            int(group - rest * a.conv.out_columns.value)};
}

// The epilogue of one pixel's sums.
template <class T, int pack>
MGE_DEVICE void store(const DepthwiseArguments& a, int64_t at, int channel, const float (&sums)[pack]) {
    using Loaded = Pack<T, pack>;
    Loaded result, more;
    if (a.residual) more = *reinterpret_cast<const Loaded*>(static_cast<const T*>(a.residual) + at);
#pragma unroll
    for (int k = 0; k < pack; ++k) {
        float sum = sums[k];
        if (a.bias) sum += widen(static_cast<const T*>(a.bias)[channel + k]);
        if (a.residual) sum += widen(more.v[k]);
        result.v[k] = from_float<T>(activated(a.activation, sum));
    }
    *reinterpret_cast<Loaded*>(static_cast<T*>(a.y) + at) = result;
}

// Windows that are squares of a known size, moved by a known step, without dilation; and any others.
template <int side, int stride>
struct Square {};
struct AnyWindows {};

template <class T, int pack>
using Sums = float[depthwise_rows][pack];

// `load_window(element, w)`: that element of the windows of the place's channels. The rows that a column of
// the windows covers are loaded together, for many loads in flight, and once for all rows of y. Pixels
// outside of the image are zeros.
template <class T, int pack, int side, int stride, class LoadWindow>
MGE_DEVICE void add_windows(Square<side, stride>, const ConvExtents& c, const Place& place, const T* x,
                            LoadWindow load_window, Sums<T, pack>& sums) {
    constexpr int rows = (depthwise_rows - 1) * stride + side;
    const int top = place.row * stride - c.padding[0], left = place.column * stride - c.padding[1];
#pragma unroll 1  // else the next columns are loaded as well, and fewer threads have registers
    for (int kx = 0; kx < side; ++kx) {
        const bool is_inside = unsigned(left + kx) < unsigned(c.in[1]);
        Pack<T, pack> loaded[rows];
#pragma unroll
        for (int row = 0; row < rows; ++row) {
            loaded[row] = {};
            int64_t pixel = int64_t(top + row) * c.in[1] + left + kx;
            if (is_inside && unsigned(top + row) < unsigned(c.in[0]))
                loaded[row] = *reinterpret_cast<const Pack<T, pack>*>(x + pixel * c.in_steps.pixel);
        }
#pragma unroll
        for (int ky = 0; ky < side; ++ky) {
            float w[pack];
            load_window(ky * side + kx, w);
#pragma unroll
            for (int r = 0; r < depthwise_rows; ++r)
#pragma unroll
                for (int k = 0; k < pack; ++k) sums[r][k] += widen(loaded[r * stride + ky].v[k]) * w[k];
        }
    }
}

template <class T, int pack, class LoadWindow>
MGE_DEVICE void add_windows(AnyWindows, const ConvExtents& c, const Place& place, const T* x,
                            LoadWindow load_window, Sums<T, pack>& sums) {
    const int top = place.row * c.stride[0] - c.padding[0], left = place.column * c.stride[1] - c.padding[1];
    for (int ky = 0; ky < c.kernel[0]; ++ky) {
        for (int kx = 0; kx < c.kernel[1]; ++kx) {
            int column = left + kx * c.dilation[1];
            if (unsigned(column) >= unsigned(c.in[1])) continue;
            float w[pack];
            load_window(ky * c.kernel[1] + kx, w);
#pragma unroll
            for (int r = 0; r < depthwise_rows; ++r) {
                int row = top + r * c.stride[0] + ky * c.dilation[0];
                if (unsigned(row) >= unsigned(c.in[0])) continue;
                int64_t at = (int64_t(row) * c.in[1] + column) * c.in_steps.pixel;
                auto loaded = *reinterpret_cast<const Pack<T, pack>*>(x + at);
#pragma unroll
                for (int k = 0; k < pack; ++k) sums[r][k] += widen(loaded.v[k]) * w[k];
            }
        }
    }
}

template <class T, int pack, class Windows, class LoadWindow>
MGE_DEVICE void compute(const DepthwiseArguments& a, const Place& place, LoadWindow load_window) {
    auto& c = a.conv;
    const T* x = static_cast<const T*>(a.x) + place.image * c.groups * c.in_size.value +
                 place.channel * c.in_steps.channel;
    Sums<T, pack> sums = {};
    add_windows<T, pack>(Windows{}, c, place, x, load_window, sums);
    int64_t y = place.image * c.groups * c.out_size.value + place.channel * c.out_steps.channel;
#pragma unroll
    for (int r = 0; r < depthwise_rows; ++r) {
        if (place.row + r >= c.out[0]) break;
        int64_t pixel = int64_t(place.row + r) * c.out[1] + place.column;
        store<T, pack>(a, y + pixel * c.out_steps.pixel, place.channel, sums[r]);
    }
}

// Planes of channels: neighbouring threads have neighbouring columns.
template <class T, class Windows>
__global__ void __launch_bounds__(depthwise_threads) depthwise_planes(DepthwiseArguments a) {
    const int64_t count = a.conv.images * a.conv.groups * a.of_plane;
    auto* weight = static_cast<const T*>(a.weight);
    for (int64_t i = first_piece(); i < count; i += piece_step()) {
        int64_t image = i, group = split_index(image, a.of_plane);
        auto channel = int(split_index(image, a.conv.groups));
        const T* window = weight + int64_t(channel) * a.conv.kernel_size.value;
        compute<T, 1, Windows>(a, place_of(a, group, image, channel),
                               [&](int element, float(&w)[1]) { w[0] = widen(window[element]); });
    }
}

// Channels last: neighbouring threads have neighbouring channels.
template <class T, int pack, class Windows>
__global__ void __launch_bounds__(depthwise_threads) depthwise_channels(DepthwiseArguments a) {
    auto* windows = dynamic_shared<float>();  // by element, then by channel
    const DepthwiseBlocks b = a.blocks;
    const int size = int(a.conv.kernel_size.value), lanes = int(blockDim.x) / b.packs;
    const int lane = int(threadIdx.x) / b.packs, local = (int(threadIdx.x) - lane * b.packs) * pack;
    const int64_t count = a.conv.images * a.of_plane, columns = int64_t(lanes) * b.rounds;
    const int64_t tiles = (count + columns - 1) / columns;
    for (int64_t piece = blockIdx.x; piece < tiles * b.chunks; piece += gridDim.x) {
        int64_t tile = piece;
        const int first = int(split_index(tile, b.chunks)) * b.channels;
        const int channels =
            int(a.conv.groups) - first < b.channels ? int(a.conv.groups) - first : b.channels;
        __syncthreads();  // other threads may still read those of the last piece
        for (int i = int(threadIdx.x); i < channels * size; i += int(blockDim.x)) {
            auto* weight = static_cast<const T*>(a.weight) + int64_t(first) * size;
            windows[i % size * b.channels + i / size] = widen(weight[i]);
        }
        __syncthreads();
        if (lane >= lanes || local >= channels) continue;
        for (int round = 0; round < b.rounds; ++round) {
            int64_t group = (tile * b.rounds + round) * lanes + lane;
            if (group >= count) break;
            compute<T, pack, Windows>(a, place_of(a, group, 0, first + local),
                                      [&](int element, float(&w)[pack]) {
#pragma unroll
                                          for (int k = 0; k < pack; ++k)
                                              w[k] = windows[element * b.channels + local + k];
                                      });
        }
    }
}

template <class T, class Windows>
void launch_depthwise(Stream stream, const DepthwiseArguments& a) {
    const int64_t groups = a.conv.images * a.of_plane;
    if (!a.blocks.packs)
        return launch(depthwise_planes<T, Windows>, grid_for(groups * a.conv.groups), depthwise_threads, 0,
                      stream, a);
    const int64_t columns = int64_t(depthwise_threads / a.blocks.packs) * a.blocks.rounds;
    const unsigned grid = bounded_blocks((groups + columns - 1) / columns * a.blocks.chunks);
    const size_t shared = size_t(a.blocks.channels) * a.conv.kernel_size.value * sizeof(float);
    if (a.pack == depthwise_pack)
        return launch(depthwise_channels<T, depthwise_pack, Windows>, grid, depthwise_threads, shared, stream,
                      a);
    launch(depthwise_channels<T, 1, Windows>, grid, depthwise_threads, shared, stream, a);
}

template <class T>
void launch_for_window(Stream stream, const DepthwiseArguments& a) {
    auto are = [&](int side, int stride) {
        auto both = [](const int(&of)[2], int value) { return of[0] == value && of[1] == value; };
        return both(a.conv.kernel, side) && both(a.conv.stride, stride) && both(a.conv.dilation, 1);
    };
    if (are(3, 1)) return launch_depthwise<T, Square<3, 1>>(stream, a);
    if (are(3, 2)) return launch_depthwise<T, Square<3, 2>>(stream, a);
    if (are(5, 1)) return launch_depthwise<T, Square<5, 1>>(stream, a);
    if (are(5, 2)) return launch_depthwise<T, Square<5, 2>>(stream, a);
    launch_depthwise<T, AnyWindows>(stream, a);
}

}  // namespace

void run_depthwise(Stream stream, int type, const DepthwiseArguments& arguments) {
    dispatch_type(type, FloatTypes{}, [&]<class T>(T*) { launch_for_window<T>(stream, arguments); });
}

}  // namespace mge::cuda
