// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/collective/reduction.h"

#include <algorithm>

#include "libmge/base/number_text.h"

namespace mge::ops {

namespace {

constexpr int64_t most_elements = int64_t(1) << 48;

// The output of begin_reduction orders the two operators and has no elements.
TensorSpec token_spec() { return {DType::f32, Shape{0}, {}}; }

void require_reduction(const BeginReduction::Params& p, Specs grads) {
    auto fail = [](const std::string& message) { throw_value_error(BeginReduction::name, message); };
    if (p.present.size() != grads.size())
        fail(text(counted(p.present.size(), "position"), ", but ", counted(grads.size(), "gradient")));
    if (p.rank < 0 || p.rank >= int64_t(p.ranks.size()))
        fail(text("rank must be a position among ", p.ranks.size(), " processes, got ", p.rank));
    // Files may have any numbers.
    int64_t left = most_elements;
    for (int64_t size : p.sizes) {
        if (size < 0 || size > left) fail(text("sizes cannot be ", to_text(p.sizes)));
        left -= size;
    }
    int64_t last = -1;
    for (size_t i = 0; i < grads.size(); ++i) {
        int64_t at = p.present[i];
        if (at <= last || at >= int64_t(p.sizes.size()))
            fail(text("positions must increase and be below ", p.sizes.size(), ", got ", to_text(p.present)));
        last = at;
        auto& shape = grads[i].shape;
        if (shape.is_known() && !shape.has_symbols() && shape.numel() != p.sizes[size_t(at)])
            fail(text("gradient ", i, " has shape ", shape, ", but its parameter has ",
                      counted(size_t(p.sizes[size_t(at)]), "element")));
    }
}

}  // namespace

TensorSpecs BeginReduction::infer(const Params& p, Specs grads) {
    require_reduction(p, grads);
    auto is_other = [&](auto& grad) { return !is_float(grad.dtype) || grad.dtype != grads[0].dtype; };
    if (std::ranges::any_of(grads, is_other) || !is_float(p.dtype))
        throw_type_error(name, "gradients must be floats of one dtype");
    return {token_spec()};
}

TensorSpecs EndReduction::infer(const Params& p, Specs in) {
    TensorSpecs sums;
    for (auto& like : in.subspan(1)) sums.push_back({p.dtype, like.shape, {}});
    return sums;
}

}  // namespace mge::ops
