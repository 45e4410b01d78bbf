// SPDX-License-Identifier: Apache-2.0
#pragma once
// Layouts of Lite and specs of the engine.

#include <string>

#include "libmge/tensor/spec.h"
#include "lite/tensor.h"

namespace lite {

// "float32"; an Error for a number that is not a LiteDataType.
std::string name_of(LiteDataType type);
// Error for a number that is not a LiteDataType.
mge::DType dtype_of(LiteDataType type);
// Error for element types that Lite does not have.
LiteDataType data_type_of(mge::DType dtype);

mge::TensorSpec spec_of(const Layout& layout);
// Without dimensions when they are unknown; a scalar has one dimension of 1.
MGE_API Layout layout_of(const mge::TensorSpec& spec);

// "float32 {1, 3, 224, 224}", for messages.
std::string text_of(const Layout& layout);

}  // namespace lite
