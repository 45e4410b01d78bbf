// SPDX-License-Identifier: Apache-2.0
#pragma once
// From Python arguments to an applied operator.

#include <Python.h>

#include <algorithm>
#include <array>
#include <span>

#include "libmge/op/op.h"
#include "python/src/tensor_object.h"

namespace mge::python {

// The inputs of one call as a span of Tensors. Tensor objects lend their handles (no reference counting:
// the caller's references keep the objects alive and the GIL keeps others from changing them, so lent()
// inputs must be turned into owned ones before the GIL is released); converted values are owned.
class Inputs {
public:
    explicit Inputs(size_t count);
    ~Inputs();
    Inputs(const Inputs&) = delete;
    Inputs& operator=(const Inputs&) = delete;

    void lend(size_t i, const Tensor& tensor);
    void own(size_t i, Tensor tensor);
    void own_all();
    // The format of an input that has one; results of operators on images have it too.
    void note_format(uint8_t format) { format_ = std::max(format_, format); }
    uint8_t format() const { return format_; }
    std::span<const Tensor> span() const { return {data_, count_}; }

private:
    static constexpr size_t max_inline = 8;
    struct Slot {
        alignas(Tensor) std::array<std::byte, sizeof(Tensor)> bytes;
    };
    std::array<Slot, max_inline> few_;
    std::array<bool, max_inline> few_owned_{};
    std::vector<Slot> many_;
    std::vector<char> many_owned_;
    Tensor* data_;
    size_t count_;
    uint8_t format_ = 0;

    bool is_owned(size_t i) const { return many_.empty() ? few_owned_[i] : many_owned_[i] != 0; }
    void set_owned(size_t i) {
        if (many_.empty())
            few_owned_[i] = true;
        else
            many_owned_[i] = 1;
    }
};

// Fills `inputs` from Python objects, null pointers and None being absent inputs, with the rules of
// promotion for what is no tensor.
void convert_inputs(const OpInfo& op, std::span<PyObject* const> objects, Inputs& inputs);

// Applies and wraps: one Tensor, or a tuple for operators with several outputs. Releases the GIL while large
// inputs are worked on.
PyObject* call_op(const OpInfo& op, const void* params, Inputs& inputs);

// The submodule `ops` with a function per operator.
void add_ops_module(PyObject* module);

}  // namespace mge::python
