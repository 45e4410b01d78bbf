// SPDX-License-Identifier: Apache-2.0
#pragma once
// The operators that a build has: all of them, or, in the library for deployment, those that inference needs.

#include <type_traits>

#include "libmge/ops/all.h"

namespace mge {

// clang-format off
// What only training needs, and no importable format has.
using TrainingOps = TypeList<
    ops::AdadeltaStep,
    ops::AdagradStep,
    ops::AdamStep,
    ops::AdaptiveAvgPool2dBackward,
    ops::AdaptiveMaxPool2dBackward,
    ops::AdaptiveMaxPool2dSelect,
    ops::AvgPool2dBackward,
    ops::BatchNormBackward,
    ops::Conv2dBackwardWeight,
    ops::CtcLoss,
    ops::CtcLossBackward,
    ops::DeformableRoiPool2dBackward,
    ops::EmbeddingBackward,
    ops::GeluSlope,
    ops::GroupNormBackward,
    ops::LambStep,
    ops::LayerNormBackward,
    ops::MaxPool2dBackward,
    ops::MaxPool2dSelect,
    ops::PadBackward,
    ops::RemapBackwardData,
    ops::RemapBackwardMap,
    ops::RoiPool2dBackward,
    ops::SgdStep,
    ops::Svd>;
// clang-format on

// The types of the first list that are none of the second.
template <class List, class Others, class... Kept>
struct WithoutTypes;
template <class... Others, class... Kept>
struct WithoutTypes<TypeList<>, TypeList<Others...>, Kept...> {
    using Type = TypeList<Kept...>;
};
template <class First, class... Rest, class... Others, class... Kept>
struct WithoutTypes<TypeList<First, Rest...>, TypeList<Others...>, Kept...>
    : std::conditional_t<(std::is_same_v<First, Others> || ...),
                         WithoutTypes<TypeList<Rest...>, TypeList<Others...>, Kept...>,
                         WithoutTypes<TypeList<Rest...>, TypeList<Others...>, Kept..., First>> {};

#ifdef MGE_LITE_ONLY
using BuiltOps = WithoutTypes<AllOps, TrainingOps>::Type;
#else
using BuiltOps = AllOps;
#endif

}  // namespace mge
