// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/random/multinomial.h"

#include "libmge/op/int32_places.h"
#include "libmge/ops/random/random_state.h"

namespace mge::ops {

TensorSpecs Multinomial::infer(const Params& p, Specs in) {
    check_random_state(name, in[0]);
    auto& weights = in[1];
    int rank = weights.shape.rank();
    if (!is_float(weights.dtype) || (rank != 1 && rank != 2))
        throw_user(name, text("the weights must be floats of rank 1 or 2, got ", weights),
                   ErrorClass::assertion);
    int64_t categories = weights.shape[rank - 1];
    if (p.num_samples <= 0)
        throw_user(name, text("num_samples is ", p.num_samples, ", expected more than 0"),
                   ErrorClass::assertion);
    if (categories == 0) throw_user(name, "there are no categories", ErrorClass::assertion);
    if (!p.replacement && p.num_samples > categories)
        throw_user(
            name,
            text("num_samples is ", p.num_samples, "; without replacement it may be at most ", categories),
            ErrorClass::assertion);
    require_int32_places(name, categories);
    Shape shape = weights.shape;
    shape[rank - 1] = p.num_samples;
    return {{DType::i32, shape, {}}};
}

}  // namespace mge::ops
