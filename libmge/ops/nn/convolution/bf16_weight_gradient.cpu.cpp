// SPDX-License-Identifier: Apache-2.0
// Gradients of weights on channels-last images of bf16 by matrix instructions. For each element of a window,
// the gradient is a product over all pixels: (channels of dy, pixels) times (pixels, channels of x).
//
// The pixels of both images become places of one grid, so that the pixel of x that an element of the window
// sees is at a fixed distance from the place of dy. A line of the grid has a place for each pixel of y and
// for the border beside them; places of dy on the border are zeros. If windows step over pixels, x is divided
// into as many images ("phases"), each with every other line or column. dy becomes one row per channel, and x
// pairs of places: from even ones on, and again from odd ones on for odd distances. An infinity in x beside
// such a border also makes gradients NaN that do not read it.

#include <algorithm>
#include <array>
#include <cstring>

#include "libmge/base/numbers/ceil_div.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/cpu/product/bf16_pixels.h"
#include "libmge/kernel/cpu/product/bf16_tiles.h"
#include "libmge/kernel/cpu/rows/half.h"
#include "libmge/ops/nn/convolution/conv2d_algorithms.h"
#include "libmge/ops/nn/convolution/geometry.h"

namespace mge::ops {
namespace {

constexpr int64_t block = cpu::pixel_block;  // channels and places
constexpr int64_t block_sums = block * block;
// Places whose products are added to sums in memory at once: the rows of 32 channels are 32 KB.
constexpr int64_t places_at_once = 512;
// Packed places that stay in the second cache. Where there are more, and the sums of all channels are much
// smaller, packing and products alternate.
constexpr int64_t near_bytes = 1 << 20, packed_over_sums = 4;
constexpr int64_t blocks_at_once = 8;  // that a thread packs at least

int64_t blocks_of(int64_t n) { return ceil_div(n, block); }

struct WeightGradient {
    ConvGeometry g;
    Pair grid, phases;
    int64_t places, parts;     // places that are packed at once, and how often
    int64_t dy_stride, x_row;  // elements between channels of dy, places of a phase of x
    bool has_odd_pairs;
    int threads;

    int64_t taps() const { return g.kernel[0] * g.kernel[1]; }
    int64_t phase_count() const { return phases[0] * phases[1]; }
    int64_t blocks() const { return blocks_of(g.oc) * blocks_of(g.ic); }
    int64_t x_pairs_size() const { return blocks_of(g.ic) * block * phase_count() * x_row; }
    int64_t x_size() const { return (has_odd_pairs ? 2 : 1) * x_pairs_size(); }
    int64_t dy_size() const { return blocks_of(g.oc) * block * dy_stride; }
    int64_t sums_size() const { return taps() * block_sums; }
    int64_t all_sums_size() const { return (parts == 1 ? threads : blocks()) * sums_size(); }
    size_t workspace() const {
        return size_t(x_size() + dy_size() + threads * sums_size()) * sizeof(uint16_t) +
               size_t(all_sums_size()) * sizeof(float);
    }
};

int64_t reach(const ConvGeometry& g, size_t axis) { return (g.kernel[axis] - 1) * g.dilation[axis]; }
int64_t phases_of(const ConvGeometry& g, size_t axis) { return std::min(g.stride[axis], reach(g, axis) + 1); }

Support supports(const Problem& p) {
    if (!cpu::has_bf16_tiles()) return {"no matrix instructions"};
    const Layout nhwc = Layout::named("nhwc");
    for (size_t i : {0, 1}) {
        if (p.inputs[i].dtype != DType::bf16) return {"bf16 only"};
        if (p.inputs[i].layout != nhwc) return {"images in the layout nhwc only"};
        if (p.inputs[i].numel() == 0) return {"an empty image"};
    }
    if (p.outputs[0].dtype != DType::bf16 || !p.outputs[0].layout.is_plain()) return {"plain weights only"};
    const auto g = backward_weight_geometry(p);
    if (g.groups != 1) return {"one group only"};
    // A window of 16×16 on images of three channels would fill an eleventh of 256 phases.
    constexpr int64_t few_channels = block / 4, few_phases = 4;
    const bool is_sparse = g.ic < few_channels && phases_of(g, 0) * phases_of(g, 1) > few_phases;
    return is_sparse ? Support{"more channels, or fewer steps of the window, only"} : supported;
}

// The border at the end of a line is also the one at the beginning of the next.
int64_t grid_of(const ConvGeometry& g, size_t axis) {
    const int64_t stride = g.stride[axis], whole = g.out[axis] + reach(g, axis) / stride;
    const int64_t end_of_x = ceil_div(g.in[axis] + g.padding[axis], stride);
    return std::min(whole, std::max({whole - g.padding[axis] / stride, end_of_x, g.out[axis]}));
}

// From a place of y to that of an element of its window, in which phase of x.
struct Distance {
    int64_t phase, places;
};
Distance distance(const WeightGradient& w, int64_t tap) {
    auto& g = w.g;
    const int64_t h = tap / g.kernel[1] * g.dilation[0], v = tap % g.kernel[1] * g.dilation[1];
    return {h % g.stride[0] * w.phases[1] + v % g.stride[1], h / g.stride[0] * w.grid[1] + v / g.stride[1]};
}

Prepared prepare(const PrepareContext& context) {
    WeightGradient w{.g = backward_weight_geometry(context.problem), .threads = context.problem.threads};
    auto& g = w.g;
    for (size_t i : {0, 1}) {
        w.grid[i] = grid_of(g, i);
        w.phases[i] = phases_of(g, i);
    }
    int64_t farthest = 0;
    for (int64_t tap = 0; tap < w.taps(); ++tap) {
        const int64_t places = distance(w, tap).places;
        farthest = std::max(farthest, places);
        w.has_odd_pairs = w.has_odd_pairs || places % 2 == 1;
    }
    const int64_t all_places = g.n * w.grid[0] * w.grid[1];
    const int64_t x_blocks = (w.has_odd_pairs ? 2 : 1) * w.phase_count() * blocks_of(g.ic);
    const int64_t packed_bytes =
        all_places * (x_blocks + blocks_of(g.oc)) * block * int64_t(sizeof(uint16_t));
    const int64_t sum_bytes = w.blocks() * w.sums_size() * int64_t(sizeof(float));
    w.parts = packed_bytes > packed_over_sums * sum_bytes ? ceil_div(packed_bytes, near_bytes) : 1;
    w.places = blocks_of(ceil_div(all_places, w.parts)) * block;
    w.x_row = blocks_of(w.places + farthest) * block;
    // An odd number of cache lines, so that the rows of a matrix are in different sets.
    w.dy_stride = w.places + (w.places / block % 2 == 0 ? block : 0);
    const size_t workspace = w.workspace();
    return Prepared::make(std::move(w), workspace);
}

// Finds the pixels of neighbouring places.
struct PlaceWalk {
    const Pair& grid;
    int64_t image, line, column;

    PlaceWalk(const Pair& all, int64_t place)
        : grid(all),
          image(place / (grid[0] * grid[1])),
          line(place / grid[1] % grid[0]),
          column(place % grid[1]) {}
    void advance() {
        if (++column < grid[1]) return;
        column = 0;
        if (++line < grid[0]) return;
        line = 0;
        ++image;
    }
};

// Pixels of an image, at `start` + `step` times the place in the grid.
struct Pixels {
    const uint16_t* first;
    int64_t images, channels;
    Pair size, start, step;

    // Places from `place` on; null beside the image.
    template <size_t n>
    std::array<const uint16_t*, n> at(const Pair& grid, int64_t place) const {
        std::array<const uint16_t*, n> result{};
        PlaceWalk walk(grid, place);
        for (auto& pixel : result) {
            const int64_t h = start[0] + step[0] * walk.line, w = start[1] + step[1] * walk.column;
            const bool is_inside = walk.image < images && h >= 0 && h < size[0] && w >= 0 && w < size[1];
            if (is_inside) pixel = first + ((walk.image * size[0] + h) * size[1] + w) * channels;
            walk.advance();
        }
        return result;
    }
};

// Block after block of channels, phase after phase; then the same from odd places on.
void pack_x(const WeightGradient& w, const uint16_t* x, int64_t first, uint16_t* to) {
    auto& g = w.g;
    const int64_t blocks = w.x_row / block;
    par_for(w.threads, w.phase_count() * blocks, blocks_at_once, [&](int64_t i, int64_t end) {
        for (; i < end; ++i) {
            const int64_t phase = i / blocks;
            const Pair start{phase / w.phases[1] - g.padding[0], phase % w.phases[1] - g.padding[1]};
            const auto pixels =
                Pixels{x, g.n, g.ic, g.in, start, g.stride}.at<block + 1>(w.grid, first + i % blocks * block);
            for (int64_t channel = 0; channel < g.ic; channel += block) {
                uint16_t* y = to + (channel * w.phase_count() * blocks + i * block) * block;
                cpu::pair_pixels({pixels.data(), channel, g.ic - channel}, y);
                if (w.has_odd_pairs)
                    cpu::pair_pixels({pixels.data() + 1, channel, g.ic - channel}, y + w.x_pairs_size());
            }
        }
    });
}

void pack_dy(const WeightGradient& w, const uint16_t* dy, int64_t first, uint16_t* to) {
    auto& g = w.g;
    par_for(w.threads, w.places / block, blocks_at_once, [&](int64_t i, int64_t end) {
        for (; i < end; ++i) {
            const auto pixels =
                Pixels{dy, g.n, g.oc, g.out, {0, 0}, {1, 1}}.at<block>(w.grid, first + i * block);
            for (int64_t channel = 0; channel < g.oc; channel += block)
                cpu::transpose_pixels({pixels.data(), channel, g.oc - channel},
                                      to + channel * w.dy_stride + i * block, w.dy_stride);
        }
    });
}

// Blocks of channels from `oc` and `ic` on. The sums are (tap, oc, ic).
void multiply(const WeightGradient& w, const uint16_t* dy, const uint16_t* x, int64_t oc, int64_t ic,
              bool is_first, float* sums) {
    dy += oc * w.dy_stride;
    x += ic * w.phase_count() * w.x_row;
    for (int64_t place = 0; place < w.places; place += places_at_once)
        for (int64_t tap = 0; tap < w.taps(); ++tap) {
            const auto [phase, places] = distance(w, tap);
            const int64_t odd = places % 2;
            cpu::add_bf16(
                {.x = dy + place,
                 .x_stride = w.dy_stride,
                 .depth = std::min(places_at_once, w.places - place),
                 .weight = x + odd * w.x_pairs_size() + (phase * w.x_row + places - odd + place) * block,
                 .y = sums + tap * block_sums,
                 .y_stride = block,
                 .has_two_tiles = w.g.oc - oc > block / 2},
                is_first && place == 0);
        }
}

// One row of sums per element of the window becomes one of windows.
void interleave(const uint16_t* sums, int64_t taps, int64_t columns, uint16_t* to) {
    if (taps > block) {
        for (int64_t column = 0; column < columns; ++column)
            for (int64_t tap = 0; tap < taps; ++tap) *to++ = sums[tap * block_sums + column];
        return;
    }
    alignas(64) uint16_t windows[block_sums];
    std::array<const uint16_t*, block> rows{};
    for (int64_t tap = 0; tap < taps; ++tap) rows[size_t(tap)] = sums + tap * block_sums;
    cpu::transpose_pixels({rows.data(), 0, block}, windows, block);
    // Copies of a fixed size are fast; the next one overwrites what is too much.
    const uint16_t *window = windows, *end = to + columns * taps;
    for (; to + block <= end; to += taps, window += block) std::memcpy(to, window, block * sizeof(uint16_t));
    for (; to < end; to += taps, window += block) std::copy_n(window, taps, to);
}

void store(const WeightGradient& w, const float* sums, uint16_t* halves, int64_t oc, int64_t ic,
           uint16_t* to) {
    auto& g = w.g;
    cpu::floats_to_halves(sums, reinterpret_cast<BFloat16*>(halves), w.sums_size());
    const int64_t rows = std::min(block, g.oc - oc), columns = std::min(block, g.ic - ic);
    for (int64_t row = 0; row < rows; ++row)
        interleave(halves + row * block, w.taps(), columns, to + ((oc + row) * g.ic + ic) * w.taps());
}

void run(const Prepared& prepared, const Launch& launch) {
    auto& w = prepared.state<WeightGradient>();
    auto* x = static_cast<uint16_t*>(launch.workspace);
    uint16_t* dy = x + w.x_size();
    auto* all_sums = reinterpret_cast<float*>(dy + w.dy_size());
    auto* all_halves = reinterpret_cast<uint16_t*>(all_sums + w.all_sums_size());
    const int64_t columns = blocks_of(w.g.ic);
    for (int64_t p = 0; p < w.parts; ++p) {
        const int64_t first = p * w.places;
        pack_x(w, launch.in<uint16_t>(0), first, x);
        pack_dy(w, launch.in<uint16_t>(1), first, dy);
        in_parts(w.threads, w.blocks(), 1, [&](int thread, int64_t i, int64_t end) {
            for (; i < end; ++i) {
                const int64_t oc = i / columns * block, ic = i % columns * block;
                float* sums = all_sums + (w.parts == 1 ? thread : i) * w.sums_size();
                cpu::begin_tiles();
                multiply(w, dy, x, oc, ic, p == 0, sums);
                cpu::end_tiles();
                if (p == w.parts - 1)
                    store(w, sums, all_halves + thread * w.sums_size(), oc, ic, launch.out<uint16_t>(0));
            }
        });
    }
}

}  // namespace

Algorithm bf16_conv2d_backward_weight() { return {"amx_tiles", supports, prepare, run}; }

}  // namespace mge::ops
