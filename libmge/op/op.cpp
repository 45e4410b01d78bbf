// SPDX-License-Identifier: Apache-2.0
#include "libmge/op/op.h"

#include <unordered_map>

namespace mge {

size_t index_of_input(const OpInfo& op, std::string_view name) {
    for (size_t i = 0; i < op.inputs.size(); ++i)
        if (op.inputs[i].name == name) return i;
    MGE_CHECK(false, op.name, " has no input named ", name);
    return 0;
}

const InputInfo& input_info(const OpInfo& op, size_t position) {
    return position < op.inputs.size() ? op.inputs[position] : op.inputs.back();
}

IntList host_values(const Tensor& tensor) {
    if (!tensor) return {};
    MGE_CHECK(!tensor.is_symbolic());
    IntList values(size_t(tensor.spec().numel()));
    for (size_t i = 0; i < values.size(); ++i) {
        if (tensor.dtype() == DType::i32)
            values[i] = tensor.data<int32_t>()[i];
        else if (tensor.dtype() == DType::i64)
            values[i] = tensor.data<int64_t>()[i];
        else
            throw_user("shape", text("a shape or index has to be int32, got ", tensor.dtype()),
                       ErrorClass::type);
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
    return it == by_name.end() ? nullptr : it->second;
}

}  // namespace mge
