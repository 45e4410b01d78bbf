// SPDX-License-Identifier: Apache-2.0
#pragma once
// The operators that a build has: all of them, or, in the library for deployment, those that inference needs.

#include <type_traits>

#include "libmge/ops/all.h"

namespace mge {

#ifdef MGE_LITE_ONLY
template <class O>
concept IsBuilt = !requires {
    O::only_trains;
};
#else
template <class O>
concept IsBuilt = true;
#endif

// The types of a list that are built.
template <class List, class... Kept>
struct Built;
template <class... Kept>
struct Built<TypeList<>, Kept...> {
    using Type = TypeList<Kept...>;
};
template <class First, class... Rest, class... Kept>
struct Built<TypeList<First, Rest...>, Kept...> : Built<TypeList<Rest...>, Kept...> {};
template <IsBuilt First, class... Rest, class... Kept>
struct Built<TypeList<First, Rest...>, Kept...> : Built<TypeList<Rest...>, Kept..., First> {};
using BuiltOps = Built<AllOps>::Type;

}  // namespace mge
