// SPDX-License-Identifier: Apache-2.0
#include "libmge/op/view_offsets.h"

#include "libmge/op/physical_form.h"

namespace mge {
namespace {

std::optional<size_t> offset_of_first(const OpInfo& op, const void* params, const TensorSpec& input,
                                      Specs outputs) {
    if (input.layout.is_plain()) return view_offset(op, params, input);
    if (!op.part_of_input || !op.physical_form) return std::nullopt;
    auto form = op.physical_form(params, input.layout, {&input, 1}, outputs);
    return form ? view_offset(op, form->params.get(), form->inputs[0]) : std::nullopt;
}

}  // namespace

std::vector<size_t> view_offsets(const OpInfo& op, const void* params, const TensorSpec& input,
                                 Specs outputs) {
    if (op.traits.view) return {0};
    auto next = offset_of_first(op, params, input, outputs);
    std::vector<size_t> offsets;
    for (size_t i = 0; next && i < outputs.size(); ++i) {
        offsets.push_back(*next);
        *next += outputs[i].bytes();
    }
    return offsets;
}

Tensor view_of(const Tensor& tensor, const TensorSpec& spec, size_t offset) {
    MGE_CHECK(offset + spec.bytes() <= tensor.spec().bytes(), spec, " at byte ", offset, " of ",
              tensor.spec());
    auto& whole = *tensor.impl();
    return Tensor(spec, whole.storage, whole.offset + offset, whole.device);
}

}  // namespace mge
