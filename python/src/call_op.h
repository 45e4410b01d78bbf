// SPDX-License-Identifier: Apache-2.0
#pragma once
// From Python arguments to an applied operator.

#include <Python.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <span>

#include "libmge/op/op.h"
#include "python/src/tensor/tensor_object.h"

namespace mge::python {

// Work on fewer bytes is done before another thread could take the GIL.
inline constexpr size_t bytes_worth_releasing = 64 << 10;

// Whether an operand is a Tensor of which an operator's call needs the value alone: it lies in so little
// memory that nobody releases the GIL for a few of them, and the result is no image and means nothing else.
inline bool is_light(PyObject* object) {
    if (Py_TYPE(object) != result_class) return false;
    const PyTensor& tensor = *as_tensor(object);
    const Storage* storage = tensor.value.impl()->storage.get();
    return storage && storage->bytes < bytes_worth_releasing / 4 && !tensor.format && !tensor.meaning;
}

// The inputs of one call as a span of Tensors. Tensor objects lend their handles (no reference counting:
// the caller's references keep the objects alive and the GIL keeps others from changing them, so lent()
// inputs must be turned into owned ones before the GIL is released); converted values are owned.
class Inputs {
public:
    explicit Inputs(size_t count) : data_(reinterpret_cast<Tensor*>(&few_)), count_(count) {
        if (count > max_inline) [[unlikely]]
            make_room();
    }
    ~Inputs() {
        if (any_owned_) [[unlikely]]
            let_go_of_owned();
    }
    Inputs(const Inputs&) = delete;
    Inputs& operator=(const Inputs&) = delete;

    void lend(size_t i, const Tensor& tensor) {
        std::memcpy(static_cast<void*>(data_ + i), static_cast<const void*>(&tensor), sizeof(Tensor));
    }
    void own(size_t i, Tensor tensor);
    void own_all();
    // The format of an input that has one; results of operators on images have it too.
    void note_format(uint8_t format) { format_ = std::max(format_, format); }
    uint8_t format() const { return format_; }
    std::span<const Tensor> span() const { return {data_, count_}; }

private:
    static constexpr size_t max_inline = 8;
    // Zeros are null tensors.
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

    void make_room();
    void let_go_of_owned();
    bool& is_owned(size_t i) { return many_ ? many_owned_[i] : few_owned_[i]; }
};

// Fills `inputs` from Python objects, null pointers and None being absent inputs, with the rules of
// promotion for what is no tensor.
void convert_inputs(const OpInfo& op, std::span<PyObject* const> objects, Inputs& inputs);

// Applies and wraps: one Tensor, or a tuple for operators with several outputs. Releases the GIL while large
// inputs are worked on.
PyObject* call_op(const OpInfo& op, const void* params, Inputs& inputs);

// The same for one operand.
PyObject* call_with(const OpInfo& op, const void* params, PyObject* x);

// The submodule `ops` with a function per operator.
void add_ops_module(PyObject* module);

}  // namespace mge::python
