// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace mge::cpu {

// y[i] = x[i] * factor, multiplied in double and rounded once.
using TimesDouble = void (*)(const float* x, double factor, float* y, int64_t n);
TimesDouble times_double();

}  // namespace mge::cpu
