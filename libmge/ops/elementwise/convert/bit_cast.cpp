// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/elementwise/convert/bit_cast.h"

namespace mge::ops {

TensorSpecs BitCast::infer(const Params& p, Specs in) {
    DType from = in[0].dtype;
    if (p.dtype == DType::boolean)
        throw_user(name, "the result cannot be bool; compare with 0 instead", ErrorClass::type);
    if (size_of(from) != size_of(p.dtype))
        throw_user(name, text(from, " and ", p.dtype, " have different sizes"), ErrorClass::type);
    return {{p.dtype, in[0].shape, {}}};
}

}  // namespace mge::ops
