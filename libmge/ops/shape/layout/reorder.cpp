// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/layout/reorder.h"

namespace mge::ops {

TensorSpecs Reorder::infer(const Params& p, Specs in) {
    Layout layout = p.layout == "plain" ? Layout() : Layout::named(p.layout);
    if (!layout.is_plain() && in[0].shape.rank() != 4)
        throw_value_error(name, "layout ", p.layout, " is for tensors (N, C, H, W), got shape ", in[0].shape);
    return {{in[0].dtype, in[0].shape, layout}};
}

}  // namespace mge::ops
