// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/random/distribution.h"

#include "libmge/ops/random/random_state.h"

namespace mge::ops {

TensorSpecs Uniform::infer(const Params& p, Specs in) {
    check_random_state(name, in[0]);
    if (!(p.low < p.high))
        throw_user(name, text("low ", p.low, " is not below high ", p.high), ErrorClass::assertion);
    return {{DType::f32, Shape(p.shape), {}}};
}

TensorSpecs Normal::infer(const Params& p, Specs in) {
    check_random_state(name, in[0]);
    if (!(p.std >= 0)) throw_user(name, text("std ", p.std, " is negative"), ErrorClass::assertion);
    return {{DType::f32, Shape(p.shape), {}}};
}

Uniform::Params Uniform::resolve(const Params& p, std::span<const Tensor> values) {
    if (values.empty() || !values[0]) return p;
    return {host_values(values[0]), p.low, p.high};
}
Normal::Params Normal::resolve(const Params& p, std::span<const Tensor> values) {
    if (values.empty() || !values[0]) return p;
    return {host_values(values[0]), p.mean, p.std};
}

}  // namespace mge::ops
