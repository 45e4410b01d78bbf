// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numbers that are not in files, but in MegEngine's formulas.

#include "libmge/device/device.h"

namespace mge::megengine {

inline Tensor number(double value) { return scalar_tensor(value, DType::f32, host_device); }
// In the dtype of another tensor.
inline Tensor number(const Tensor& like, double value) {
    return scalar_tensor(value, like.dtype(), host_device);
}

}  // namespace mge::megengine
