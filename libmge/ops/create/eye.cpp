// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/create/eye.h"

#include "libmge/base/number_text.h"

namespace mge::ops {

TensorSpecs Eye::infer(const Params& p, Specs) {
    if (p.n < 0 || p.m < -1)
        throw_value_error(name, counted(p.n, "row"), " and ", counted(p.m, "column"),
                          ": counts must not be negative");
    if (p.dtype == DType::none) throw_type_error(name, "needs a dtype");
    return {{p.dtype, {p.n, p.m < 0 ? p.n : p.m}, {}}};
}

}  // namespace mge::ops
