// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/algorithm.h"
#include "libmge/ops/nn/pooling/geometry.h"

namespace mge::ops {

// oneDNN's pooling algorithms for the Problem's layout, f32 and bf16. The gradient of max pooling is not
// among them: oneDNN gives it to one element of a window, MGE to all that are the largest.
enum class PoolKind { max, average, average_backward };

Support supports_onednn_pool(const Problem& problem, PoolKind kind);
std::vector<Candidate> onednn_pool_candidates(const Problem& problem, const PoolGeometry& g, PoolKind kind);
Prepared prepare_onednn_pool(const PrepareContext& context, const PoolGeometry& g, PoolKind kind);
void run_onednn_pool(const Prepared& prepared, const Launch& launch);

}  // namespace mge::ops
