// SPDX-License-Identifier: Apache-2.0
#pragma once
// Values of the file that are known while reading and have no value in the graph: each is represented by an
// empty tensor among the named values.

#include <map>
#include <utility>

#include "libmge/device/device.h"
#include "libmge/tensor/tensor.h"

namespace mge::onnx {

template <class Value>
class Handles {
public:
    Tensor add(Value value) {
        uint8_t nothing = 0;
        Tensor handle = tensor_from_host({DType::boolean, {0}, {}}, &nothing, host_device);
        values_.emplace(handle.impl(), std::pair(handle, std::move(value)));
        return handle;
    }
    // Null for an ordinary tensor.
    const Value* find(const Tensor& t) const {
        auto found = t ? values_.find(t.impl()) : values_.end();
        return found == values_.end() ? nullptr : &found->second.second;
    }

private:
    // Keeps the representatives alive, so that their addresses stay unique.
    std::map<const TensorImpl*, std::pair<Tensor, Value>> values_;
};

}  // namespace mge::onnx
