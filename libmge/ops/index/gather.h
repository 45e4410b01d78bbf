// SPDX-License-Identifier: Apache-2.0
#pragma once
// One index per element: element (i, j, k) of the index tensor names place (i, index, k) for axis 1. The
// index tensor has the rank of x and no larger extents outside of the axis.

#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

struct Gather {
    static constexpr auto name = "gather";
    static constexpr auto doc =
        "Gathers elements along an axis: y[i, j, k] = x[i, index[i, j, k], k] for "
        "axis 1 of rank 3. The result has the shape of index.";
    static constexpr auto inputs = names("x", "index");
    static constexpr auto takes = DTypes::all;
    static constexpr OpTraits traits{.reads_selection = true};
    struct Params {
        int axis = 0;
    };
    static constexpr auto fields = field_list(
        field<&Params::axis>("axis", "Axis that the index replaces; negative counts from the end."));

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Gather> gather{};

struct Scatter {
    static constexpr auto name = "scatter";
    static constexpr auto doc =
        "Copies x and sets y[i, index[i, j, k], k] = source[i, j, k] for axis 1 of rank 3. The last of "
        "several values for one position counts.";
    static constexpr auto inputs = names("x", unpromoted("index"), "source");
    static constexpr auto takes = DTypes::all;
    static constexpr OpTraits traits{.promotion = Promotion::to_first};
    static constexpr auto in_place = in_place_list(InPlace{0, 0});
    using Params = Gather::Params;
    static constexpr auto fields = Gather::fields;

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Scatter> scatter{};

struct ScatterAdd {
    static constexpr auto name = "scatter_add";
    static constexpr auto doc =
        "Copies x and adds source[i, j, k] to y[i, index[i, j, k], k] for axis 1 "
        "of rank 3.";
    static constexpr auto inputs = names("x", unpromoted("index"), "source");
    static constexpr auto takes = DTypes::numbers;
    static constexpr OpTraits traits{.promotion = Promotion::to_first};
    static constexpr auto in_place = in_place_list(InPlace{0, 0});
    using Params = Gather::Params;
    static constexpr auto fields = Gather::fields;

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<ScatterAdd> scatter_add{};

}  // namespace mge::ops
