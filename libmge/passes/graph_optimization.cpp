// SPDX-License-Identifier: Apache-2.0
#include "libmge/passes/graph_optimization.h"

#include "libmge/base/error.h"

namespace mge {

GraphOptimization& GraphOptimization::enable(LayoutTransform layout) {
    if (layout_transform != LayoutTransform::unset && layout_transform != layout)
        throw_user("graph_opt.layout_transform",
                   text(layout_transform_names.at(size_t(layout)), " contradicts ",
                        layout_transform_names.at(size_t(layout_transform)), "; disable that first"),
                   ErrorClass::value);
    return set(&GraphOptimization::layout_transform, layout);
}

GraphOptimization& GraphOptimization::disable(LayoutTransform layout) {
    if (layout_transform == layout) layout_transform = LayoutTransform::unset;
    return *this;
}

}  // namespace mge
