// SPDX-License-Identifier: Apache-2.0
#pragma once
// A transposition inside a FusedProgram costs no step: whoever reads its result reads its operand along other
// axes, and so on up to the inputs. A *view* says along which: for each axis of the program's result the axis
// of the register, or none where the register repeats. A register that is read through several views is
// computed for each of them.

#include <vector>

#include "libmge/kernel/algorithm.h"
#include "libmge/kernel/strided_copy.h"
#include "libmge/ops/elementwise/fused/fused.h"

namespace mge::ops {

inline constexpr int no_axis = -1;
using AxisView = std::vector<int>;

// One of the program's registers through one view; never the result of a transposition.
struct ViewedRegister {
    size_t origin = 0;  // number in the program
    AxisView view;
    std::vector<int> operands;  // numbers of viewed registers
};

// A register with more than a few views is a sign of a malicious program.
MGE_API Support supports_views(const FusedProgram& program, const TensorSpecs& specs);
// The registers needed for the result, which is the last one, in an order of computation. `specs`: those of
// the program's registers.
MGE_API std::vector<ViewedRegister> viewed_registers(const FusedProgram& program, const TensorSpecs& specs);

// The distance, in elements, between what neighbours along each axis of the result read in a row-major
// register.
MGE_API Strides strides_through(const AxisView& view, const Shape& shape);

}  // namespace mge::ops
