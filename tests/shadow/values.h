// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "libmge/device/device.h"
#include "libmge/tensor/tensor.h"

namespace mge::test {

// A vector of float32 on a device, and the float32 values of a tensor anywhere.
inline Tensor on(DeviceId device, const std::vector<float>& values) {
    return tensor_from_host({DType::f32, {int64_t(values.size())}, {}}, values.data(), device);
}
inline std::vector<float> floats_of(const Tensor& tensor) {
    Tensor here = to_host(tensor);
    return {here.data<float>(), here.data<float>() + here.spec().numel()};
}

}  // namespace mge::test
