// SPDX-License-Identifier: Apache-2.0
#pragma once
// NumPy broadcasting for a kernel on any device: a few loops.

#include <array>
#include <cstdint>

#include "libmge/base/api.h"
#include "libmge/tensor/spec.h"

namespace mge {

inline constexpr int max_loop_inputs = 3;

// The loops that broadcasting comes down to: neighbouring axes that all operands treat alike are one loop.
struct LoopNest {
    static constexpr int max_loops = max_rank;
    int loops = 0;                            // outermost first
    std::array<int64_t, max_loops> extent{};  // in elements
    // Bytes to the next element of each loop.
    std::array<std::array<int64_t, max_loops>, max_loop_inputs> in_stride{};
    std::array<int64_t, max_loops> out_stride{};
};
MGE_API LoopNest make_loop_nest(Specs inputs, const TensorSpec& output);
// For one input with these strides (bytes per axis of the output; 0: repeats).
MGE_API LoopNest make_loop_nest(const std::array<int64_t, max_rank>& in_stride, const TensorSpec& output);

}  // namespace mge
