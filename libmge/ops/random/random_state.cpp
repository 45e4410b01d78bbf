// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/random/random_state.h"

#include "libmge/base/error.h"

namespace mge::ops {

void check_random_state(std::string_view who, const TensorSpec& state) {
    if (state.dtype != DType::i32 || !(state.shape == Shape{2}))
        throw_type_error(who, "the random state must be int32 of shape (2,), got ", state);
}

void check_distribution_parameter(std::string_view who, const TensorSpec& parameter) {
    if (parameter.dtype != DType::f32)
        throw_type_error(who, "the parameters must be float32, got ", parameter);
}

}  // namespace mge::ops
