// SPDX-License-Identifier: Apache-2.0
#pragma once
// Common part of the operators of classical machine learning (domain ai.onnx.ml).

#include "libmge/model/import/onnx/operators.h"
#include "libmge/model/import/onnx/operators/learned/texts.h"

namespace mge::onnx {

// The newest version of the domain, which has its own versions.
inline constexpr int newest_learning = 5;

// Rows of f32 numbers, whatever the file has.
Tensor table_of(const Tensor& x);
FloatList needed_numbers(const Site& site, std::string_view name);
// The numbers of a list, or of the tensor `name`_as_tensor; of a tensor attribute. Empty if absent.
FloatList numbers_or_tensor(const Site& site, const std::string& name);
FloatList tensor_numbers(const Site& site, const std::string& name);
// (rows, columns), or (columns) where `rows` is 0, of f32 or f64.
Tensor float_table(const FloatList& numbers, int64_t rows, DType dtype = DType::f32);
Tensor with_base(const Tensor& scores, const FloatList& base);
Tensor transformed(const Tensor& scores, std::string_view how);
Tensor joined_columns(const Tensors& parts);

// Labels are numbers, or texts.
struct Classes {
    int64_t count = 0;
    IntList labels;
    Texts* texts = nullptr;  // that the labels are numbers of
    Tensor at(const Tensor& places) const;
    Tensor best(const Tensor& scores) const;
};
Classes classes_of(const Site& site);

}  // namespace mge::onnx
