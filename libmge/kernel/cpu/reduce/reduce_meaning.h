// SPDX-License-Identifier: Apache-2.0
#pragma once
// The meaning of reductions, for all implementations: how values combine, in which types partial results are
// kept and combined, and how these become results.

#include <array>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "libmge/kernel/cpu/reduce/reduce_vectors.h"
#include "libmge/tensor/dtype_dispatch.h"
#include "libmge/tensor/shape.h"

namespace mge::cpu {

template <Reduction kind, class A>
A combine(A a, A b) {
    if constexpr (kind == Reduction::max)
        return b > a || b != b ? b : a;
    else if constexpr (kind == Reduction::min)
        return b < a || b != b ? b : a;
    else if constexpr (std::is_integral_v<A>) {
        using W = std::conditional_t<sizeof(A) == 8, uint64_t, uint32_t>;
        return kind == Reduction::sum ? A(W(a) + W(b)) : A(W(a) * W(b));
    } else
        return kind == Reduction::sum ? a + b : a * b;
}
template <Reduction kind, class A>
constexpr A identity() {
    using L = std::numeric_limits<A>;
    if constexpr (kind == Reduction::max)
        return L::has_infinity ? -L::infinity() : L::lowest();
    else if constexpr (kind == Reduction::min)
        return L::has_infinity ? L::infinity() : L::max();
    else
        return kind == Reduction::prod;
}

// Doubles stay doubles; all other non-integers become float.
template <class T>
using Real = std::conditional_t<std::is_same_v<T, double>, double, float>;

// The type of partial results of a T; sums and products of floats are combined in double.
template <class T, Reduction kind, bool is_mean>
struct Partial {
    static constexpr bool counts = kind == Reduction::sum || kind == Reduction::prod;
    using Type = std::conditional_t<
        is_mean || is_float(DTypeOf<T>), Real<T>,
        std::conditional_t<std::is_same_v<T, bool>, std::conditional_t<counts, int32_t, uint8_t>, T>>;
};
template <class A, Reduction kind>
using Joined =
    std::conditional_t<std::is_same_v<A, float> && (kind == Reduction::sum || kind == Reduction::prod),
                       double, A>;

// Separate from the loops over dtypes and reductions: one for each pair of partial and result type.
template <class J>
void write_results(const J* values, int64_t n, DType dtype, void* out) {
    dispatch_dtype(dtype, AllTypes{}, [&]<class T>(std::type_identity<T>) {
        for (int64_t i = 0; i < n; ++i)
            if constexpr (is_float(DTypeOf<T>))
                static_cast<T*>(out)[i] = T(ComputedAs<T>(values[i]));
            else
                static_cast<T*>(out)[i] = T(values[i]);
    });
}

// Calls fn(kind, is_mean) with both as constants; a mean is a sum.
template <class Fn>
void dispatch_reduction(Reduction kind, bool is_mean, Fn fn) {
    using R = Reduction;
    if (is_mean) return fn(std::integral_constant<R, R::sum>{}, std::true_type{});
    switch (kind) {
        case R::sum:
            return fn(std::integral_constant<R, R::sum>{}, std::false_type{});
        case R::prod:
            return fn(std::integral_constant<R, R::prod>{}, std::false_type{});
        case R::max:
            return fn(std::integral_constant<R, R::max>{}, std::false_type{});
        case R::min:
            return fn(std::integral_constant<R, R::min>{}, std::false_type{});
    }
}

// Number of elements reduced to one.
inline int64_t reduced_count(const Shape& x, const std::array<bool, max_rank>& reduced) {
    int64_t count = 1;
    for (int axis = 0; axis < x.rank(); ++axis)
        if (reduced[size_t(axis)]) count *= x[axis];
    return count;
}

}  // namespace mge::cpu
