// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/create/eye.h"

#include "libmge/base/number_text.h"

namespace mge::ops {

TensorSpecs Eye::infer(const Params& p, Specs) {
    if (p.n < 0 || p.m < -1)
        throw_user(
            name, text(counted(p.n, "row"), " and ", counted(p.m, "column"), ": counts must not be negative"),
            ErrorClass::value);
    if (p.dtype == DType::none) throw_user(name, "needs a dtype", ErrorClass::type);
    return {{p.dtype, {p.n, p.m < 0 ? p.n : p.m}, {}}};
}

}  // namespace mge::ops
