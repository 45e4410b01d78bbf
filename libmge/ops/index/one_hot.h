// SPDX-License-Identifier: Apache-2.0
#pragma once
// One class index per place: making the indicator of a class, and reading or writing the element of the class
// along an axis.

#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

struct OneHot {
    static constexpr auto name = "one_hot";
    static constexpr auto doc =
        "Appends an axis with 1 at the index and 0 elsewhere, in the dtype of the index.";
    static constexpr auto inputs = names("index");
    static constexpr bool stops_gradient = true;
    struct Params {
        int64_t num_classes = 0;
    };
    static constexpr auto fields =
        field_list(field<&Params::num_classes>("num_classes", "Size of the new axis; above 0."));

    static TensorSpecs infer(const Params&, Specs);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<OneHot> one_hot{};

struct IndexingOneHot {
    static constexpr auto name = "indexing_one_hot";
    static constexpr auto doc = "Selects one element of x along an axis by index. The axis keeps size 1.";
    static constexpr auto inputs = names("x", "index");
    static constexpr auto takes = DTypes::all;
    static constexpr OpTraits traits{.reads_selection = true};
    struct Params {
        int axis = 1;
    };
    static constexpr auto fields = field_list(
        field<&Params::axis>("axis", "Axis that is indexed. The shape of index consists of the other axes."));

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<IndexingOneHot> indexing_one_hot{};

struct IndexingSetOneHot {
    static constexpr auto name = "indexing_set_one_hot";
    static constexpr auto doc =
        "Copies x and replaces one element along an axis, selected by index, with "
        "value.";
    static constexpr auto inputs = names("x", unpromoted("index"), "value");
    static constexpr auto takes = DTypes::all;
    static constexpr OpTraits traits{.promotion = Promotion::to_first};
    static constexpr auto in_place = in_place_list(InPlace{0, 0});
    using Params = IndexingOneHot::Params;
    static constexpr auto fields = IndexingOneHot::fields;

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<IndexingSetOneHot> indexing_set_one_hot{};

}  // namespace mge::ops
