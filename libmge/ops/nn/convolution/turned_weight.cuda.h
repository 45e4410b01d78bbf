// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "libmge/kernel/algorithm.h"
#include "libmge/kernel/cuda/copy/copy_plan.h"
#include "libmge/kernel/cuda/workspace.h"
#include "libmge/ops/nn/convolution/geometry.h"
#include "libmge/tensor/storage.h"

namespace mge::ops {

// A weight as cuDNN wants it, where that is not as we have it: with its channels behind the kernel.
struct TurnedWeight {
    std::optional<cuda::CopyPlan> copy;
    size_t bytes = 0;                    // part of the workspace
    StorageRef kept;                     // copy of a constant weight, which is not needed otherwise
    std::optional<cuda::CopyPlan> back;  // inverse copy
    size_t plain_bytes = 0;              // part of the workspace for users of the original
};

// Whether cuDNN's order of a channels-last weight differs from ours.
bool is_turned_for_channels_last(const ConvGeometry& g);

// `constant`: its address, null where runs have different ones, or it is a result, which is turned back.
TurnedWeight turned_weight(const Problem& problem, const ConvGeometry& g, DType dtype, const void* constant,
                           bool is_result);

// Runs an algorithm that reads the plain weight; that of one that is kept is made in front of its workspace.
void run_with_plain_weight(const TurnedWeight& turned, size_t weight_input, const Algorithm& algorithm,
                           const Prepared& prepared, const Launch& launch);

using cuda::workspace_alignment, cuda::workspace_part;

}  // namespace mge::ops
