// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/algorithm.h"

namespace mge::ops {

// What cuBLASLt's heuristic offers, by names that are good for ever: "cublaslt:" and the numbers of a
// configuration.
Algorithm cublaslt_matmul();

}  // namespace mge::ops
