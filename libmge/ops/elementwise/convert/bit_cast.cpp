// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/elementwise/convert/bit_cast.h"

namespace mge::ops {

TensorSpecs BitCast::infer(const Params& p, Specs in) {
    DType from = in[0].dtype;
    if (p.dtype == DType::boolean)
        throw_type_error(name, "the result cannot be bool; compare with 0 instead");
    if (size_of(from) != size_of(p.dtype))
        throw_type_error(name, from, " and ", p.dtype, " have different sizes");
    return {{p.dtype, in[0].shape, {}}};
}

}  // namespace mge::ops
