// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/import/megengine/operators/blocked.h"

#include <algorithm>

#include "libmge/base/number_text.h"
#include "libmge/device/device.h"
#include "libmge/model/import/megengine/extents.h"
#include "libmge/model/import/megengine/families.h"
#include "libmge/ops/shape/concat.h"
#include "libmge/ops/shape/layout/transpose.h"
#include "libmge/ops/shape/pad.h"
#include "libmge/ops/shape/reshape.h"
#include "libmge/ops/shape/shape_of.h"

namespace mge::megengine {
namespace {

// By MegEngine's number of the format.
struct BlockFormat {
    uint32_t number;
    Blocks blocks;
};
constexpr BlockFormat block_formats[] = {
    {0, {}},                                    // NCHW
    {3, {4, 4, WeightBlocks::inputs}},          // NCHW4
    {5, {32, 32, WeightBlocks::inputs}},        // NCHW32
    {6, {8, 8, WeightBlocks::inputs_outputs}},  // NCHW88
    {7, {4, 4, WeightBlocks::inputs_outputs}},  // NCHW44
    {8, {4, 4, WeightBlocks::outputs_inputs}},  // NCHW44_DOT
    {9, {4, 32, WeightBlocks::inputs}},         // NCHW4_NCHW32
    {10, {32, 4, WeightBlocks::inputs}},        // NCHW32_NCHW4
    {11, {4, 1, WeightBlocks::inputs}},         // NCHW4_NCHW
    {16, {64, 64, WeightBlocks::inputs}},       // NCHW64
};

// Transposes, then joins neighbouring axes according to `joined`: (N, C, b, H, W) to (N, C*b, H, W) is {0, 1,
// 1, 2, 3}.
Tensor rearranged(const Tensor& x, const IntList& pattern, const IntList& joined) {
    IntList shape(size_t(joined.back() + 1), 1);
    for (size_t i = 0; i < pattern.size(); ++i) shape[size_t(joined[i])] *= x.shape()[int(pattern[i])];
    return ops::reshape(ops::transpose(x, {.pattern = pattern}), {.shape = shape});
}

// Zeros behind the channels that do not fill a block.
Tensor filled_up(const Tensor& x, int64_t block, uint32_t groups) {
    if (rank_of(x) != 4) invalid("images of shape ", x.shape(), ", expected rank 4");
    int64_t missing = (block - x.shape()[1] % block) % block;
    if (missing == 0) return x;
    if (groups > 1) unsupported("blocks of ", groups, " groups that have to be filled up");
    return ops::pad(x, {.before = {0, 0, 0, 0}, .after = {0, missing, 0, 0}});
}

Tensor first_channels(const Tensor& x, int64_t count, uint32_t groups) {
    int64_t channels = x.shape()[1];
    if (count == 0 || count == channels) return x;
    if (count > channels) invalid(count, " of ", counted(channels, "channel"));
    if (groups > 1) unsupported("the first channels of ", groups, " groups");
    return cut(x, 1, 0, count);
}

}  // namespace

std::optional<Blocks> blocks_of_format(uint32_t format) {
    auto found = std::ranges::find(block_formats, format, &BlockFormat::number);
    return found == std::end(block_formats) ? std::nullopt : std::optional(found->blocks);
}

std::optional<int64_t> block_of_format(uint32_t format) {
    auto blocks = blocks_of_format(format);
    return blocks && blocks->images == blocks->results ? std::optional(blocks->images) : std::nullopt;
}

// The number of images and their size may change between runs, the channels do not.
Tensor unblocked(const Tensor& x, int64_t block) {
    if (rank_of(x) != 5 || x.shape()[4] != block)
        invalid("images of shape ", x.shape(), " are not in blocks of ", counted(block, "channel"));
    Tensor swapped = ops::transpose(x, {.pattern = {0, 1, 4, 2, 3}});
    return ops::flatten(swapped, {.start = 1, .end = 2});
}

Tensor blocked(const Tensor& x, int64_t block) {
    if (rank_of(x) != 4 || x.shape()[1] % block)
        invalid("images of shape ", x.shape(), " do not fit blocks of ", counted(block, "channel"));
    int64_t blocks = x.shape()[1] / block;
    Tensor size = ops::shape_of(x);
    auto extent = [&](int axis) { return ops::shape_of(x, {.axis = axis}); };
    std::vector<int32_t> channels{int32_t(blocks), int32_t(block)};
    Tensor target =
        ops::concat({extent(0), tensor_from_host({DType::i32, {2}, {}}, channels.data(), host_device),
                     extent(2), extent(3)},
                    {.axis = 0});
    return ops::transpose(ops::reshape(x, target), {.pattern = {0, 1, 3, 4, 2}});
}

Tensor unblocked_weight(const Tensor& weight, const Blocks& blocks, bool is_grouped) {
    auto& shape = weight.shape();
    int rank = rank_of(weight);
    int64_t block = blocks.images;
    bool has_block = rank > 0 && shape[rank - 1] == block;
    if (has_block && blocks.weight == WeightBlocks::inputs) {
        if (!is_grouped && rank == 5) return rearranged(weight, {0, 1, 4, 2, 3}, {0, 1, 1, 2, 3});
        if (is_grouped && rank == 6) return rearranged(weight, {0, 1, 2, 5, 3, 4}, {0, 1, 2, 2, 3, 4});
    } else if (has_block) {
        bool has_both = rank > 5 && shape[rank - 2] == block,
             inputs_last = blocks.weight == WeightBlocks::outputs_inputs;
        int64_t in = inputs_last ? rank - 1 : rank - 2, out = inputs_last ? rank - 2 : rank - 1;
        if (!is_grouped && rank == 6 && has_both)
            return rearranged(weight, {0, out, 1, in, 2, 3}, {0, 0, 1, 1, 2, 3});
        if (is_grouped && rank == 7 && has_both)
            return rearranged(weight, {0, 1, out, 2, in, 3, 4}, {0, 1, 1, 2, 2, 3, 4});
        if (is_grouped && rank == 6 && shape[1] == 1 && shape[2] == 1)
            return rearranged(weight, {0, 5, 1, 2, 3, 4}, {0, 0, 1, 2, 3, 4});
        if (!is_grouped && rank == 5) return rearranged(weight, {0, 4, 3, 1, 2}, {0, 0, 1, 2, 3});
    }
    invalid("a weight of shape ", shape, " does not fit blocks of ", counted(block, "channel"));
}

// Separate operators convert between the layouts of other processors. Channels that do not fill the last
// block are padded with zeros, and the padding is removed if the file has the number of channels.
Tensors import_relayout(const Site& site) {
    enum : uint32_t {
        nchw88_in = 20,
        nchw88_out = 21,
        nchw4_small = 22,
        nchw4_in = 24,
        nchw4_out = 25,
        nchw64_in = 27,
        nchw64_out = 28,
        nhwc_in = 29,
        nhwc_out = 30,
    };
    auto& p = site.params<file::RelayoutFormat>();
    const Tensor& x = site.in(0);
    switch (p.mode()) {
        case nchw88_in:
            return {blocked(x, 8)};
        case nchw4_small:
        case nchw4_in:
            return {blocked(filled_up(x, 4, p.group()), 4)};
        case nchw64_in:
            return {blocked(filled_up(x, 64, p.group()), 64)};
        case nchw88_out:
            return {first_channels(unblocked(x, 8), p.oc(), p.group())};
        case nchw4_out:
            return {first_channels(unblocked(x, 4), p.oc(), p.group())};
        case nchw64_out:
            return {first_channels(unblocked(x, 64), p.oc(), p.group())};
        case nhwc_in:
            return {ops::transpose(x, {.pattern = {0, 2, 3, 1}})};
        case nhwc_out:
            return {ops::transpose(x, {.pattern = {0, 3, 1, 2}})};
        default:
            unsupported("change of layout ", p.mode());
    }
}

}  // namespace mge::megengine
