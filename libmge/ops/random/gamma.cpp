// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/random/gamma.h"

#include "libmge/ops/random/random_state.h"

namespace mge::ops {

namespace {

TensorSpecs one_for_each_pair(std::string_view who, Specs in) {
    check_random_state(who, in[0]);
    for (auto& parameter : in.subspan(1)) check_distribution_parameter(who, parameter);
    if (!(in[1].shape == in[2].shape))
        throw_value_error(who, "the parameters must have the same shape, got ", in[1], " and ", in[2]);
    return {in[1]};
}

}  // namespace

TensorSpecs Gamma::infer(const Params&, Specs in) { return one_for_each_pair(name, in); }
TensorSpecs Beta::infer(const Params&, Specs in) { return one_for_each_pair(name, in); }

}  // namespace mge::ops
