// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parts of rules that several files share, by the file below ops/ that defines them.

#include "libmge/kernel/activation.h"
#include "libmge/model/export/onnx/operators.h"

namespace mge::to_onnx {

// elementwise/elementwise.onnx.cpp
Operands export_identity(Site&);
Operand clipped(Site&, const Operand& x, DType dtype, const Operand& lower, const Operand& upper);

// elementwise/activation.onnx.cpp
Operand activated(Site&, Activation, const Operand& x, DType dtype);

// reduce/reduce.onnx.cpp
Operand reduced(Site&, const std::string& type, const Operand& x, const IntList& axes, bool keepdims);

// linalg/matmul.onnx.cpp
// Adds input 3, if there is one, and applies the activation.
Operand with_epilogue(Site&, Operand y, Activation);

// nn/convolution/conv2d.onnx.cpp
// A weight of groups (G, OC/G, C/G, kh, kw) as ONNX has it: (OC, C/G, kh, kw). Other weights do not change.
Operand conv_weight(Site&, size_t input);

}  // namespace mge::to_onnx
