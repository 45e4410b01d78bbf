// SPDX-License-Identifier: Apache-2.0
#pragma once
// Randomness is a function of explicit state: an int32 tensor of two words, the seed and a counter. The same
// state gives the same numbers on any number of threads; whoever owns the state raises the counter after each
// use. Numbers of different operators never share bits: each draws from its own stream.

#include <cstdint>
#include <string_view>

#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

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

struct Drawing {
    static constexpr OpTraits traits{.once = true};
    static constexpr bool stops_gradient = true;
    static constexpr UnknownOperations operations{};
};

// A number for each element of the parameters behind the state, which are f32 and have one shape.
TensorSpecs infer_drawing_for_each(std::string_view who, Specs in);

template <class O>
struct DrawingForEach : Drawing, WithoutParams {
    static constexpr auto autocast = Autocast::wide;
    static TensorSpecs infer(const NoParams&, Specs in) { return infer_drawing_for_each(O::name, in); }
};

}  // namespace mge::ops
