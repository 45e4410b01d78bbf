// SPDX-License-Identifier: Apache-2.0
#pragma once
// The formulas of kernel/scalar/optimizer.inc over whole arrays of f32.

#include <cstdint>

#include "libmge/kernel/cpu/scalar.h"

namespace mge::cpu {

namespace functor {
#include "libmge/kernel/scalar/optimizer.inc"
}  // namespace functor

// A formula on the elements [begin, end) of its operands; a result may be written in the place of an operand.
using StepRange = void (*)(const void* formula, const float* const* operands, float* const* results,
                           int64_t begin, int64_t end);

// One formula with SIMD, for the best instruction set allowed by MGE_ISA. Bit-identical to scalar_step.
// Declared for every formula and defined, one by one, in the .simd.cpp.
template <class Formula>
StepRange vector_step();

// Element by element.
template <class Formula>
void scalar_step(const void* formula, const float* const* operands, float* const* results, int64_t begin,
                 int64_t end) {
    const auto& apply = *static_cast<const Formula*>(formula);
    for (int64_t i = begin; i < end; ++i) {
        Scalar<float> x[Formula::operands], y[Formula::results];
        for (int k = 0; k < Formula::operands; ++k) x[k].v = operands[k][i];
        apply(x, y);
        for (int k = 0; k < Formula::results; ++k) results[k][i] = y[k].v;
    }
}

// Sums of squares. Always 16 partial ones, by position, so that the instruction set does not show.
struct StepSquares {
    double param = 0, direction = 0;
};
// Applies functor::LambDirection, but does not write result 0.
using LambSquares = StepSquares (*)(const void* formula, const float* const* operands, float* const* results,
                                    int64_t begin, int64_t end);
LambSquares lamb_squares();

// All of one instruction set.
struct StepFunctions {
    StepRange sgd, momentum, first_momentum, nesterov, first_nesterov, adam, adamw, adagrad, adadelta,
        lamb_move;
    LambSquares lamb_squares;
};

}  // namespace mge::cpu
