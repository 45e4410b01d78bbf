// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tensors in the arguments and results of bound functions.

#include <nanobind/nanobind.h>

#include <span>

#include "libmge/tensor/tensor.h"
#include "python/src/errors.h"
#include "python/src/object_access.h"
#include "python/src/tensor/tensor_object.h"

namespace mge::python {

inline const Tensor& tensor_argument(nanobind::handle object, const char* who) {
    if (!is_tensor(object.ptr())) throw_type_error(who, "expected a Tensor, got ", class_name(object.ptr()));
    return value_of(object.ptr());
}

// None becomes a null Tensor.
inline Tensors tensor_list(nanobind::handle list, const char* who) {
    Tensors tensors;
    for (nanobind::handle object : list)
        tensors.push_back(object.is_none() ? Tensor() : tensor_argument(object, who));
    return tensors;
}

inline nanobind::object wrap_or_none(const Tensor& tensor) {
    return tensor ? nanobind::steal(wrap_tensor(tensor)) : nanobind::none();
}

inline nanobind::list wrap_list(const Tensors& tensors) {
    nanobind::list result;
    for (auto& tensor : tensors) result.append(wrap_or_none(tensor));
    return result;
}

}  // namespace mge::python
