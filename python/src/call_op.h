// SPDX-License-Identifier: Apache-2.0
#pragma once
// Applies operators to Python arguments.

#include <Python.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <span>

#include "libmge/op/op.h"
#include "python/src/tensor/tensor_object.h"

namespace mge::python {

// Smaller inputs are processed faster than another thread could take the GIL.
inline constexpr size_t bytes_worth_releasing = 64 << 10;

// True if the operand is a Tensor whose value alone matters: so small that the GIL is not released for a few
// of them, without format and meaning.
inline bool is_light(PyObject* object) {
    if (Py_TYPE(object) != result_class) return false;
    const PyTensor& tensor = *as_tensor(object);
    const Storage* storage = tensor.value.impl()->storage.get();
    return storage && storage->bytes < bytes_worth_releasing / 4 && !tensor.format && !tensor.meaning;
}

// The inputs of one call as a span of Tensors. Tensor objects lend their handles without reference counting:
// the caller's references and the GIL protect them. Lent inputs must become owned before the GIL is released.
// Converted values are owned.
class Inputs {
public:
    explicit Inputs(size_t count) : data_(reinterpret_cast<Tensor*>(&few_)), count_(count) {
        if (count > max_inline) [[unlikely]]
            allocate_slots();
    }
    ~Inputs() {
        if (any_owned_) [[unlikely]]
            release_owned();
    }
    Inputs(const Inputs&) = delete;
    Inputs& operator=(const Inputs&) = delete;

    void lend(size_t i, const Tensor& tensor) {
        std::memcpy(static_cast<void*>(data_ + i), static_cast<const void*>(&tensor), sizeof(Tensor));
    }
    void own(size_t i, Tensor tensor);
    void own_all();
    // The format of an image input. Results of operators on images inherit it.
    void note_format(uint8_t format) { format_ = std::max(format_, format); }
    uint8_t format() const { return format_; }
    std::span<const Tensor> span() const { return {data_, count_}; }

private:
    static constexpr size_t max_inline = 8;
    // All zeros is a null Tensor.
    struct Slot {
        alignas(Tensor) std::array<std::byte, sizeof(Tensor)> bytes;
    };
    std::array<Slot, max_inline> few_{};
    std::array<bool, max_inline> few_owned_{};
    std::unique_ptr<Slot[]> many_;
    std::unique_ptr<bool[]> many_owned_;
    Tensor* data_;
    size_t count_;
    bool any_owned_ = false;
    uint8_t format_ = 0;

    void allocate_slots();
    void release_owned();
    bool& is_owned(size_t i) { return many_ ? many_owned_[i] : few_owned_[i]; }
};

// Fills `inputs` from Python objects. Null pointers and None are absent inputs; other objects that are not
// Tensors follow the promotion rules.
void convert_inputs(const OpInfo& op, std::span<PyObject* const> objects, Inputs& inputs);

// Applies the operator and returns a Tensor, or a tuple for several outputs. Releases the GIL for large
// inputs.
PyObject* call_op(const OpInfo& op, const void* params, Inputs& inputs);

// Like call_op() for one operand.
PyObject* call_with(const OpInfo& op, const void* params, PyObject* x);

// Adds the submodule `ops` with a function per operator.
void add_ops_module(PyObject* module);

}  // namespace mge::python
