// SPDX-License-Identifier: Apache-2.0
#pragma once
// Between real numbers and steps, row by row (see ops/quantize/quantisation.h), with the bits of the scalar
// functions there.

#include <cstdint>

namespace mge::cpu {

// Scale and zero point of a row, and the steps that there are.
struct Steps {
    float scale, zero, lower, upper;
};

// The order of rounding in fake quantisation.
enum class FakeSteps : uint8_t { rounded_then_shifted, shifted_then_rounded };

// A sum of steps of a byte.
struct StepSum {
    float a_scale, b_scale, y_scale, a_zero, b_zero, y_zero, lower, upper;
    bool is_a_signed, is_b_signed, relu;
    bool is_even;   // halves go to the even step
    bool is_short;  // rounds_shortly(y_scale) is known to be true
};

struct QuantiseRows {
    void (*to_u8)(const float* x, uint8_t* y, int64_t n, const Steps& steps);
    void (*to_i8)(const float* x, int8_t* y, int64_t n, const Steps& steps);
    // Halves go to the even step.
    void (*to_even_u8)(const float* x, uint8_t* y, int64_t n, const Steps& steps);
    void (*to_even_i8)(const float* x, int8_t* y, int64_t n, const Steps& steps);
    void (*from_u8)(const uint8_t* x, float* y, int64_t n, const Steps& steps);
    void (*from_i8)(const int8_t* x, float* y, int64_t n, const Steps& steps);
    void (*from_i32)(const int32_t* x, float* y, int64_t n, const Steps& steps);
    // The integer part modulo 256; for NaN and values out of the range of int32 it is that of -2^31.
    void (*to_low_byte)(const float* x, uint8_t* y, int64_t n);
    void (*add)(const uint8_t* a, const uint8_t* b, uint8_t* y, int64_t n, const StepSum& sum);
    // y = table[x], of 256 elements.
    void (*map)(const uint8_t* x, uint8_t* y, int64_t n, const uint8_t* table);
    // To the nearest step and back; NaN stays NaN.
    void (*fake)(const float* x, float* y, int64_t n, const Steps& steps, FakeSteps how);
};
const QuantiseRows& quantise_rows();

}  // namespace mge::cpu
