// SPDX-License-Identifier: Apache-2.0
#pragma once
// Advanced indexing: int32 tensors as indices of some axes. They broadcast together; their shape takes the
// place of the first of these axes when the axes are neighbours, else it comes first (numpy's rule).

#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

inline constexpr std::string_view take_axes_doc =
    "The axis that each index tensor indexes, in ascending order; negative ones count from the end.";

struct Take {
    static constexpr auto name = "take";
    static constexpr auto doc =
        "Returns the elements of x at positions given by int32 index tensors, "
        "which broadcast together.";
    static constexpr auto inputs = names("x", variadic("indices"));
    static constexpr auto takes = DTypes::all;
    static constexpr OpTraits traits{.reads_selection = true};
    struct Params {
        IntList axes;
    };
    static constexpr auto fields = field_list(field<&Params::axes>("axes", take_axes_doc));

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Take> take{};

struct SetTake {
    static constexpr auto name = "set_take";
    static constexpr auto doc =
        "Copies x and replaces the elements at positions given by index tensors with value, which "
        "broadcasts. The last of several values for one position counts.";
    static constexpr auto inputs =
        names("x", "value", InputInfo("indices", InputKind::variadic, false, false));
    static constexpr auto takes = DTypes::all;
    static constexpr OpTraits traits{.promotion = Promotion::to_first};
    static constexpr auto in_place = in_place_list(InPlace{0, 0});
    using Params = Take::Params;
    static constexpr auto fields = field_list(field<&Params::axes>("axes", take_axes_doc));

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<SetTake> set_take{};

struct AddTake {
    static constexpr auto name = "add_take";
    static constexpr auto doc =
        "Copies x and adds value, which broadcasts, at positions given by index tensors. All of several "
        "values for one position are added.";
    static constexpr auto inputs =
        names("x", "value", InputInfo("indices", InputKind::variadic, false, false));
    static constexpr auto takes = DTypes::numbers;
    static constexpr OpTraits traits{.promotion = Promotion::to_first};
    static constexpr auto in_place = in_place_list(InPlace{0, 0});
    using Params = Take::Params;
    static constexpr auto fields = field_list(field<&Params::axes>("axes", take_axes_doc));

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<AddTake> add_take{};

// The shape of the result: outer + indices + inner.
struct TakeShape {
    std::vector<int> axes;  // rising, 0 … rank-1
    Shape indices;          // all index tensors broadcast together
    Shape result;
    int indices_at = 0;  // axis of the result where their shape starts
};
MGE_API TakeShape take_shape(std::string_view who, const Take::Params& params, const Shape& x, Specs indices);

}  // namespace mge::ops
