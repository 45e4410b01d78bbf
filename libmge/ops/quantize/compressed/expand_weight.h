// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

struct ExpandWeight {
    static constexpr auto name = "expand_weight";
    static constexpr auto doc =
        "Expands a matrix that is stored in 8 or 4 bits per weight to float32 (rows, columns): (q - "
        "zero_point) * scale. Quantised weights q are bytes (rows, groups * bytes of a group). A byte "
        "holds two weights of 4 bits, the first in its low half. Scales and zero points are (rows, groups).";
    static constexpr auto inputs = names("steps", "scale", optional("zero_point"));
    static constexpr auto outputs = output_names("w");
    static constexpr bool stops_gradient = true;
    struct Params {
        int64_t columns = 0;
        int64_t bits = 8;
        int64_t group = 0;
    };
    static constexpr auto fields =
        field_list(field<&Params::columns>("columns", "Number of columns of the matrix."),
                   field<&Params::bits>("bits", "Bits of a quantised weight: 8 or 4."),
                   field<&Params::group>(
                       "group", "Number of columns that share a scale, even for 4 bits; 0: the whole row."));
    static constexpr auto autocast = Autocast::wide;
    static TensorSpecs infer(const Params&, Specs);
    // Difference and product.
    static double operations(const Params&, Specs, Specs out);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<ExpandWeight> expand_weight{};

}  // namespace mge::ops
