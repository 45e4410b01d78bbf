// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random numbers that are made by trial, on the host.

#include <cmath>

#include "libmge/kernel/cpu/philox_blocks.h"

namespace mge::trials {

using std::cos, std::exp, std::fabs, std::floor, std::log, std::sqrt;
#include "libmge/kernel/scalar/trials.inc"

}  // namespace mge::trials
