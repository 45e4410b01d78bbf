// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

struct ExpandWeight {
    static constexpr auto name = "expand_weight";
    static constexpr auto doc =
        "The matrix (rows, columns) of float32 that is stored in 8 or 4 bits for each weight: (step - "
        "zero_point) * scale. Steps are bytes, (rows, groups * bytes of a group), of which one holds two "
        "steps "
        "of 4 bits, the low half first; scales and zero points are (rows, groups).";
    static constexpr auto inputs = names("steps", "scale", optional("zero_point"));
    static constexpr auto outputs = output_names("w");
    static constexpr bool stops_gradient = true;
    struct Params {
        int64_t columns = 0;
        int64_t bits = 8;
        int64_t group = 0;
        bool operator==(const Params&) const = default;
    };
    static constexpr auto fields =
        field_list(field<&Params::columns>("columns", "Of the matrix."),
                   field<&Params::bits>("bits", "Of a step: 8 or 4."),
                   field<&Params::group>(
                       "group", "Columns that share a scale, with 4 bits an even number; 0: all of a row."));
    static constexpr auto autocast = Autocast::wide;
    static TensorSpecs infer(const Params&, std::span<const TensorSpec>);
    // Difference and product.
    static double operations(const Params&, std::span<const TensorSpec>, std::span<const TensorSpec> out);
    MGE_API static const OpInfo info;
};
KernelList kernels(Cpu, ExpandWeight);
inline constexpr OpFunction<ExpandWeight> expand_weight{};

}  // namespace mge::ops
