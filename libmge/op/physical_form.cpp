// SPDX-License-Identifier: Apache-2.0
#include "libmge/op/physical_form.h"

#include <algorithm>

#include "libmge/op/elementwise_form.h"
#include "libmge/op/op.h"

namespace mge {
namespace {

Shape aligned_right(const Shape& shape, int rank) {
    Shape result;
    for (int i = 0; i < rank - shape.rank(); ++i) result.push_back(1);
    for (int64_t extent : shape) result.push_back(extent);
    return result;
}

// Blocked values have whole blocks, even of a single channel. Only plain operands are broadcast.
bool is_padded(const Shape& shape, const Layout& layout) {
    for (int i = 0; i < layout.size(); ++i)
        if (layout[i].block > 1 && shape[layout[i].axis] == 1) return true;
    return false;
}

std::optional<TensorSpec> physical_spec(const TensorSpec& spec, const Layout& layout, int rank) {
    if (spec.is_absent()) return spec;
    if (spec.shape.rank() > rank || (!spec.layout.is_plain() && !(spec.layout == layout)))
        return std::nullopt;
    Shape shape = aligned_right(spec.shape, rank);
    auto digits = digits_of(shape, layout);
    if (!digits || int(digits->size()) > max_rank) return std::nullopt;
    if (!spec.layout.is_plain() && is_padded(shape, layout)) return std::nullopt;
    if (spec.layout.is_plain() && !is_also_plain(*digits)) return std::nullopt;
    return TensorSpec{spec.dtype, shape_of_digits(*digits), {}};
}

std::optional<TensorSpecs> physical_specs(Specs specs, const Layout& layout, int rank) {
    TensorSpecs result;
    for (auto& spec : specs) {
        auto physical = physical_spec(spec, layout, rank);
        if (!physical) return std::nullopt;
        result.push_back(*physical);
    }
    return result;
}

// Returns the position of the digit that counts whole blocks of an axis.
int outer_digit(const Layout& layout, int axis) {
    for (int i = 0; i < layout.size(); ++i)
        if (layout[i].axis == axis && !layout[i].block) return i;
    return -1;
}

bool all_in(const Layout& layout, Specs specs) {
    return std::ranges::all_of(specs, [&](auto& spec) { return spec.layout == layout; });
}

}  // namespace

std::optional<LayoutDigits> digits_of(const Shape& shape, const Layout& layout) {
    LayoutDigits digits;
    for (int i = 0; i < layout.size(); ++i) {
        auto [axis, block] = layout[i];
        if (axis >= shape.rank()) return std::nullopt;
        int64_t extent = shape[axis], blocks = 1;
        for (int k = 0; k < layout.size(); ++k)
            if (layout[k].axis == axis && layout[k].block) blocks *= layout[k].block;
        if (extent == 1) {
            digits.push_back({axis, 1});
            continue;
        }
        if (extent % blocks != 0) return std::nullopt;
        digits.push_back({axis, block ? int64_t(block) : extent / blocks});
    }
    return digits;
}

Shape shape_of_digits(const LayoutDigits& digits) {
    Shape shape;
    for (auto& digit : digits) shape.push_back(digit.extent);
    return shape;
}

bool is_also_plain(const LayoutDigits& digits) {
    int last = -1;
    for (auto& digit : digits) {
        if (digit.extent == 1) continue;
        if (digit.axis < last) return false;
        last = digit.axis;
    }
    return true;
}

std::optional<PhysicalForm> elementwise_form(const std::shared_ptr<const void>& params, const Layout& layout,
                                             Specs inputs, Specs outputs) {
    if (!all_in(layout, outputs)) return std::nullopt;
    int rank = outputs[0].shape.rank();
    auto in = physical_specs(inputs, layout, rank), out = physical_specs(outputs, layout, rank);
    return in && out ? std::optional(PhysicalForm{params, *in, *out}) : std::nullopt;
}

std::optional<FormAlongAxis> form_along_axis(std::string_view name, int axis, const Layout& layout,
                                             Specs inputs, Specs outputs) {
    int rank = inputs[0].shape.rank();
    for (auto specs : {inputs, outputs}) {
        if (!all_in(layout, specs)) return std::nullopt;
        for (auto& spec : specs)
            if (spec.shape.rank() != rank) return std::nullopt;
    }
    auto in = physical_specs(inputs, layout, rank), out = physical_specs(outputs, layout, rank);
    if (!in || !out) return std::nullopt;
    axis = normalize_axis(name, axis, rank);
    for (auto* specs : {&*in, &*out})
        for (auto& spec : *specs)
            for (int d = 0; d < layout.size(); ++d)
                // An extent of 1 does not show the block size.
                if (layout[d].axis == axis && layout[d].block && spec.shape[d] != layout[d].block)
                    return std::nullopt;
    return FormAlongAxis{outer_digit(layout, axis), std::move(*in), std::move(*out)};
}

std::optional<PhysicalForm> physical_form(const OpInfo& op, const std::shared_ptr<const void>& params,
                                          const TensorSpecs& inputs, const TensorSpecs& outputs) {
    auto it = std::ranges::find_if(inputs, [](auto& spec) { return !spec.layout.is_plain(); });
    if (it == inputs.end()) return std::nullopt;
    if (op.physical_form) return op.physical_form(params.get(), it->layout, inputs, outputs);
    return op.traits.elementwise ? elementwise_form(params, it->layout, inputs, outputs) : std::nullopt;
}

}  // namespace mge
