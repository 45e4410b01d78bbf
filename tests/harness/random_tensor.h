// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <random>

#include "tests/harness/check_op.h"

namespace mge::test {

// Numbers between -1 and 1: others in each call, the same in each run.
inline Tensor random_tensor(const Shape& shape, DType dtype = DType::f32) {
    static std::mt19937 random(7);
    std::uniform_real_distribution<double> uniform(-1, 1);
    std::vector<double> values(size_t(shape.numel()));
    for (auto& v : values) v = uniform(random);
    return make_tensor(dtype, shape, values);
}

}  // namespace mge::test
