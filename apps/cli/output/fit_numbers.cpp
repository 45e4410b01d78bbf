// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/output/fit_numbers.h"

#include <random>

#include "libmge/device/device.h"
#include "libmge/inspect/elements.h"
#include "libmge/tensor/narrow.h"

namespace mge::cli {

void throw_unfit(const char* option, double value, DType dtype) {
    throw_value_error(option, "the number ", value, " does not fit the input's dtype ", dtype);
}

void fit_numbers(Tensor& tensor, const std::function<double(int64_t)>& number_at, const char* option) {
    DType dtype = tensor.dtype();
    int64_t n = tensor.spec().numel();
    if (is_narrow(dtype)) {
        auto* codes = static_cast<uint8_t*>(tensor.data());
        for (int64_t i = 0; i < n; ++i) {
            double number = number_at(i);
            codes[i] = narrow_bits(dtype, number);
            // Floats saturate, but narrow integers would wrap around.
            bool has_to_fit = is_narrow_int(dtype);
            if (has_to_fit && double(narrow_value(dtype, codes[i])) != std::trunc(number))
                throw_unfit(option, number, dtype);
        }
        return;
    }
    dispatch_dtype(dtype, AllTypes{}, [&]<class T>(std::type_identity<T>) {
        for (int64_t i = 0; i < n; ++i) tensor.data<T>()[i] = fit_number<T>(number_at(i), option);
    });
}

Tensor fit_dtype(const Tensor& tensor, DType dtype, const char* option) {
    if (tensor.dtype() == dtype) return tensor;
    Tensor result = empty_tensor({dtype, tensor.shape(), {}}, host_device);
    // Doubles do not hold all of these integers. Those from 0 to 2^63 - 1 are the same bits in both dtypes.
    auto has_64_bits = [](DType one) { return one == DType::i64 || one == DType::u64; };
    if (has_64_bits(tensor.dtype()) && has_64_bits(dtype)) {
        for (int64_t i = 0; i < tensor.spec().numel(); ++i) {
            auto number = static_cast<const int64_t*>(tensor.data())[i];
            if (number < 0) throw_unfit(option, element_at(tensor, i), dtype);
            static_cast<int64_t*>(result.data())[i] = number;
        }
        return result;
    }
    fit_numbers(
        result, [&](int64_t i) { return element_at(tensor, i); }, option);
    return result;
}

Tensor random_tensor(const TensorSpec& spec, double low, double high, uint64_t seed, const char* option) {
    Tensor result = empty_tensor(spec, host_device);
    std::mt19937_64 generator(seed);
    auto next = [&](int64_t) {
        double unit = double(generator() >> 11) * 0x1p-53;
        return double(float(low + unit * (high - low)));
    };
    fit_numbers(result, next, option);
    return result;
}

}  // namespace mge::cli
