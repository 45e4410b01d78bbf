// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>

namespace mge {

// |a − b| of two results: 0 for equal infinities and for two NaNs, infinite when only one is NaN.
inline double distance(double a, double b) {
    if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
    double d = std::abs(a - b);
    return std::isnan(d) ? HUGE_VAL : d;
}

}  // namespace mge
