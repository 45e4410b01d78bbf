// SPDX-License-Identifier: Apache-2.0
#pragma once
// Basic indexing: reading, overwriting and adding to x[begin:end:step, index, …].

#include "libmge/kernel/strided_copy.h"
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

inline constexpr std::string_view items_doc =
    "Five integers per indexed axis: axis, begin, end, step, is_index (1: begin is an index and the axis "
    "goes away). The smallest int64 means left out; the next smallest takes the next value of `bounds`.";

struct Slice {
    static constexpr auto name = "slice";
    static constexpr auto doc =
        "Returns the elements of x at regular positions along each axis, as "
        "NumPy's slices do.";
    static constexpr auto inputs = names("x", host_list("bounds"));
    static constexpr auto takes = DTypes::all;
    static constexpr OpTraits traits{.reads_selection = true};
    struct Params {
        IntList items;
    };
    static constexpr auto fields = field_list(field<&Params::items>("items", items_doc));

    static TensorSpecs infer(const Params&, Specs);
    static std::optional<int64_t> part_of_input(const Params&, const TensorSpec& x);
    static Params resolve(const Params&, std::span<const Tensor> host_values);
    static Tensors gradient(const GradientContext<Params>&);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Slice> slice{};

struct SetSlice {
    static constexpr auto name = "set_slice";
    static constexpr auto doc =
        "Copies x and replaces the elements at regular positions with value, which "
        "broadcasts.";
    static constexpr auto inputs = names("x", "value", host_list("bounds"));
    static constexpr auto takes = DTypes::all;
    static constexpr OpTraits traits{.promotion = Promotion::to_first};
    static constexpr auto in_place = in_place_list(InPlace{0, 0});
    using Params = Slice::Params;
    static constexpr auto fields = field_list(field<&Params::items>("items", items_doc));

    static TensorSpecs infer(const Params&, Specs);
    static Params resolve(const Params&, std::span<const Tensor> host_values);
    static Tensors gradient(const GradientContext<Params>&);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<SetSlice> set_slice{};

struct AddSlice {
    static constexpr auto name = "add_slice";
    static constexpr auto doc =
        "Copies x and adds value, which broadcasts, to the elements at regular "
        "positions.";
    static constexpr auto inputs = names("x", "value", host_list("bounds"));
    static constexpr auto takes = DTypes::numbers;
    static constexpr OpTraits traits{.promotion = Promotion::to_first};
    static constexpr auto in_place = in_place_list(InPlace{0, 0});
    using Params = Slice::Params;
    static constexpr auto fields = field_list(field<&Params::items>("items", items_doc));

    static TensorSpecs infer(const Params&, Specs);
    static Params resolve(const Params&, std::span<const Tensor> host_values);
    static Tensors gradient(const GradientContext<Params>&);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<AddSlice> add_slice{};

MGE_API StridedCopy plan_slice(const Problem& problem);
// Copy of the value to its positions in x, for both operators that change a slice.
MGE_API StridedCopy plan_slice_change(const Problem& problem);

}  // namespace mge::ops
