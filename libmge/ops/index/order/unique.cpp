// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/index/order/unique.h"

namespace mge::ops {

TensorSpecs Unique::infer(const Params&, std::span<const TensorSpec> in) {
    if (in[0].shape.rank() < 1) throw_user(name, "x needs a first axis", ErrorClass::value);
    TensorSpec place{DType::i64, Shape::unknown(), {}};
    return {{in[0].dtype, Shape::unknown(), {}}, place, place, place};
}

}  // namespace mge::ops
