// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/import/megengine/blocked.h"

#include "libmge/device/device.h"
#include "libmge/model/import/megengine/families.h"
#include "libmge/ops/shape/concat.h"
#include "libmge/ops/shape/reshape.h"
#include "libmge/ops/shape/shape_of.h"
#include "libmge/ops/shape/transpose.h"

namespace mge::megengine {
namespace {

enum Format : uint32_t { nchw = 0, nchw88 = 6, nchw44 = 7, nchw44_dot = 8 };

// Transposes, then joins neighbouring axes as `joined` says: (N, C, b, H, W) to (N, C*b, H, W) is {0, 1, 1,
// 2, 3}.
Tensor rearranged(const Tensor& x, const IntList& pattern, const IntList& joined) {
    IntList shape(size_t(joined.back() + 1), 1);
    for (size_t i = 0; i < pattern.size(); ++i) shape[size_t(joined[i])] *= x.shape()[int(pattern[i])];
    return ops::reshape(ops::transpose(x, {.pattern = pattern}), {.shape = shape});
}

}  // namespace

std::optional<int64_t> block_of_format(uint32_t format) {
    switch (format) {
        case nchw:
            return 1;
        case nchw44:
        case nchw44_dot:
            return 4;
        case nchw88:
            return 8;
        default:
            return std::nullopt;
    }
}

// The number of images and their size may change between runs, the channels do not.
Tensor unblocked(const Tensor& x, int64_t block) {
    if (rank_of(x) != 5 || x.shape()[4] != block)
        invalid("images of shape ", x.shape(), " are not in blocks of ", block, " channels");
    Tensor swapped = ops::transpose(x, {.pattern = {0, 1, 4, 2, 3}});
    return ops::flatten(swapped, {.start = 1, .end = 2});
}

Tensor blocked(const Tensor& x, int64_t block) {
    if (rank_of(x) != 4 || x.shape()[1] % block)
        invalid("images of shape ", x.shape(), " do not fit blocks of ", block, " channels");
    int64_t blocks = x.shape()[1] / block;
    Tensor size = ops::shape_of(x);
    auto extent = [&](int axis) { return ops::shape_of(x, {.axis = axis}); };
    std::vector<int32_t> channels{int32_t(blocks), int32_t(block)};
    Tensor target = ops::concat(
        {extent(0), tensor_from_host({DType::i32, {2}, {}}, channels.data()), extent(2), extent(3)},
        {.axis = 0});
    return ops::transpose(ops::reshape(x, target), {.pattern = {0, 1, 3, 4, 2}});
}

bool has_inputs_last(uint32_t format) { return format == nchw44_dot; }

Tensor unblocked_weight(const Tensor& weight, int64_t block, bool is_grouped, bool inputs_last) {
    auto& shape = weight.shape();
    int rank = rank_of(weight);
    bool fits = shape[rank - 1] == block && (rank == 5 || rank == 6 || shape[rank - 2] == block);
    int64_t in = inputs_last ? rank - 1 : rank - 2, out = inputs_last ? rank - 2 : rank - 1;
    if (!is_grouped && rank == 6 && fits && shape[4] == block)
        return rearranged(weight, {0, out, 1, in, 2, 3}, {0, 0, 1, 1, 2, 3});
    if (is_grouped && rank == 7 && fits)
        return rearranged(weight, {0, 1, out, 2, in, 3, 4}, {0, 1, 1, 2, 2, 3, 4});
    if (is_grouped && rank == 6 && fits && shape[1] == 1 && shape[2] == 1)
        return rearranged(weight, {0, 5, 1, 2, 3, 4}, {0, 0, 1, 2, 3, 4});
    if (!is_grouped && rank == 5 && fits) return rearranged(weight, {0, 4, 3, 1, 2}, {0, 0, 1, 2, 3});
    invalid("a weight of shape ", shape, " does not fit blocks of ", block, " channels");
}

}  // namespace mge::megengine
