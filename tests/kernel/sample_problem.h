// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/algorithm.h"

namespace mge {

// A problem of one input and one output of n floats.
struct SampleProblem {
    explicit SampleProblem(int64_t n, std::span<const FieldInfo> fields = {}) : spec{{DType::f32, {n}, {}}} {
        problem = Problem{"sample", nullptr, fields, spec, spec};
    }
    TensorSpecs spec;
    Problem problem;
};

}  // namespace mge
