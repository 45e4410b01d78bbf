// SPDX-License-Identifier: Apache-2.0
#pragma once
// The elements of a tensor as numbers, whatever its dtype, and figures of all of them.

#include <cstdint>
#include <string>

#include "libmge/compile/plain.h"
#include "libmge/tensor/dtype_dispatch.h"
#include "libmge/tensor/narrow.h"
#include "libmge/tensor/tensor.h"

namespace mge {

// Calls fn(flat index, value as double) for each element of a plain tensor.
template <class Fn>
void for_each_element(const Tensor& tensor, Fn&& fn) {
    if (is_narrow(tensor.dtype())) {
        auto* codes = static_cast<const uint8_t*>(tensor.data());
        for (int64_t i = 0, n = tensor.spec().numel(); i < n; ++i)
            fn(i, double(narrow_value(tensor.dtype(), codes[i])));
        return;
    }
    dispatch_dtype(tensor.dtype(), AllTypes{}, [&]<class T>(std::type_identity<T>) {
        auto* data = static_cast<const T*>(tensor.data());
        for (int64_t i = 0, n = tensor.spec().numel(); i < n; ++i) fn(i, double(ComputedAs<T>(data[i])));
    });
}

// One element of a plain tensor.
MGE_API double element_at(const Tensor& tensor, int64_t index);
// A number in readable form: nine digits, which distinguish any two float32 numbers.
MGE_API std::string element_text(double value);
// "[1, 2, 0]": the place of flat element `index`.
MGE_API std::string index_text(const Shape& shape, int64_t index);

// min, max, mean, rms (root of the mean square) and deviation (n − 1 in the divisor, NaN for fewer than two)
// are those of the finite elements.
struct TensorFigures {
    int64_t count = 0, not_a_number = 0, infinite = 0;
    double min = 0, max = 0, mean = 0, rms = 0, deviation = 0;
};
MGE_API TensorFigures figures_of(const Tensor& tensor);

}  // namespace mge
