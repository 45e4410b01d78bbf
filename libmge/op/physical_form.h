// SPDX-License-Identifier: Apache-2.0
#pragma once
// Values may have layouts other than the plain one. For many operators a layout is only another shape: an
// elementwise sum of two nChw16c tensors (N, C, H, W) is the plain sum of two tensors (N, C/16, H, W, 16).
// The operator is rewritten into that physical form, so that its kernels handle only plain row-major tensors.
// Elementwise operators have one by default; others define it (`physical_form` in op.h).

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "libmge/base/api.h"
#include "libmge/tensor/spec.h"

namespace mge {

struct OpInfo;

// The equivalent computation on plain tensors.
struct PhysicalForm {
    std::shared_ptr<const void> params;
    TensorSpecs inputs, outputs;
};

// Returns nullopt if all inputs are plain, if the operator depends on more than the shape, or if a layout
// pads.
MGE_API std::optional<PhysicalForm> physical_form(const OpInfo& op, const std::shared_ptr<const void>& params,
                                                  const TensorSpecs& inputs, const TensorSpecs& outputs);

// One factor of a layout for a given shape.
struct LayoutDigit {
    int axis;
    int64_t extent;
};
using LayoutDigits = std::vector<LayoutDigit>;

// Returns the digits of a shape in memory order; nullopt if an extent is not a multiple of its blocks. Axes
// of extent 1 stay 1 for any block, so that they broadcast.
MGE_API std::optional<LayoutDigits> digits_of(const Shape& shape, const Layout& layout);
MGE_API Shape shape_of_digits(const LayoutDigits& digits);
// True if a plain tensor with these digits has the same memory order.
MGE_API bool is_also_plain(const LayoutDigits& digits);

// The physical form of an operator that joins or splits whole blocks along an axis: the axis and operands.
// Nullopt if an operand has another layout or its extent is not a multiple of the block.
struct FormAlongAxis {
    int axis;
    TensorSpecs inputs, outputs;
};
MGE_API std::optional<FormAlongAxis> form_along_axis(std::string_view name, int axis, const Layout& layout,
                                                     Specs inputs, Specs outputs);

}  // namespace mge
