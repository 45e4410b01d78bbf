// SPDX-License-Identifier: Apache-2.0
#include "libmge/op/op.h"

#include <unordered_map>

#include "libmge/device/device.h"
#include "libmge/op/graph_value.h"
#include "libmge/op/operator_library.h"

namespace mge {
namespace {

// Without a call of memcmp() for most pairs: gradient rules look up names at every call, and equal literals
// are usually one.
bool is_same_name(std::string_view a, std::string_view b) {
    return a.size() == b.size() && (a.data() == b.data() || (a.front() == b.front() && a == b));
}

}  // namespace

size_t index_of_input(const OpInfo& op, std::string_view name) {
    for (size_t i = 0; i < op.inputs.size(); ++i)
        if (is_same_name(op.inputs[i].name, name)) return i;
    MGE_CHECK(false, op.name, " has no input named ", name);
    return 0;
}

const InputInfo& input_info(const OpInfo& op, size_t position) {
    return position < op.inputs.size() ? op.inputs[position] : op.inputs.back();
}

std::optional<size_t> view_offset(const OpInfo& op, const void* params, const TensorSpec& input) {
    if (op.traits.view) return 0;
    if (!op.part_of_input || !input.layout.is_plain()) return std::nullopt;
    auto element = op.part_of_input(params, input);
    return element ? std::optional(size_t(*element) * size_of(input.dtype)) : std::nullopt;
}

namespace {

// Returns the device that an operator's inputs share; `at(i)` is null for an absent input.
template <class At>
const DeviceId* common_place(const OpInfo& op, size_t count, At at) {
    const DeviceId *found = nullptr, *of_host_value = nullptr;
    for (size_t i = 0; i < count; ++i) {
        const DeviceId* place = at(i);
        if (!place) continue;
        if (input_info(op, i).kind == InputKind::host) {
            if (!of_host_value) of_host_value = place;
        } else if (!found) {
            found = place;
        } else if (!(*found == *place)) {
            throw_user(op.name, text("its inputs are on different devices, ", logical_name(*found), " and ",
                                     logical_name(*place), "; move one of them with .to()"));
        }
    }
    return found ? found : of_host_value;
}

const DeviceId* common_place(const OpInfo& op, std::span<const Tensor> inputs) {
    return common_place(op, inputs.size(),
                        [&](size_t i) { return inputs[i] ? &inputs[i].impl()->device : nullptr; });
}

DeviceId place_of(const OpInfo& op, const void* params, const DeviceId* common, DeviceId elsewhere) {
    if (op.place) return op.place(params);
    return common ? *common : elsewhere;
}

}  // namespace

DeviceId place_of_inputs(const OpInfo& op, std::span<const Tensor> inputs, DeviceId elsewhere) {
    const DeviceId* common = common_place(op, inputs);
    return common ? *common : elsewhere;
}

DeviceId place_of_outputs(const OpInfo& op, const void* params, std::span<const DeviceId* const> inputs,
                          DeviceId elsewhere) {
    return place_of(op, params, common_place(op, inputs.size(), [&](size_t i) { return inputs[i]; }),
                    elsewhere);
}

DeviceId place_of_outputs(const OpInfo& op, const void* params, std::span<const Tensor> inputs,
                          DeviceId elsewhere) {
    return place_of(op, params, common_place(op, inputs), elsewhere);
}

Tensor without_memory(const TensorSpec& spec, DeviceId device) {
    return Tensor({spec.dtype, spec.shape, {}}, borrow_storage(nullptr, 0, nullptr), 0, device);
}

void check_dtypes(const OpInfo& op, Specs specs) {
    for (auto& spec : specs)
        if (!is_among(spec.dtype, op.takes))
            throw DTypeError(
                text('[', op.name, "] takes no tensors of dtype ", spec.dtype, "; convert with astype"));
}

IntList host_values(const Tensor& given) {
    if (!given) return {};
    if (given.is_symbolic()) throw_graph_value("shape");
    Tensor tensor = to_host(given);
    IntList values(size_t(tensor.spec().numel()));
    for (size_t i = 0; i < values.size(); ++i) {
        if (tensor.dtype() == DType::i32)
            values[i] = tensor.data<int32_t>()[i];
        else if (tensor.dtype() == DType::i64)
            values[i] = tensor.data<int64_t>()[i];
        else
            throw_type_error("shape", "a shape or index must be int32, got ", tensor.dtype());
    }
    return values;
}

const OpInfo* find_op(std::string_view name) {
    static const auto by_name = [] {
        std::unordered_map<std::string_view, const OpInfo*> map;
        for (auto* op : all_ops())
            MGE_CHECK(map.emplace(op->name, op).second, "two operators named ", op->name);
        return map;
    }();
    auto it = by_name.find(name);
    return it == by_name.end() ? find_added_op(name) : it->second;
}

}  // namespace mge
