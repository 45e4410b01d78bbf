// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/grid.cuh"
#include "libmge/kernel/cuda/scalar.cuh"
#include "libmge/ops/quantize/compressed/expand_weight.cuda.h"

namespace mge::cuda {

// The position of a column's steps within a row, and its group.
struct CompressedColumn {
    int64_t group, byte;
    bool is_high;  // the half of a byte with two steps
};
MGE_DEVICE CompressedColumn compressed_column(const ExpandArguments& x, int64_t column) {
    int64_t group = column;
    const int64_t within = split_index(group, x.group);
    return {group, group * x.group_bytes + within * x.bits / 8, within % 2 != 0};
}

MGE_DEVICE int step_in(const ExpandArguments& x, int byte, bool is_high) {
    return x.bits == 8 ? byte : is_high ? byte >> 4 : byte & 15;
}
// `at`: of the row's group among all.
MGE_DEVICE float zero_of(const ExpandArguments& x, int64_t at) {
    return float(x.data.zero ? int(x.data.zero[at]) : x.middle);
}
MGE_DEVICE float compressed_weight_at(const ExpandArguments& x, int64_t row, const CompressedColumn& c) {
    const int64_t at = row * x.groups + c.group;
    const int byte = x.data.steps[row * x.groups * x.group_bytes + c.byte];
    return (float(step_in(x, byte, c.is_high)) - zero_of(x, at)) * x.data.scale[at];
}

}  // namespace mge::cuda
