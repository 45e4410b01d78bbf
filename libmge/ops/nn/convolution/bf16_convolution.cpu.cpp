// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/convolution/bf16_convolution.cpu.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "libmge/base/numbers/ceil_div.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/cpu/product/bf16_pixels.h"

namespace mge::ops {
namespace {

constexpr int64_t short_line = 8;       // pixels of y: half of the rows of a matrix
constexpr int64_t gathered_rows = 256;  // enough to read the weight once for them
constexpr int64_t many_turns = 4;       // per thread: then one more of a thread matters little
constexpr size_t alignment = 64;
constexpr int64_t block = cpu::pixel_block;
// Larger windows are packed without vectors, because their blocks leave the first cache.
constexpr int64_t most_taps = 9;

size_t aligned(int64_t bytes) { return round_up(size_t(bytes), alignment); }

int64_t elements(const Pair& p) { return p[0] * p[1]; }

bool has_adjacent_pixels(const Bf16Convolution& c) { return c.dilation[1] == 1; }

int64_t window_part(const Bf16Convolution& c, const Bf16Part& part) {
    return has_adjacent_pixels(c) ? part.taps[1] * c.channels : c.channels;
}

// All pixels are neighbours if windows have one of them each, and none is left out.
void join_lines(Bf16Convolution& c) {
    constexpr Pair none{0, 0}, one{1, 1};
    const bool is_whole = c.in == c.size && c.in == c.out && c.parts.size() == 1 && c.parts[0].at == none;
    if (!is_whole || c.colours || c.kernel != one || c.stride != one || c.parts[0].step != one) return;
    c.in = c.out = c.size = c.parts[0].out = {1, c.images * elements(c.in)};
    c.border = none;
    c.images = 1;
}

// One axis of a gradient: results at every stride-th pixel that meet the elements `residue`, `residue` +
// stride, … of the window.
struct GradientAxis {
    int64_t taps, place, count, first;  // first: the pixel of dy under the first element of the first window
};
GradientAxis gradient_axis(const ConvGeometry& g, size_t axis, int64_t residue) {
    const int64_t stride = g.stride[axis], padding = g.padding[axis], kernel = g.kernel[axis];
    GradientAxis a{};
    a.taps = residue < kernel ? ceil_div(kernel - residue, stride) : 0;
    a.place = ((residue - padding) % stride + stride) % stride;
    a.count = std::max<int64_t>(0, ceil_div(g.in[axis] - a.place, stride));
    a.first = (a.place + padding - residue) / stride - (a.taps - 1) * g.dilation[axis];
    return a;
}

// Elements (row, column, tap) of a weight, of 32 rows and columns at most: those of a row are contiguous.
// They become columns[(column * taps + tap) * 32 + row].
void transpose_block(const std::array<const uint16_t*, block>& rows, int64_t count, uint16_t* columns) {
    for (int64_t i = 0; i < count; i += block)
        cpu::transpose_pixels({rows.data(), i, count - i}, columns + i * block, block);
}

}  // namespace

Bf16Convolution forward_convolution(const ConvGeometry& g, bool is_plain) {
    const int64_t taps = elements(g.kernel);
    Bf16Convolution c{.images = g.n,
                      .channels = is_plain ? cpu::joined_planes : g.ic,
                      .columns = g.oc,
                      .colours = is_plain ? g.ic : 0,
                      .in = g.in,
                      .out = g.out,
                      .border = g.padding,
                      .size = {g.in[0] + 2 * g.padding[0], g.in[1] + 2 * g.padding[1]},
                      .stride = g.stride,
                      .dilation = g.dilation,
                      .channel_stride = taps,
                      .column_stride = taps * g.ic,
                      .kernel = g.kernel,
                      .finish = {},
                      .parts = {},
                      .threads = 1};
    c.parts.push_back({g.kernel, {0, 0}, {1, 1}, {0, 0}, g.out, {0, 0}, {1, 1}});
    join_lines(c);
    return c;
}

std::optional<Bf16Convolution> data_gradient(const ConvGeometry& g) {
    const int64_t taps = elements(g.kernel);
    Bf16Convolution c{.images = g.n,
                      .channels = g.oc,
                      .columns = g.ic,
                      .colours = 0,
                      .in = g.out,
                      .out = g.in,
                      .border = {0, 0},
                      .size = {},
                      .stride = {1, 1},
                      .dilation = g.dilation,
                      .channel_stride = taps * g.ic,
                      .column_stride = taps,
                      .kernel = g.kernel,
                      .finish = {},
                      .parts = {},
                      .threads = 1};
    Pair end = g.out;
    // Larger residues meet no element of the window.
    const Pair residues{std::min(g.stride[0], g.kernel[0]), std::min(g.stride[1], g.kernel[1])};
    for (int64_t i = 0; i < elements(residues); ++i) {
        const Pair residue{i / residues[1], i % residues[1]};
        Bf16Part part{};
        for (size_t axis : {0, 1}) {
            if (g.stride[axis] > 1 && g.dilation[axis] > 1) return std::nullopt;
            const GradientAxis a = gradient_axis(g, axis, residue[axis]);
            part.taps[axis] = a.taps;
            part.first_tap[axis] = residue[axis] + (a.taps - 1) * g.stride[axis];
            part.tap_step[axis] = -g.stride[axis];
            part.at[axis] = a.first;
            part.out[axis] = a.count;
            part.place[axis] = a.place;
            part.step[axis] = g.stride[axis];
        }
        if (elements(part.taps) == 0 || elements(part.out) == 0) continue;
        for (size_t axis : {0, 1}) {
            const int64_t last =
                part.at[axis] + part.out[axis] - 1 + (part.taps[axis] - 1) * g.dilation[axis];
            c.border[axis] = std::max(c.border[axis], -part.at[axis]);
            end[axis] = std::max(end[axis], last + 1);
        }
        c.parts.push_back(part);
    }
    c.size = {c.border[0] + end[0], c.border[1] + end[1]};
    for (auto& part : c.parts)
        for (size_t axis : {0, 1}) part.at[axis] += c.border[axis];
    join_lines(c);
    return c;
}

Support suits_bf16(const Bf16Convolution& c) {
    for (auto& part : c.parts)
        if (!cpu::bf16_depth(window_part(c, part))) return {"lines of windows with few divisors"};
    return supported;
}

Bf16Windows::Bf16Windows(Bf16Convolution convolution) : c_(std::move(convolution)) {
    int64_t pixels = 0;
    for (auto& part : c_.parts) {
        parts_.push_back(plan(part, weight_size_));
        weight_size_ += parts_.back().products[0].weight_size();
        pixels += parts_.back().pixels();
    }
    has_gaps_ = pixels < elements(c_.out);
}

Bf16Windows::Part Bf16Windows::plan(const Bf16Part& part, int64_t weight_at) const {
    Part p{.part = part, .weight_at = weight_at};
    p.window_part = ops::window_part(c_, part);
    const int64_t line = c_.size[1] * c_.channels;
    for (int64_t h = 0; h < part.taps[0]; ++h)
        for (int64_t w = 0; w < (has_adjacent_pixels(c_) ? 1 : part.taps[1]); ++w)
            p.window.push_back(h * c_.dilation[0] * line + w * c_.dilation[1] * c_.channels);
    p.is_gathered = p.is_scattered() || (part.out[1] <= short_line && part.out[0] > 1);
    const int64_t wanted = p.is_gathered ? std::max<int64_t>(1, gathered_rows / p.pixels()) : 1;
    const int64_t turns = ceil_div(c_.images, wanted);
    p.images = ceil_div(c_.images, turns);
    p.divides_images = turns % c_.threads == 0 || turns >= many_turns * c_.threads;
    p.products.push_back(product_of(p, p.images));
    if (int64_t rest = c_.images % p.images) p.products.push_back(product_of(p, rest));
    return p;
}

cpu::Bf16Product Bf16Windows::product_of(const Part& p, int64_t images) const {
    auto& out = p.part.out;
    const int64_t rows = images * p.pixels(), k = int64_t(p.window.size()) * p.window_part;
    const int64_t part = p.is_gathered ? k : p.window_part;
    return {.tiles = p.is_gathered ? cpu::LineTiles(1, rows, cpu::bf16_rows)
                                   : cpu::LineTiles(out[0], out[1], cpu::bf16_rows),
            .rows = rows,
            .line_stride = c_.stride[0] * c_.size[1] * c_.channels,
            .row_stride = p.is_gathered ? k : c_.stride[1] * c_.channels,
            .parts = p.is_gathered ? std::vector<int64_t>{0} : p.window,
            .part = part,
            .depth = cpu::bf16_depth(part),
            .columns = c_.columns,
            .finish = c_.finish};
}

size_t Bf16Windows::bias_bytes() const {
    return parts_.empty() ? 0 : aligned(parts_[0].products[0].bias_size() * int64_t(sizeof(float)));
}
size_t Bf16Windows::image_bytes() const {
    return is_copied() ? aligned(elements(c_.size) * c_.channels * int64_t(sizeof(uint16_t))) : 0;
}
size_t Bf16Windows::gathered_bytes() const {
    size_t most = 0;
    for (auto& p : parts_)
        if (auto& product = p.products[0]; p.is_gathered)
            most = std::max(most, aligned(product.rows * product.k() * int64_t(sizeof(uint16_t))));
    return most;
}
size_t Bf16Windows::scattered_bytes() const {
    size_t most = 0;
    for (auto& p : parts_)
        if (p.is_scattered())
            most =
                std::max(most, aligned(p.products[0].rows * c_.columns * int64_t(size_of(c_.finish.dtype))));
    return most;
}
size_t Bf16Windows::workspace() const {
    const bool divides = std::ranges::any_of(parts_, &Part::divides_images);
    return bias_bytes() + size_t(divides ? c_.threads : 1) * images_bytes();
}

// One element after the other: blocks of columns, pairs along the products side by side.
void Bf16Windows::pack(const Part& p, const uint16_t* weight, uint16_t* to) const {
    auto& part = p.part;
    const int64_t k = p.products[0].k();
    par_for(c_.threads, p.products[0].blocks(), 1, [&](int64_t begin, int64_t end) {
        std::fill(to + begin * block * k, to + end * block * k, uint16_t(0));
        for (int64_t column = begin * block; column < std::min(c_.columns, end * block); ++column) {
            uint16_t* y = to + column / block * block * k + column % block * 2;
            for (int64_t tap = 0; tap < elements(part.taps); ++tap) {
                const int64_t h = part.first_tap[0] + part.tap_step[0] * (tap / part.taps[1]);
                const int64_t w = part.first_tap[1] + part.tap_step[1] * (tap % part.taps[1]);
                const uint16_t* x = weight + column * c_.column_stride + h * c_.kernel[1] + w;
                for (int64_t c = 0; c < x_channels(); ++c) {
                    const int64_t at = tap * c_.channels + c;
                    y[at / 2 * 2 * block + at % 2] = x[c * c_.channel_stride];
                }
            }
        }
    });
}

void Bf16Windows::pack(const uint16_t* weight, uint16_t* to) const {
    if (parts_.empty()) return;  // nothing is packed, so a constant weight seems to change
    const int64_t taps = elements(c_.kernel), channel_blocks = c_.channels / block;
    if (c_.channels % block != 0 || taps > most_taps) {
        for (auto& p : parts_) pack(p, weight, to + p.weight_at);
        return;
    }
    const int64_t blocks = ceil_div(c_.columns, block);
    const bool is_row_a_column = c_.channel_stride < c_.column_stride;
    par_for(c_.threads, blocks * channel_blocks, 1, [&](int64_t i, int64_t end) {
        alignas(alignment) uint16_t turned[block * block * most_taps], channels[block * block];
        std::array<const uint16_t*, block> rows;
        for (; i < end; ++i) {
            const int64_t column = i / channel_blocks * block, channel = i % channel_blocks * block;
            const int64_t columns = std::min(block, c_.columns - column);
            const uint16_t* first = weight + column * c_.column_stride + channel * c_.channel_stride;
            const int64_t stride = std::max(c_.column_stride, c_.channel_stride);
            for (int64_t r = 0; r < block; ++r)
                rows[size_t(r)] = is_row_a_column && r >= columns ? nullptr : first + r * stride;
            transpose_block(rows, (is_row_a_column ? block : columns) * taps, turned);
            for (auto& p : parts_)
                for (int64_t t = 0; t < elements(p.part.taps); ++t) {
                    const int64_t h = p.part.first_tap[0] + p.part.tap_step[0] * (t / p.part.taps[1]);
                    const int64_t w = p.part.first_tap[1] + p.part.tap_step[1] * (t % p.part.taps[1]);
                    const int64_t tap = h * c_.kernel[1] + w;
                    for (int64_t r = 0; r < block; ++r)
                        rows[size_t(r)] =
                            !is_row_a_column && r >= columns ? nullptr : turned + (r * taps + tap) * block;
                    if (!is_row_a_column) {
                        cpu::transpose_pixels({rows.data(), 0, block}, channels, block);
                        for (int64_t r = 0; r < block; ++r) rows[size_t(r)] = channels + r * block;
                    }
                    const int64_t at = column * p.products[0].k() + (t * c_.channels + channel) * block;
                    cpu::pair_pixels({rows.data(), 0, block}, to + p.weight_at + at);
                }
        }
    });
}

void Bf16Windows::copy_line(const uint16_t* x, int64_t line, uint16_t* to) const {
    if (!c_.colours) {
        const int64_t elements = c_.in[1] * c_.channels;
        return void(std::copy_n(x + line * elements, elements, to));
    }
    std::array<const uint16_t*, cpu::joined_planes> lines{};
    for (int64_t c = 0; c < c_.colours; ++c) lines[size_t(c)] = x + (c * c_.in[0] + line) * c_.in[1];
    cpu::join_planes(lines, c_.in[1], to);
}

void Bf16Windows::copy_with_border(int threads, const uint16_t* x, uint16_t* to) const {
    const int64_t line = c_.size[1] * c_.channels, left = c_.border[1] * c_.channels;
    const int64_t inner = c_.in[1] * c_.channels;
    const int64_t grain = std::max<int64_t>(1, 8 * parallel_grain / std::max<int64_t>(1, line));
    par_for(threads, c_.size[0], grain, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
            uint16_t* y = to + row * line;
            const int64_t h = row - c_.border[0];
            if (h < 0 || h >= c_.in[0]) {
                std::fill_n(y, line, uint16_t(0));
                continue;
            }
            std::fill_n(y, left, uint16_t(0));
            copy_line(x, h, y + left);
            std::fill(y + left + inner, y + line, uint16_t(0));
        }
    });
}

// x: with its border.
void Bf16Windows::gather(int threads, const Part& p, const uint16_t* x, uint16_t* to) const {
    auto& part = p.part;
    const int64_t k = p.products[0].k(), grain = std::max<int64_t>(1, 8 * parallel_grain / k);
    par_for(threads, p.pixels(), grain, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
            const int64_t h = part.at[0] + row / part.out[1] * c_.stride[0];
            const int64_t w = part.at[1] + row % part.out[1] * c_.stride[1];
            for (size_t i = 0; i < p.window.size(); ++i)
                std::copy_n(x + (h * c_.size[1] + w) * c_.channels + p.window[i], p.window_part,
                            to + row * k + int64_t(i) * p.window_part);
        }
    });
}

// The results of one image.
void Bf16Windows::scatter(const Part& p, const std::byte* rows, std::byte* y) const {
    auto& part = p.part;
    const size_t bytes = size_t(c_.columns) * size_of(c_.finish.dtype);
    for (int64_t row = 0; row < p.pixels(); ++row) {
        const int64_t h = part.place[0] + row / part.out[1] * part.step[0];
        const int64_t w = part.place[1] + row % part.out[1] * part.step[1];
        std::memcpy(y + size_t(h * c_.out[1] + w) * bytes, rows + size_t(row) * bytes, bytes);
    }
}

void Bf16Windows::run(const Part& p, const Operands& o, const float* bias, const Images& images) const {
    auto* copy = reinterpret_cast<uint16_t*>(images.memory);
    auto* gathered = reinterpret_cast<uint16_t*>(images.memory + image_bytes());
    std::byte* scattered = images.memory + image_bytes() + gathered_bytes();
    auto& product = p.products[images.count == p.images ? 0 : 1];
    const uint16_t* x = nullptr;
    for (int64_t i = 0; i < images.count; ++i) {
        x = o.x + (images.first + i) * elements(c_.in) * x_channels();
        if (is_copied()) copy_with_border(images.threads, x, copy);
        if (is_copied()) x = copy;
        if (p.is_gathered) gather(images.threads, p, x, gathered + i * p.pixels() * product.k());
    }
    const auto element = int64_t(size_of(c_.finish.dtype));
    const int64_t y_bytes = elements(c_.out) * c_.columns * element;
    auto* y = static_cast<std::byte*>(o.y) + images.first * y_bytes;
    const auto* residual = static_cast<const std::byte*>(o.residual);
    const int64_t first_pixel = p.part.at[0] * c_.size[1] + p.part.at[1];
    cpu::multiply_bf16(product,
                       {.x = p.is_gathered ? gathered : x + first_pixel * c_.channels,
                        .weight = o.weight + p.weight_at,
                        .bias = bias,
                        .residual = residual ? residual + images.first * y_bytes : nullptr,
                        .y = p.is_scattered() ? scattered : y},
                       images.threads);
    for (int64_t i = 0; p.is_scattered() && i < images.count; ++i)
        scatter(p, scattered + i * p.pixels() * c_.columns * element, y + i * y_bytes);
}

void Bf16Windows::run(const Operands& o, void* workspace) const {
    const size_t bytes = size_t(c_.images * elements(c_.out) * c_.columns) * size_of(c_.finish.dtype);
    if (has_gaps_) std::memset(o.y, 0, bytes);
    if (parts_.empty()) return;
    auto* bias = static_cast<float*>(workspace);
    auto* memory = static_cast<std::byte*>(workspace) + bias_bytes();
    cpu::pad_bias(parts_[0].products[0], o.bias_dtype, o.bias, bias);
    for (auto& p : parts_) {
        const int64_t turns = ceil_div(c_.images, p.images);
        auto turn = [&](int64_t i, int threads, int thread) {
            const int64_t first = i * p.images;
            run(p, o, bias,
                {first, std::min(p.images, c_.images - first), threads,
                 memory + size_t(thread) * images_bytes()});
        };
        if (!p.divides_images) {
            for (int64_t i = 0; i < turns; ++i) turn(i, c_.threads, 0);
            continue;
        }
        in_parts(c_.threads, turns, 1, [&](int thread, int64_t i, int64_t end) {
            for (; i < end; ++i) turn(i, 1, thread);
        });
    }
}

}  // namespace mge::ops
