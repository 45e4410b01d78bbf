// SPDX-License-Identifier: Apache-2.0
#pragma once
// Quantised values. One is an integer, a step, that stands for the real number (step - zero point) * scale.
// Tensors hold steps as plain u8, i8 or i32; scales (f32) and zero points (i32) are inputs of the operators:
// one number each, or several in a shape that broadcasts. All arithmetic between real numbers and steps is
// done in f32, in MegEngine's order, so that results have its bits.

#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "libmge/ops/quantize/step_rounding.h"
#include "libmge/tensor/spec.h"

namespace mge::steps {

using std::rint;
using std::round;
#include "libmge/kernel/scalar/steps.inc"

}  // namespace mge::steps

namespace mge::ops {

using steps::StepRange, steps::as_of_step, steps::to_real;

inline int to_step(StepRounding rounding, float x, float scale, float zero, StepRange range) {
    return steps::to_step(rounding == StepRounding::half_even, x, scale, zero, range);
}

inline bool is_byte(DType dtype) { return dtype == DType::u8 || dtype == DType::i8; }
inline bool holds_steps(DType dtype) { return is_byte(dtype) || dtype == DType::i32; }
MGE_API StepRange full_range(DType dtype);
// UserError of `who` when the bounds leave the range of the dtype, or there are no steps of it. Equal bounds
// of 0 stand for the whole range.
MGE_API StepRange step_range(std::string_view who, DType dtype, int64_t lower, int64_t upper);

// A tensor as rows of `inner` elements that share a scale.
class Channels {
public:
    Channels(const Shape& x, const Shape& scale);
    int64_t rows() const { return rows_; }
    int64_t inner() const { return inner_; }
    // Which of the scales is a row's.
    int64_t scale_of(int64_t row) const {
        int64_t index = 0;
        for (auto [extent, stride] : axes_) {
            index += row % extent * stride;
            row /= extent;
        }
        return index;
    }

private:
    struct Axis {
        int64_t extent, stride;
    };
    int64_t rows_ = 1, inner_ = 1;
    std::vector<Axis> axes_;  // that rows run over, the last first
};

// UserError of `who` unless the scale (f32) broadcasts to x, and the zero point (of the given dtype; absent:
// 0) has its shape, or is one number as it is.
void check_scale(std::string_view who, const Shape& x, const TensorSpec& scale, const TensorSpec& zero_point,
                 DType zero_dtype = DType::i32);

}  // namespace mge::ops
