// SPDX-License-Identifier: Apache-2.0
#pragma once
// Values may lie in other layouts than the plain one. For many operators a layout is only another shape: an
// elementwise sum of two nChw16c tensors (N, C, H, W) is the plain sum of two tensors (N, C/16, H, W, 16).
// Such an operator is rewritten into that physical form, so its kernels need to know plain row-major tensors
// only. Elementwise operators have one by themselves; others say theirs (`physical_form` in op.h).

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "libmge/base/api.h"
#include "libmge/tensor/spec.h"

namespace mge {

struct OpInfo;

// The same computation on plain tensors.
struct PhysicalForm {
    std::shared_ptr<const void> params;
    TensorSpecs inputs, outputs;
};

// Nullopt when all inputs are plain, the operator depends on more than the shape, or a layout pads.
MGE_API std::optional<PhysicalForm> physical_form(const OpInfo& op, const std::shared_ptr<const void>& params,
                                                  const TensorSpecs& inputs, const TensorSpecs& outputs);

// One digit of a layout for a given shape.
struct LayoutDigit {
    int axis;
    int64_t extent;
};
using LayoutDigits = std::vector<LayoutDigit>;

// The digits of a shape in memory order; nullopt when an extent is no multiple of its blocks. Axes of extent
// 1 stay 1 whatever the block: that is how they are broadcast.
MGE_API std::optional<LayoutDigits> digits_of(const Shape& shape, const Layout& layout);
MGE_API Shape shape_of_digits(const LayoutDigits& digits);
// A plain tensor with these digits lies in memory just as one in the layout does.
MGE_API bool is_also_plain(const LayoutDigits& digits);

// Of an operator that joins or splits along an axis, in whole blocks of the layout: the axis of its physical
// form. Nullopt when an operand does not lie in the layout, or its extent is not of whole blocks.
struct FormAlongAxis {
    int axis;
    TensorSpecs inputs, outputs;
};
MGE_API std::optional<FormAlongAxis> form_along_axis(std::string_view name, int axis, const Layout& layout,
                                                     std::span<const TensorSpec> inputs,
                                                     std::span<const TensorSpec> outputs);

}  // namespace mge
