// SPDX-License-Identifier: Apache-2.0
#include "libmge/inspect/elements.h"

#include <cmath>
#include <limits>

#include "libmge/base/number_text.h"

namespace mge {

double element_at(const Tensor& tensor, int64_t index) {
    if (is_narrow(tensor.dtype()))
        return narrow_value(tensor.dtype(), static_cast<const uint8_t*>(tensor.data())[index]);
    double result = 0;
    dispatch_dtype(tensor.dtype(), AllTypes{}, [&]<class T>(std::type_identity<T>) {
        T value = static_cast<const T*>(tensor.data())[index];
        result = double(ComputedAs<T>(value));
    });
    return result;
}

std::string element_text(double value) { return decimal_text(value, 9); }

std::string index_text(const Shape& shape, int64_t index) {
    std::string result;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
        int64_t extent = std::max<int64_t>(shape[axis], 1);
        result = std::to_string(index % extent) + (result.empty() ? "" : ", ") + result;
        index /= extent;
    }
    return "[" + result + "]";
}

TensorFigures figures_of(const Tensor& tensor) {
    TensorFigures f;
    f.min = std::numeric_limits<double>::infinity();
    f.max = -f.min;
    // Shifted by the first finite element, so that the variance of large equal numbers is not lost.
    double shift = 0, sum = 0, squares = 0, plain_squares = 0;
    int64_t finite = 0;
    for_each_element(tensor, [&](int64_t, double value) {
        ++f.count;
        if (std::isnan(value)) {
            ++f.not_a_number;
            return;
        }
        if (std::isinf(value)) {
            ++f.infinite;
            return;
        }
        if (finite++ == 0) shift = value;
        f.min = std::min(f.min, value);
        f.max = std::max(f.max, value);
        sum += value - shift;
        squares += (value - shift) * (value - shift);
        plain_squares += value * value;
    });
    if (!finite) {
        f.min = f.max = f.mean = f.rms = f.deviation = std::numeric_limits<double>::quiet_NaN();
        return f;
    }
    auto n = double(finite);
    f.mean = shift + sum / n;
    f.rms = std::sqrt(plain_squares / n);
    f.deviation = finite < 2 ? std::numeric_limits<double>::quiet_NaN()
                             : std::sqrt(std::max(0.0, (squares - sum * sum / n) / (n - 1)));
    return f;
}

}  // namespace mge
