// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/random/random_state.h"

#include "libmge/base/error.h"

namespace mge::ops {

void check_random_state(std::string_view who, const TensorSpec& state) {
    if (state.dtype != DType::i32 || !(state.shape == Shape{2}))
        throw_type_error(who, "the random state must be int32 of shape (2,), got ", state);
}

TensorSpecs infer_drawing_for_each(std::string_view who, Specs in) {
    check_random_state(who, in[0]);
    for (auto& parameter : in.subspan(1))
        if (parameter.dtype != DType::f32)
            throw_type_error(who, "the parameters must be float32, got ", parameter);
    if (!(in[1].shape == in.back().shape))
        throw_value_error(who, "the parameters must have the same shape, got ", in[1], " and ", in.back());
    return {in[1]};
}

}  // namespace mge::ops
