// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstring>
#include <initializer_list>
#include <numeric>
#include <vector>

#include "lite/tensor.h"

namespace lite::test {

inline Layout layout(std::initializer_list<size_t> shape, LiteDataType type = LITE_FLOAT) {
    Layout result{{}, shape.size(), type};
    std::copy(shape.begin(), shape.end(), result.shapes);
    return result;
}

// The elements in order, from any device.
template <class T>
std::vector<T> values_of(const Tensor& tensor) {
    Tensor here;
    here.copy_from(tensor);
    std::vector<T> values(here.get_tensor_total_size_in_byte() / sizeof(T));
    std::memcpy(values.data(), here.get_memory_ptr(), here.get_tensor_total_size_in_byte());
    return values;
}

template <class T>
void write(const Tensor& tensor, const std::vector<T>& values) {
    std::memcpy(tensor.get_memory_ptr(), values.data(), values.size() * sizeof(T));
}

// 0, 1, 2, … on the host.
template <class T>
Tensor counting(const Layout& layout) {
    Tensor tensor(LITE_CPU, layout);
    std::vector<T> values(tensor.get_tensor_total_size_in_byte() / sizeof(T));
    std::iota(values.begin(), values.end(), T(0));
    write(tensor, values);
    return tensor;
}

// The `what()` of the lite::Error that `work` throws; "" without an exception.
template <class Work>
std::string error_of(Work&& work) {
    try {
        work();
    } catch (const Error& e) {
        return e.what();
    }
    return {};
}

}  // namespace lite::test
