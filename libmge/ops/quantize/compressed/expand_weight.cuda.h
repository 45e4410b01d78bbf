// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/compressed_weight.h"
#include "libmge/kernel/cuda/types.h"

namespace mge::cuda {

struct ExpandArguments {
    CompressedData data;
    int64_t rows, columns, group, groups, group_bytes;
    int bits, middle;
    float* w;
};
// For addresses that a launch knows.
inline ExpandArguments expand_arguments(const CompressedWeight& weight) {
    return {{},          weight.rows,     weight.columns, weight.group, weight.groups(), weight.group_bytes(),
            weight.bits, weight.middle(), nullptr};
}

// The weights as floats.
void expand_weight(Stream stream, const ExpandArguments& arguments);

}  // namespace mge::cuda
