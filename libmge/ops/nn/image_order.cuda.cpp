// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/image_order.cuda.h"

namespace mge::ops {

std::optional<ImageOrder> image_order(const Problem& p, const ImageLayouts& images, uint32_t examples) {
    static const Layout channels_last = Layout::named("nhwc");
    std::optional<ImageOrder> found;
    // False if its order is unsupported, or differs from the previous ones.
    auto takes = [&](const TensorSpec& spec, bool is_image) {
        if (spec.is_absent()) return true;
        if (!is_image) return spec.layout.is_plain();
        bool is_last = spec.layout == channels_last;
        if (!is_last && !spec.layout.is_plain()) return false;
        auto order = is_last ? ImageOrder::channels_last : ImageOrder::plain;
        if (!found) found = order;
        return *found == order;
    };
    for (size_t i = 0; i < p.inputs.size(); ++i)
        if (!has_operand(examples, i) && !takes(p.inputs[i], has_operand(images.inputs, i)))
            return std::nullopt;
    for (size_t i = 0; i < p.outputs.size(); ++i)
        if (!takes(p.outputs[i], has_operand(images.outputs, i))) return std::nullopt;
    return found;
}

}  // namespace mge::ops
