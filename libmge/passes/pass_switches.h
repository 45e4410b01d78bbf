// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

namespace mge {

// Switches of single optimisations. Unset: the optimisation level decides. True: done wherever it is legal,
// at every level. False: never done. compile/options/option_list.cpp describes each.
struct PassSwitches {
    std::optional<bool> fuse_bias;
    std::optional<bool> fuse_residual;
    std::optional<bool> join_means;
    std::optional<bool> fuse_preprocess;
    std::optional<bool> pack_weights;
    std::optional<int> fuse_elementwise;  // 0 to 2
    // Setting one fuses, whatever `fuse_elementwise` says.
    std::optional<bool> fuse_transposes, fuse_reductions;
    // Precision is never reduced unasked, so these have two states.
    bool store_half = false;
    bool compute_half = false;

    bool uses_half() const { return store_half || compute_half; }
};

}  // namespace mge
