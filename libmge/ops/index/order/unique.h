// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

struct Unique {
    static constexpr auto name = "unique";
    static constexpr auto doc =
        "Returns the distinct slices of x along its first axis. `first` is the position of the first "
        "occurrence of each, `inverse` the index in `values` of each slice of x, and `counts` the number "
        "of occurrences. Shapes are known only at run time.";
    static constexpr auto inputs = names("x");
    static constexpr auto outputs = output_names("values", "first", "inverse", "counts");
    static constexpr OpTraits traits{.runtime_shape = true};
    static constexpr bool stops_gradient = true;
    struct Params {
        bool sorted = true;
    };
    static constexpr auto fields = field_list(
        field<&Params::sorted>("sorted",
                               "Sort the values in ascending order, with NaN after all numbers. Otherwise "
                               "they keep the order of their first occurrence."));
    static constexpr UnknownOperations operations{};

    static TensorSpecs infer(const Params&, Specs);
    static std::vector<Shape> shapes_of_items(const Shape& x, const Extent& count);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Unique, false> unique{};

}  // namespace mge::ops
