// SPDX-License-Identifier: Apache-2.0
#pragma once
// Randomness is a function of explicit state: an int32 tensor of two words, the seed and a counter. The same
// state gives the same numbers on any number of threads; whoever owns the state raises the counter after each
// use. Numbers of different operators never share bits: each draws from its own stream.

#include <cstdint>
#include <string_view>

#include "libmge/tensor/spec.h"

namespace mge::ops {

enum class RandomStream : uint32_t {
    uniform,
    normal,
    permutation,
    dropout,
    gamma,
    beta,
    poisson,
    multinomial
};

// UserError unless the state is int32 of shape (2,).
void check_random_state(std::string_view who, const TensorSpec& state);
// UserError unless it is f32.
void check_distribution_parameter(std::string_view who, const TensorSpec& parameter);

}  // namespace mge::ops
