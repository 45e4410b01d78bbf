// SPDX-License-Identifier: Apache-2.0
// Constant weights are packed ahead. Those that change are packed in each run: all of them before the strips
// where there are several, else panel by panel, which are then read from the second cache. The gradient for x
// is a convolution of dy too, with the weight's axes of channels swapped and its windows turned around; the
// one for the weight has kernels of its own (winograd_weight.h).
#include "libmge/ops/nn/convolution/conv2d_algorithms.h"

#include <algorithm>
#include <utility>

#include "libmge/base/numbers/ceil_div.h"
#include "libmge/device/cpu/cpu_device.h"
#include "libmge/kernel/cpu/balanced.h"
#include "libmge/kernel/cpu/convolution/winograd_weight.h"
#include "libmge/kernel/cpu/onednn/packed_weight.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/ops/nn/convolution/channel_blocks.h"

namespace mge::ops {
namespace {

using cpu::TileRange;
using cpu::Winograd;

// So many tiles share the transformation of a weight, and their points stay in the second cache: measured
// from 28 to 200 on layers of 64 to 512 channels.
constexpr int64_t tiles_of_strip = 56;
// With fewer than that for each thread, all threads compute the points together.
constexpr int64_t tiles_of_thread = 28;
// With fewer channels the transforms, which grow with them, take longer than what they save; with fewer tiles
// the transformation of a weight costs more than its products, and whole nets gain nothing. At 16, where a
// layer alone on AVX-512 is slower than with points made ahead (455 to 316 us for 256 channels of 14×14 on
// two threads), nets are faster: their weights come from beyond the second cache.
struct Enough {
    int64_t channels, tiles;
    int64_t copied_tiles;  // limit up to which plain images are copied as well; 0: never
};
constexpr Enough enough{32, 16, 64};
// With vectors of 8 or 4 floats products take longer, while constant weights come as fast, so what pays
// begins earlier: at 4 tiles (512 channels of 7×7) AVX2 takes 0.73 of the library's time, SSE4 0.65.
Enough enough_for_constants() { return channel_block() == 16 ? Enough{32, 16, 0} : Enough{16, 4, 0}; }

bool has_adjacent_channels(const TensorSpec& spec) {
    return spec.layout == channel_blocks() || spec.layout == Layout::named("nhwc");
}

// Plain images are copied to blocks, and back.
cpu::ImageStrides strides_of(const TensorSpec& spec) {
    const int64_t block = channel_block(), channels = spec.shape[1], pixels = spec.shape[2] * spec.shape[3];
    bool is_nhwc = spec.layout == Layout::named("nhwc");
    int64_t pixel = is_nhwc ? channels : block;
    return {block, is_nhwc ? block : pixels * block, spec.shape[3] * pixel, pixel, channels * pixels};
}

int64_t tiles_of(const ConvGeometry& g) {
    auto along = [&](int i) { return ceil_div(g.out[i], cpu::winograd_tile); };
    return g.n * along(0) * along(1);
}

// The gradient for x as the convolution of dy that it is.
ConvGeometry turned_around(const ConvGeometry& g) {
    Pair padding{g.kernel[0] - 1 - g.padding[0], g.kernel[1] - 1 - g.padding[1]};
    return {g.n, g.groups, g.ic, g.oc, g.out, g.in, g.kernel, g.stride, padding, g.dilation};
}

// Whether tiles of images in these layouts, and such a convolution, are suitable.
Support suits(const ConvGeometry& g, const TensorSpec& x, const TensorSpec& y, const Enough& least = enough) {
    const Pair one{1, 1}, three{3, 3};
    if (g.kernel != three || g.stride != one || g.dilation != one || g.groups != 1)
        return {"3x3 windows with stride 1, in one group, only"};
    const bool is_copied = x.layout.is_plain() || y.layout.is_plain();
    for (auto* spec : {&x, &y})
        if (!has_adjacent_channels(*spec) && !(least.copied_tiles && spec->layout.is_plain()))
            return {"neighbouring channels side by side only"};
    if (g.ic % channel_block() || g.oc % channel_block()) return {"channels that fill whole blocks only"};
    if (std::min(g.ic, g.oc) < least.channels) return {"few channels"};
    if (tiles_of(g) < (is_copied ? least.copied_tiles : least.tiles)) return {"few tiles"};
    return supported;
}

Support suits_forward(const Problem& p, const Enough& least) {
    if (p.has_input(3) && (p.inputs[3].layout != p.outputs[0].layout || !has_adjacent_channels(p.inputs[3])))
        return {"a residual that lies as y does, its neighbouring channels side by side"};
    return suits(forward_geometry(p), p.inputs[0], p.outputs[0], least);
}

Support supports(const Problem& p) {
    if (auto support = has_constant_weights_of_f32(p); !support) return support;
    return suits_forward(p, enough_for_constants());
}

// If oneDNN has its own Winograd, the order was not measured with changing weights.
bool is_preferred() { return cpu_isa() < Isa::avx512; }

template <bool Preferred>
Support has_changing_weights(const Problem& p, size_t weight) {
    if (is_preferred() != Preferred) return {"another place in the order on this instruction set"};
    if (auto support = is_of_f32(p); !support) return support;
    if (!p.inputs[weight].layout.is_plain()) return {"plain weights only"};
    return supported;
}

template <bool Preferred>
Support supports_changing(const Problem& p) {
    if (p.is_constant(1)) return {"weights that change only"};
    if (auto support = has_changing_weights<Preferred>(p, 1); !support) return support;
    return suits_forward(p, enough);
}

template <bool Preferred>
Support supports_backward_data(const Problem& p) {
    if (auto support = has_changing_weights<Preferred>(p, 0); !support) return support;
    return suits(turned_around(backward_data_geometry(p)), p.inputs[1], p.outputs[0]);
}

template <bool Preferred>
Support supports_backward_weight(const Problem& p) {
    if (is_preferred() != Preferred) return {"another place in the order on this instruction set"};
    if (auto support = is_of_f32(p); !support) return support;
    if (!p.outputs[0].layout.is_plain()) return {"plain weights only"};
    return suits(backward_weight_geometry(p), p.inputs[0], p.inputs[1]);
}

// Blocked copies of plain images.
struct Copies {
    int64_t planes = 0, pixels = 0;  // no planes: none is needed

    explicit Copies(const TensorSpec& spec) {
        if (!spec.layout.is_plain()) return;
        planes = spec.shape[0] * spec.shape[1] / channel_block();
        pixels = spec.shape[2] * spec.shape[3];
    }
    int64_t plane() const { return pixels * channel_block(); }
    int64_t floats() const { return planes * plane(); }

    void to_blocks(const float* plain, float* blocks, int threads) const {
        for_planes(threads, [&](int64_t at) {
            cpu::pack_row_block({plain + at, pixels, pixels, blocks + at, channel_block(), channel_block()});
        });
    }
    void from_blocks(const float* blocks, float* plain, int threads) const {
        for_planes(threads, [&](int64_t at) {
            cpu::pack_row_block({blocks + at, channel_block(), channel_block(), plain + at, pixels, pixels});
        });
    }

private:
    template <class Fn>
    void for_planes(int threads, Fn&& fn) const {
        par_for(threads, planes, parallel_grain / plane() + 1, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) fn(i * plane());
        });
    }
};

// Tiles are computed in strips. With enough of them each thread computes strips of its own; else all compute
// the points of one, then each some panels of channels.
struct State {
    Winograd shape;
    Copies x, y;
    std::shared_ptr<const onednn::PackedWeight> weight;  // null: packed in each run
    int threads;
    bool is_backward = false;
    int64_t strips = 1;
    bool shares_points = false;

    TileRange strip(int64_t i) const {
        int64_t begin = shape.tiles() * i / strips;
        return {begin, shape.tiles() * (i + 1) / strips - begin};
    }
    int64_t most_tiles() const { return ceil_div(shape.tiles(), strips); }
    // For one block of channels of y.
    int64_t packed_block() const { return shape.ic * 9 * shape.y.block; }
    bool packs_panels() const { return !weight && strips == 1; }
    bool packs_ahead() const { return !weight && strips > 1; }

    int64_t packed_panel() const { return packs_panels() ? shape.blocks_of_panel() * packed_block() : 0; }
    int64_t scratch() const {
        return shape.weight_floats() + shape.product_floats(most_tiles()) + packed_panel();
    }
    int64_t points() const { return shape.point_floats(most_tiles()); }
    int64_t packed() const { return packs_ahead() ? shape.ic * shape.oc * 9 : 0; }
    int64_t workspace_floats() const {
        return threads * scratch() + (shares_points ? 1 : threads) * points() + packed() + x.floats() +
               y.floats();
    }
};

void cut_into_strips(State& s) {
    const int64_t tiles = s.shape.tiles();
    s.shares_points = tiles < s.threads * tiles_of_thread;
    int64_t teams = s.shares_points ? 1 : s.threads;
    s.strips = teams * ceil_div(tiles, teams * tiles_of_strip);
}

State state_of(const Problem& p, const ConvGeometry& g, const TensorSpec& x, const TensorSpec& y) {
    State s{{g.ic, g.oc, g.in[0], g.in[1], g.out[0], g.out[1], g.padding[0], g.padding[1], g.n, strides_of(x),
             strides_of(y)},
            Copies(x),
            Copies(y),
            nullptr,
            p.threads};
    cut_into_strips(s);
    return s;
}

Prepared finish(State s, PackedInputs packed = {}) {
    size_t workspace = size_t(s.workspace_floats()) * sizeof(float);
    return Prepared::make(std::move(s), workspace, std::move(packed));
}

Prepared prepare(const PrepareContext& context) {
    auto& p = context.problem;
    auto g = forward_geometry(p);
    State s = state_of(p, g, p.inputs[0], p.outputs[0]);
    s.shape.activation = p.as<Conv2d::Params>().activation;
    if (!p.is_constant(1)) return finish(std::move(s));
    auto [weight, packed] = pack_blocks(context, g, channel_block());
    s.weight = weight;
    return finish(std::move(s), std::move(packed));
}

Prepared prepare_backward_data(const PrepareContext& context) {
    auto& p = context.problem;
    State s = state_of(p, turned_around(backward_data_geometry(p)), p.inputs[1], p.outputs[0]);
    s.is_backward = true;
    return finish(std::move(s));
}

// Blocks [first, last) of channels of y, from the weight as it is given.
void pack(const State& s, const float* weight, int64_t first, int64_t last, float* to) {
    const int64_t block = s.shape.y.block, ic = s.shape.ic, oc = s.shape.oc;
    for (int64_t b = first; b < last; ++b, to += s.packed_block()) {
        if (!s.is_backward) {
            cpu::pack_row_block({weight + b * block * ic * 9, ic * 9, ic * 9, to, block, block});
            continue;
        }
        for (int64_t c = 0; c < ic; ++c)
            cpu::pack_row_block(
                {weight + (c * oc + b * block) * 9, 9, 9, to + (c * 9 + 8) * block, block, -block});
    }
}

struct Run {
    const State& s;
    const Launch& launch;

    const float* given_x() const { return launch.in<float>(s.is_backward ? 1 : 0); }
    const float* x() const { return s.x.planes ? x_copy() : given_x(); }
    float* y() const { return s.y.planes ? y_copy() : launch.out<float>(0); }
    const float* given_weight() const { return launch.in<float>(s.is_backward ? 0 : 1); }
    const float* epilogue(size_t i) const { return s.is_backward ? nullptr : launch.in_if_given<float>(i); }

    float* scratch(int64_t thread) const {
        return static_cast<float*>(launch.workspace) + thread * s.scratch();
    }
    float* points(int64_t thread) const { return scratch(s.threads) + thread * s.points(); }
    float* packed() const { return points(s.shares_points ? 1 : s.threads); }
    float* x_copy() const { return packed() + s.packed(); }
    float* y_copy() const { return x_copy() + s.x.floats(); }

    void pack_ahead() const {
        par_for(s.threads, s.shape.oc / s.shape.y.block, parallel_grain / s.packed_block() + 1,
                [&](int64_t begin, int64_t end) {
                    pack(s, given_weight(), begin, end, packed() + begin * s.packed_block());
                });
    }

    // The packed weights of a panel, for which there is scratch.
    const float* weight_of(int64_t panel, float* scratch) const {
        const int64_t blocks = s.shape.blocks_of_panel(), first = panel * blocks;
        if (s.packs_panels()) {
            int64_t last = std::min(first + blocks, s.shape.oc / s.shape.y.block);
            pack(s, given_weight(), first, last, scratch);
            return scratch;
        }
        const float* all = s.weight ? static_cast<const float*>(s.weight->data()) : packed();
        return all + first * s.packed_block();
    }

    void panels(TileRange strip, const float* points, int64_t thread, int64_t first, int64_t last) const {
        float* weights = scratch(thread);
        float* products = weights + s.shape.weight_floats();
        float* packed_panel = products + s.shape.product_floats(s.most_tiles());
        for (int64_t i = first; i < last; ++i) {
            cpu::WinogradPanel panel{
                weight_of(i, packed_panel), epilogue(2), epilogue(3), y(), points, weights, products};
            cpu::winograd_panel(s.shape, panel, strip, i);
        }
    }

    void by_strips() const {
        in_balanced_parts(s.threads, s.strips, 1, [&](int thread, int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
                TileRange strip = s.strip(i);
                cpu::winograd_input(s.shape, x(), strip, 0, s.shape.groups(strip.count), points(thread));
                panels(strip, points(thread), thread, 0, s.shape.panels());
            }
        });
    }
    void by_panels() const {
        for (int64_t i = 0; i < s.strips; ++i) {
            TileRange strip = s.strip(i);
            par_for(s.threads, s.shape.groups(strip.count), 1, [&](int64_t begin, int64_t end) {
                cpu::winograd_input(s.shape, x(), strip, begin, end, points(0));
            });
            in_balanced_parts(s.threads, s.shape.panels(), 1, [&](int thread, int64_t begin, int64_t end) {
                panels(strip, points(0), thread, begin, end);
            });
        }
    }
};

void run(const Prepared& prepared, const Launch& launch) {
    Run run{prepared.state<State>(), launch};
    const State& s = run.s;
    if (s.packs_ahead()) run.pack_ahead();
    if (s.x.planes) s.x.to_blocks(run.given_x(), run.x_copy(), s.threads);
    s.shares_points ? run.by_panels() : run.by_strips();
    if (s.y.planes) s.y.from_blocks(run.y_copy(), launch.out<float>(0), s.threads);
}

// --- the gradient for the weight ---

// So many tiles of a strip: points of x for 32 channels, 295 KB, stay in the second cache. Where the sums of
// all pairs are more than the last cache holds, twice as many, so that they are fetched half as often.
constexpr int64_t tiles_of_sums = 64;
constexpr int64_t many_sums = 1 << 21;

struct WeightState {
    cpu::WinogradWeight w;
    Copies x, dy;
    int threads;

    bool keeps_sums() const { return w.strips() > 1; }
    int64_t sums() const { return (keeps_sums() ? w.pairs() : threads) * w.sum_floats(); }
    size_t workspace() const {
        return size_t(w.x_floats() + w.dy_floats() + sums() + x.floats() + dy.floats()) * sizeof(float);
    }
};

Prepared prepare_backward_weight(const PrepareContext& context) {
    auto& p = context.problem;
    auto g = backward_weight_geometry(p);
    State forward = state_of(p, g, p.inputs[0], p.inputs[1]);
    const Winograd& shape = forward.shape;
    int64_t strip = cpu::winograd_points * g.ic * g.oc > many_sums ? 2 * tiles_of_sums : tiles_of_sums;
    WeightState s{{shape, std::min(strip, shape.tiles())}, forward.x, forward.y, p.threads};
    return Prepared::make(s, s.workspace());
}

void run_backward_weight(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<WeightState>();
    auto* x_points = static_cast<float*>(launch.workspace);
    float *dy_points = x_points + s.w.x_floats(), *all_sums = dy_points + s.w.dy_floats();
    float *x_copy = all_sums + s.sums(), *dy_copy = x_copy + s.x.floats();
    const float *x = launch.in<float>(0), *dy = launch.in<float>(1);
    if (s.x.planes) s.x.to_blocks(std::exchange(x, x_copy), x_copy, s.threads);
    if (s.dy.planes) s.dy.to_blocks(std::exchange(dy, dy_copy), dy_copy, s.threads);
    for (int64_t i = 0; i < s.w.strips(); ++i) {
        const TileRange strip = s.w.strip_at(i);
        const bool is_last = i + 1 == s.w.strips();
        par_for(s.threads, strip.count, 1, [&](int64_t begin, int64_t end) {
            cpu::winograd_weight_points(s.w, x, dy, strip, begin, end, x_points, dy_points);
        });
        in_parts(s.threads, s.w.pairs(), 1, [&](int thread, int64_t begin, int64_t end) {
            for (int64_t pair = begin; pair < end; ++pair) {
                float* sums = all_sums + (s.keeps_sums() ? pair : thread) * s.w.sum_floats();
                cpu::winograd_weight_sums(s.w, x_points, dy_points, strip.count, pair, i == 0, sums);
                if (is_last) cpu::winograd_weight_finish(s.w, sums, pair, launch.out<float>(0));
            }
        });
    }
}

}  // namespace

Algorithm winograd_conv2d() { return {"winograd", supports, prepare, run}; }

template <bool Preferred>
Algorithm winograd_conv2d_changing() {
    return {"winograd_changing", supports_changing<Preferred>, prepare, run};
}
template <bool Preferred>
Algorithm winograd_conv2d_backward_data() {
    return {"winograd", supports_backward_data<Preferred>, prepare_backward_data, run};
}
template <bool Preferred>
Algorithm winograd_conv2d_backward_weight() {
    return {"winograd", supports_backward_weight<Preferred>, prepare_backward_weight, run_backward_weight};
}
template Algorithm winograd_conv2d_changing<true>();
template Algorithm winograd_conv2d_changing<false>();
template Algorithm winograd_conv2d_backward_data<true>();
template Algorithm winograd_conv2d_backward_data<false>();
template Algorithm winograd_conv2d_backward_weight<true>();
template Algorithm winograd_conv2d_backward_weight<false>();

}  // namespace mge::ops
