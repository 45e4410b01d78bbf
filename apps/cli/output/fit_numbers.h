// SPDX-License-Identifier: Apache-2.0
#pragma once
// Converts numbers of users to elements of an input's dtype. Values never wrap around: if a value does not
// fit the dtype, it is a UserError of the option.

#include <cmath>
#include <functional>
#include <limits>
#include <type_traits>

#include "libmge/base/error.h"
#include "libmge/tensor/dtype_dispatch.h"
#include "libmge/tensor/tensor.h"

namespace mge::cli {

[[noreturn]] void throw_unfit(const char* option, double value, DType dtype);

// Converts like NumPy: integers truncate towards zero, nonzero values are true.
template <class T>
T fit_number(double value, const char* option) {
    if constexpr (std::is_same_v<T, bool>) {
        return value != 0;
    } else if constexpr (std::is_integral_v<T>) {
        double whole = std::trunc(value);
        using Limits = std::numeric_limits<T>;
        // The largest 64-bit integer is not a double, but the next power of two is.
        if (!(whole >= double(Limits::min())) || !(whole < std::exp2(Limits::digits)))
            throw_unfit(option, value, DTypeOf<T>);
        return T(whole);
    } else {
        auto real = T(ComputedAs<T>(value));
        if (std::isfinite(value) && !std::isfinite(ComputedAs<T>(real)))
            throw_unfit(option, value, DTypeOf<T>);
        return real;
    }
}

// Sets every element to the result of `number_at`.
void fit_numbers(Tensor& tensor, const std::function<double(int64_t)>& number_at, const char* option);

Tensor fit_dtype(const Tensor& tensor, DType dtype, const char* option);

// Returns values uniform in [low, high), equal for equal seeds.
Tensor random_tensor(const TensorSpec& spec, double low, double high, uint64_t seed, const char* option);

}  // namespace mge::cli
