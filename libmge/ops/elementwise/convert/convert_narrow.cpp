// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/elementwise/convert/convert_narrow.h"

namespace mge::ops {

TensorSpecs ConvertNarrow::infer(const Params& p, Specs in) {
    if (!is_narrow(p.dtype))
        throw_type_error(name, "dtype is ", p.dtype, ", which is not narrow; use convert");
    if (!is_float(in[0].dtype)) throw_type_error(name, "x must be floating, got ", in[0].dtype);
    return {{p.dtype, in[0].shape, {}}};
}

}  // namespace mge::ops
