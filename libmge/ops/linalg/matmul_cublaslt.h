// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/algorithm.h"

namespace mge::ops {

// The algorithms of cuBLASLt's heuristic, with stable names: "cublaslt:" and the numbers of a configuration.
Algorithm cublaslt_matmul();

}  // namespace mge::ops
