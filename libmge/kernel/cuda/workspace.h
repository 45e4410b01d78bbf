// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>

namespace mge::cuda {

// Alignment of the parts of a workspace, sufficient for cuDNN's operands.
constexpr size_t workspace_alignment = 256;
constexpr size_t workspace_part(size_t bytes) {
    return (bytes + workspace_alignment - 1) / workspace_alignment * workspace_alignment;
}

}  // namespace mge::cuda
