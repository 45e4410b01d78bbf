// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "libmge/kernel/cpu/rows/optimizer_steps.h"

namespace mge::ops {

// Those of step number `count`, counted from 1.
inline cpu::functor::MeanWeights mean_weights(double beta, float count) {
    return {.old = float(beta),
            .fresh = float(1 - beta),
            .correction = float(1 / (1 - std::pow(beta, double(count))))};
}

}  // namespace mge::ops
