// SPDX-License-Identifier: Apache-2.0
// Values that a trace knows before they are computed: shapes, and small integers that follow from shapes.

#include <algorithm>

#include "libmge/device/default_device.h"
#include "libmge/eager/trace.h"
#include "libmge/graph/infer.h"

namespace mge {

Tensor Trace::known_value(const Tensor& tensor, int id) const {
    if (!tensor) return {};
    if (!tensor.is_symbolic()) return tensor;
    return present_[size_t(id)].known;
}

// Like known_value(), but does not wait for a device: external values there are unknown.
Tensor Trace::known_to_host(const Tensor& tensor, int id) const {
    if (!tensor || tensor.is_symbolic() || tensor.device().is_host()) return known_value(tensor, id);
    return variables_[size_t(id)].on_host;
}

TensorSpecs Trace::infer_step(const OpInfo& op, const void* params, std::span<const Tensor> inputs,
                              std::span<const int> ids) {
    TensorSpecs specs;
    size_t host = op.plain_inputs(inputs.size());
    for (auto& input : inputs.first(host)) specs.push_back(input ? input.spec() : TensorSpec{});
    Tensors values;
    for (size_t i = host; i < inputs.size(); ++i) {
        if (inputs[i] && !known_value(inputs[i], ids[i])) compute(inputs[i]);
        values.push_back(known_value(inputs[i], ids[i]));
    }
    bool any = std::ranges::any_of(values, [](auto& value) { return bool(value); });
    if (!any) return op.infer(params, specs);
    auto resolved = op.resolve(params, values);
    return op.infer(resolved.get(), specs);
}

// Computes small integers that follow from shapes during recording, because shapes depend on them. Always on
// the host, which reads them: a GPU would force a wait in each call.
void Trace::compute_known(const OpInfo& op, const void* params, std::span<const Tensor> inputs,
                          std::span<const int> ids, std::span<const int> outputs) {
    TensorSpecs specs, results;
    Tensors values;
    for (int output : outputs) {
        results.push_back(present_[size_t(output)].handle.spec());
        if (!is_int(results.back().dtype)) return;
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
        Tensor value = op.traits.reads_only_specs ? Tensor() : known_to_host(inputs[i], ids[i]);
        specs.push_back(inputs[i] ? inputs[i].spec() : TensorSpec{});
        values.push_back(value && is_int(value.dtype()) ? value : Tensor());
    }
    DefaultDevice of_new_values(host_device);
    Tensors known = known_outputs(op, params, specs, values, results);
    for (size_t i = 0; i < known.size(); ++i) present_[size_t(outputs[i])].known = known[i];
}

}  // namespace mge
