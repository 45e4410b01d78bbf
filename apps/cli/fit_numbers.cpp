// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/fit_numbers.h"

#include <random>

#include "libmge/device/device.h"
#include "libmge/inspect/elements.h"

namespace mge::cli {

void throw_unfit(const char* option, double value, DType dtype) {
    throw_user(option, text("the number ", value, " does not fit the input, which is ", dtype),
               ErrorClass::value);
}

Tensor fit_dtype(const Tensor& tensor, DType dtype, const char* option) {
    if (tensor.dtype() == dtype) return tensor;
    Tensor result = empty_tensor({dtype, tensor.shape(), {}}, host_device);
    dispatch_dtype(dtype, AllTypes{}, [&](auto type) {
        using T = typename decltype(type)::type;
        auto* elements = result.data<T>();
        for_each_element(tensor,
                         [&](int64_t i, double value) { elements[i] = fit_number<T>(value, option); });
    });
    return result;
}

Tensor random_tensor(const TensorSpec& spec, double low, double high, uint64_t seed, const char* option) {
    Tensor result = empty_tensor(spec, host_device);
    std::mt19937_64 generator(seed);
    dispatch_dtype(spec.dtype, AllTypes{}, [&](auto type) {
        using T = typename decltype(type)::type;
        for (int64_t i = 0, n = spec.numel(); i < n; ++i) {
            double unit = double(generator() >> 11) * 0x1p-53;
            result.data<T>()[i] = fit_number<T>(float(low + unit * (high - low)), option);
        }
    });
    return result;
}

}  // namespace mge::cli
