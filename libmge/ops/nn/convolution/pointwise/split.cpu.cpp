// SPDX-License-Identifier: Apache-2.0
// 1×1 convolutions of f32 by matrix instructions: pixels are the rows of a product. With a stride they are
// gathered first, some lines of y at once.
#include <algorithm>

#include "libmge/base/numbers/ceil_div.h"
#include "libmge/kernel/cpu/convolution/gathered_windows.h"
#include "libmge/kernel/cpu/onednn/packed_weight.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/cpu/product/split_matrices.h"
#include "libmge/ops/nn/convolution/channel_blocks.h"
#include "libmge/ops/nn/convolution/conv2d_algorithms.h"

namespace mge::ops {
namespace {

constexpr int64_t split_block = cpu::SplitSource::block;
// Less work does not pay for the splitting.
constexpr int64_t fewest_pixels = 64, fewest_multiplications = 44, least_depth = 64, least_weights = 1 << 13;
// Each strip of lines splits the weights again.
constexpr int64_t pixels_of_strip = 256;
// A strip has at least a line of y: 4 MiB.
constexpr int64_t most_gathered = 1 << 20;

bool is_gathered(const ConvGeometry& g) { return g.stride != Pair{1, 1} || g.padding != Pair{0, 0}; }

struct State {
    cpu::GatheredWindows windows;
    cpu::SplitMatrices product;  // all pixels of an image
    std::shared_ptr<const onednn::PackedWeight> weight;
    int64_t images;
    int64_t rows_of_strip;
    bool is_gathered;

    int64_t lines() const { return windows.out[0]; }
    int64_t image_floats() const { return windows.ic * windows.in[0] * windows.in[1]; }
    int64_t result_floats() const { return product.m * product.n; }
    int64_t gathered_floats() const { return is_gathered ? product.k * rows_of_strip * windows.out[1] : 0; }
    cpu::SplitMatrices strip(int64_t rows) const {
        cpu::SplitMatrices part = product;
        part.m = rows * windows.out[1];
        return part;
    }
    size_t workspace() const {
        const size_t whole = strip(rows_of_strip).workspace();
        const int64_t rest = lines() % rows_of_strip;
        return size_t(gathered_floats()) * sizeof(float) +
               std::max(whole, rest ? strip(rest).workspace() : 0);
    }
};

Support supports(const Problem& p) {
    if (!cpu::has_split_products()) return {"no matrix instructions"};
    if (auto support = has_constant_weights_of_f32(p); !support) return support;
    const auto g = forward_geometry(p);
    if (g.groups != 1 || g.ic % split_block || g.oc % split_block)
        return {"one group and channels in full blocks only"};
    if (g.kernel != Pair{1, 1}) return {"1×1 windows only"};
    const int64_t pixels = g.out[0] * g.out[1];
    if (pixels < fewest_pixels || g.ic < least_depth || g.ic * g.oc < least_weights ||
        pixels * g.oc < fewest_multiplications * (pixels + g.oc))
        return {"few pixels or channels"};
    if (is_gathered(g) && g.ic * g.out[1] > most_gathered) return {"long lines with many channels"};
    return uses_channel_blocks(p);
}

Prepared prepare(const PrepareContext& context) {
    auto& p = context.problem;
    const auto g = forward_geometry(p);
    auto [weight, packed] = pack_blocks(context, g, split_block);
    State s{.windows = windows_of(g),
            .product = {g.out[0] * g.out[1], g.oc, g.ic, p.as<Conv2d::Params>().activation, p.threads},
            .weight = weight,
            .images = g.n,
            .rows_of_strip = g.out[0],
            .is_gathered = is_gathered(g)};
    if (s.is_gathered) {
        const int64_t strips = std::max<int64_t>(1, s.product.m / pixels_of_strip);
        s.rows_of_strip = ceil_div(g.out[0], strips);
    }
    const size_t workspace = s.workspace();
    return Prepared::make(std::move(s), workspace, std::move(packed));
}

// The pixels of some lines of y, as blocks of channels.
const float* pixels_of(const State& s, const float* x, int64_t first_row, int64_t rows, float* gathered) {
    if (!s.is_gathered) return x;
    cpu::GatheredWindows windows = s.windows;
    windows.first_row = first_row;
    windows.rows = rows;
    par_for(s.product.threads, windows.ic / split_block, 1,
            [&](int64_t first, int64_t last) { cpu::gather_windows(windows, x, gathered, first, last); });
    return gathered;
}

void run(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    const auto* weight = static_cast<const float*>(s.weight->data());
    const auto* residual = launch.in_if_given<float>(3);
    auto* gathered = static_cast<float*>(launch.workspace);
    const int64_t k = s.product.k, y_block = s.product.m * split_block;
    for (int64_t image = 0; image < s.images; ++image)
        for (int64_t row = 0; row < s.lines(); row += s.rows_of_strip) {
            const auto product = s.strip(std::min(s.rows_of_strip, s.lines() - row));
            const float* x = pixels_of(s, launch.in<float>(0) + image * s.image_floats(), row,
                                       product.m / s.windows.out[1], gathered);
            const int64_t place = image * s.result_floats() + row * s.windows.out[1] * split_block;
            cpu::multiply_split(
                product,
                {{x, product.m, k, split_block, 1, split_block * split_block, product.m * split_block},
                 {weight, product.n, k, 1, split_block, k * split_block},
                 {launch.in_if_given<float>(2),
                  {residual ? residual + place : nullptr, split_block, y_block},
                  {launch.out<float>(0) + place, split_block, y_block}}},
                gathered + s.gathered_floats());
        }
}

}  // namespace

Algorithm split_conv2d() { return {"split", supports, prepare, run}; }

}  // namespace mge::ops
