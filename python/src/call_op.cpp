// SPDX-License-Identifier: Apache-2.0
#include "python/src/call_op.h"

#include <algorithm>

#include "libmge/device/default_device.h"
#include "libmge/eager/tape.h"
#include "libmge/op/apply.h"
#include "libmge/ops/index/slice/slice.h"
#include "libmge/ops/index/take.h"
#include "libmge/ops/shape/broadcast.h"
#include "libmge/ops/shape/reshape.h"
#include "libmge/ops/shape/wait_for.h"
#include "python/src/errors.h"
#include "python/src/gil.h"
#include "python/src/graph_binding.h"
#include "python/src/object_access.h"
#include "python/src/subgraph_binding.h"
#include "python/src/tensor/conversion.h"

namespace mge::python {
namespace {

bool is_large(std::span<const Tensor> inputs) {
    // The size of the storage is an upper bound that is faster to get.
    size_t bytes = 0;
    for (auto& input : inputs)
        if (input && input.impl()->storage) bytes += input.impl()->storage->bytes;
    if (bytes < bytes_worth_releasing) [[likely]]
        return false;
    bytes = 0;
    for (auto& input : inputs)
        if (input && !input.is_symbolic()) bytes += input.spec().bytes();
    return bytes >= bytes_worth_releasing;
}

// Numbers are weak only for operators that promote dtypes.
bool has_weak_operands(const OpInfo& op) {
    return op.traits.elementwise || op.traits.promotion != Promotion::none;
}

struct TensorOperands {
    DType dtype = DType::none;
    DeviceId device;
    bool any = false;
};

// Returns the common properties of the tensor operands.
TensorOperands look_at_tensors(const OpInfo& op, std::span<PyObject* const> objects) {
    TensorOperands found;
    for (size_t i = 0; i < objects.size(); ++i) {
        if (!objects[i] || !is_tensor(objects[i])) continue;
        const Tensor& value = value_of(objects[i]);
        if (!found.any) found.device = value.device();
        found.any = true;
        if (!input_info(op, i).promoted) continue;
        if (found.dtype == DType::none)
            found.dtype = value.dtype();
        else
            found.dtype = common_dtype(found.dtype, value.dtype()).value_or(found.dtype);
    }
    if (!found.any) found.device = default_device();
    return found;
}

// True if results of rank 4 and 5 inherit the image format of the inputs.
bool keeps_format(const OpInfo& op) {
    return op.traits.elementwise || op.layouts || op.physical_form || &op == &ops::Slice::info ||
           &op == &ops::Take::info;
}

// True if only results of rank 4 inherit the format, and only NHWC.
bool keeps_format_of_images(const OpInfo& op) {
    return &op == &ops::Reshape::info || &op == &ops::BroadcastTo::info;
}

void set_formats(PyObject* result, uint8_t format, int largest_rank) {
    if (!is_tensor(result)) {
        const Items results(result);
        for (size_t i = 0; i < results.size(); ++i) set_formats(results[i], format, largest_rank);
        return;
    }
    int rank = value_of(result).shape().rank();
    if (rank >= 4 && rank <= largest_rank) as_tensor(result)->format = format;
}

void inherit_format(const OpInfo& op, uint8_t format, PyObject* result) {
    if (keeps_format(op)) set_formats(result, format, 5);
    if (format == nhwc_format && keeps_format_of_images(op)) set_formats(result, format, 4);
}

// Index and mask inputs convert lists like the constructor, host inputs to integers.
Tensor convert_plain(const InputInfo& info, PyObject* object, DeviceId device) {
    return tensor_from_python(object, info.kind == InputKind::host ? DType::i32 : DType::none, device);
}

}  // namespace

void Inputs::allocate_slots() {
    many_ = std::make_unique<Slot[]>(count_);
    many_owned_ = std::make_unique<bool[]>(count_);
    data_ = reinterpret_cast<Tensor*>(many_.get());
}

void Inputs::release_owned() {
    for (size_t i = 0; i < count_; ++i)
        if (is_owned(i)) std::destroy_at(data_ + i);
}

void Inputs::own(size_t i, Tensor tensor) {
    ::new (static_cast<void*>(data_ + i)) Tensor(std::move(tensor));
    is_owned(i) = any_owned_ = true;
}

void Inputs::own_all() {
    for (size_t i = 0; i < count_; ++i) {
        if (is_owned(i)) continue;
        Tensor copy(data_[i]);
        own(i, std::move(copy));
    }
}

void convert_inputs(const OpInfo& op, std::span<PyObject* const> objects, Inputs& inputs) {
    bool all_tensors = true;
    for (size_t i = 0; i < objects.size(); ++i) {
        if (objects[i] && is_tensor(objects[i])) {
            inputs.lend(i, value_of(objects[i]));
            inputs.note_format(as_tensor(objects[i])->format);
            if (running_captures) [[unlikely]]
                note_use(objects[i]);
        } else if (objects[i]) {
            all_tensors = false;
        }
    }
    if (all_tensors) return;
    TensorOperands tensors = look_at_tensors(op, objects);
    bool weak = has_weak_operands(op);
    for (size_t i = 0; i < objects.size(); ++i) {
        PyObject* object = objects[i];
        if (!object || is_tensor(object)) continue;
        const InputInfo& info = input_info(op, i);
        if (object == Py_None && info.kind != InputKind::required) continue;
        if (object == Py_None) throw UserError("the operand is None and is not supported.", ErrorClass::type);
        inputs.own(i, weak && info.promoted ? operand_from_python(object, tensors.dtype, tensors.device)
                                            : convert_plain(info, object, tensors.device));
    }
}

namespace {

PyObject* wrap_outputs(const OpInfo& op, Tensors outputs) {
    bool one_output = op.outputs.size() == 1 && !op.traits.variadic_outputs;
    return one_output ? wrap_tensor(std::move(outputs.at(0))) : wrap_tensors(std::move(outputs));
}

PyObject* record(Interpreter& graph, const OpInfo& op, const void* params, std::span<const Tensor> inputs) {
    InterpreterScope scope(graph);
    return wrap_outputs(op, apply(op, params, operands_for_graph(inputs)));
}

// The graph of the recording may be differentiated later, unlike a tape, which follows nothing here.
PyObject* record_constants(const OpInfo& op, const void* params, std::span<const Tensor> inputs) {
    Tensors outputs = apply(op, params, inputs);
    for (Tensor& y : outputs)
        if (is_float(y.dtype())) y = ops::wait_for({y}, {.stops_gradient = true});
    return wrap_outputs(op, std::move(outputs));
}

}  // namespace

PyObject* call_op(const OpInfo& op, const void* params, Inputs& inputs) {
    bool one_output = op.outputs.size() == 1 && !op.traits.variadic_outputs;
    PyObject* result;
    auto is_followed = [](const Tensor& x) { return x && is_recorded(x); };
    if (running_captures && captures_constants() && std::ranges::none_of(inputs.span(), is_followed)) {
        result = record_constants(op, params, inputs.span());
    } else if (Interpreter* graph = graph_among(inputs.span())) [[unlikely]] {
        result = record(*graph, op, params, inputs.span());
    } else if (is_large(inputs.span()) || op.traits.effect) {  // an effect may wait for other processes
        inputs.own_all();
        Tensors outputs;
        {
            GilReleased released;
            outputs = apply(op, params, inputs.span());
        }
        result = wrap_outputs(op, std::move(outputs));
    } else {
        result = one_output ? wrap_tensor(apply_one(op, params, inputs.span()))
                            : wrap_tensors(apply(op, params, inputs.span()));
    }
    if (inputs.format()) [[unlikely]]
        inherit_format(op, inputs.format(), result);
    return result;
}

PyObject* call_with(const OpInfo& op, const void* params, PyObject* x) {
    Inputs inputs(1);
    convert_inputs(op, std::array{x}, inputs);
    return call_op(op, params, inputs);
}

}  // namespace mge::python
