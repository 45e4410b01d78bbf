// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <concepts>

namespace mge {

// The quotient of a ≥ 0 and b > 0, rounded up.
template <std::integral A, std::integral B>
constexpr auto ceil_div(A a, B b) {
    return (a + b - 1) / b;
}

// The smallest multiple of `unit` that is not below n ≥ 0.
template <std::integral A, std::integral B>
constexpr auto round_up(A n, B unit) {
    return ceil_div(n, unit) * unit;
}

}  // namespace mge
