// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/random/poisson.h"

#include "libmge/ops/random/random_state.h"

namespace mge::ops {

TensorSpecs Poisson::infer(const Params&, Specs in) {
    check_random_state(name, in[0]);
    check_distribution_parameter(name, in[1]);
    return {in[1]};
}

}  // namespace mge::ops
