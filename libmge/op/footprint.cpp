// SPDX-License-Identifier: Apache-2.0
#include "libmge/op/footprint.h"

#include <algorithm>

#include "libmge/op/op.h"

namespace mge {
namespace {

// The default rule: a view does nothing. An elementwise operator does one operation less per element than it
// has inputs, at least one. All others move elements.
double default_operations(const OpInfo& op, Specs inputs, Specs outputs) {
    if (op.traits.view) return 0;
    double per_element = op.traits.elementwise ? double(std::max<size_t>(inputs.size(), 2) - 1) : 1;
    return element_count(outputs) * per_element;
}

double bytes_of(const TensorSpec& spec) {
    return spec.layout.is_plain() ? element_count(spec) * double(size_of(spec.dtype)) : double(spec.bytes());
}

double moved_bytes(const OpInfo& op, Specs inputs, Specs outputs) {
    if (op.traits.view) return 0;
    double written = 0, read = 0;
    for (auto& spec : outputs) written += bytes_of(spec);
    for (size_t i = 0; i < inputs.size() && !op.traits.reads_only_specs; ++i) {
        if (!is_given(inputs, i) || input_info(op, i).is_example) continue;
        double all = bytes_of(inputs[i]);
        read += i == 0 && op.traits.reads_selection ? std::min(all, written) : all;
    }
    return read + written;
}

bool all_known(Specs specs) {
    return std::ranges::all_of(specs, [](auto& s) { return s.is_absent() || s.shape.is_known(); });
}

}  // namespace

Footprint footprint(const OpInfo& op, const void* params, Specs inputs, Specs outputs) {
    if (!all_known(inputs) || !all_known(outputs) || outputs.empty()) return {};
    if (op.footprint) return op.footprint(params, inputs, outputs);
    return {op.operations ? op.operations(params, inputs, outputs) : default_operations(op, inputs, outputs),
            moved_bytes(op, inputs, outputs)};
}

}  // namespace mge
